"""Functions of a block of plain Python that make what stands for objects of the user's, or ask for their classes."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from ..block_refusals import refuse
from ..block_tensors import place_of
from .enum_members import counting_member, member, member_of_value, record, record_class
from .things import Thing, UserKind, class_name, new_object


def same(one: Any, other: Any) -> bool:
    """``one is other`` of objects; of other things memory would decide it.

    Raises:
        RefusedError: neither is an object.
    """
    if not isinstance(one, Thing | enum.Enum) and not isinstance(other, Thing | enum.Enum):
        refuse(
            "a block of plain Python compares two things by identity", got=f"{_named(one)} and {_named(other)}",
            fix="Write ==.",
        )  # fmt: skip
    return one is other


def _named(thing: Any) -> str:
    return type(thing).__name__


def is_exactly(thing: Any, label: str) -> bool:
    """``type(thing) is kind`` for a class of the user's, by its mark."""
    return isinstance(thing, Thing) and thing.kind.labels[:1] == (label,)


def is_same_class(one: Any, other: Any) -> bool:
    """``type(one) is type(other)``."""
    if isinstance(one, Thing) and isinstance(other, Thing):
        return one.kind is other.kind
    return type(one) is type(other)


def made_like(thing: Any, /, *args: Any, **named: Any) -> Any:
    """``type(thing)(…)`` for an object.

    Raises:
        RefusedError: it is none.
    """
    if not isinstance(thing, Thing):
        refuse("a block of plain Python makes another thing of a class", got=type(thing).__name__)
    return thing.kind.make(*args, **named)


def total_order(name: str) -> Callable[..., Any]:
    """A comparison that `functools.total_ordering` has made of others.

    Raises:
        TypeError: it has none of that name.
    """
    for rows in functools._convert.values():  # type: ignore[attr-defined]  # the functions that it sets
        for _, function in rows:
            if function.__name__ == name:
                return function  # type: ignore[no-any-return]  # a function
    raise TypeError("there is no comparison of that name")


def is_of(thing: Any, label: str) -> bool:
    """``isinstance(thing, kind)`` for a class of the user's, by its mark."""
    return isinstance(thing, Thing) and label in thing.kind.labels


def is_default(thing: Any, default: str) -> bool:
    """Whether a parameter was not given."""
    return type(thing) is str and thing == default


_MOST_BASES = 16


@functools.lru_cache(4096)
def error_class(name: str, kind: type[Exception]) -> type[Exception]:
    """The class of the user's errors that is called so.

    Raises:
        TypeError: it is none of errors.
    """
    is_one = isinstance(kind, type) and issubclass(kind, Exception) and len(kind.__mro__) < _MOST_BASES
    if type(name) is not str or not name.isidentifier() or not is_one:
        raise TypeError("a class of errors has a name and a class that it is one of")
    return type(name, (kind,), {})


HELD = "held_outside"
"""The function of a block that takes note of what it must not change."""
MAKERS = {
    "new_class": UserKind, "new_object": new_object, "record_class": record_class, "record": record, "member": member,
    "is_same_object": same, "is_of_class": is_of, "is_default": is_default, "not_implemented": NotImplemented,
    "is_exactly": is_exactly, "is_same_class": is_same_class, "class_name": class_name, "made_like": made_like,
    "total_order": total_order, "counting_member": counting_member, "member_of_value": member_of_value,
    "place_of": place_of, "error_class": error_class,
}  # fmt: skip
"""What makes them, by its names in a block."""
