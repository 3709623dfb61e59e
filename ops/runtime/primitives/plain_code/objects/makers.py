"""Functions of a block of plain Python that make classes and objects of the user's, or ask for them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import torch

from ..block_tensors import place_of
from ..one_run.block_refusals import refuse
from .made_classes import (
    MadeCached,
    MadeClass,
    MadeOfClass,
    MadeProperty,
    MadeStatic,
    RefusedPart,
    base_method,
    is_object,
    new_class,
    new_object,
    total_order,
)
from .made_dataclasses import data_class, field_of
from .made_enums import MadeEnum, enum_class, member, record, record_class


def same(one: Any, other: Any) -> bool:
    """``one is other`` of objects; of other things memory would decide it.

    Raises:
        RefusedError: neither is an object.
    """
    if not any(is_object(each) or isinstance(each, enum.Enum | type) for each in (one, other)):
        refuse(
            "a block of plain Python compares two things by identity", got=f"{_named(one)} and {_named(other)}",
            fix="Write ==.",
        )  # fmt: skip
    return one is other


def _named(thing: Any) -> str:
    return type(thing).__name__


def is_exactly(thing: Any, kind: Any) -> bool:
    """``type(thing) is kind``."""
    return type(thing) is kind


def is_same_class(one: Any, other: Any) -> bool:
    """``type(one) is type(other)``."""
    return type(one) is type(other)


def class_name(thing: Any) -> str:
    """``type(thing).__name__``."""
    return type(thing).__name__


def class_asked(thing: Any) -> Any:
    """``type(thing)`` for an object of a class of the block.

    Raises:
        RefusedError: it is none.
    """
    if type(type(thing)) not in (MadeClass, MadeEnum):
        refuse("a block of plain Python asks for a class that is not the user's", got=type(thing).__name__)
    return type(thing)


def without_gradients() -> None:
    """Stands for ``with torch.no_grad():`` around statements: they are none of a run with gradients.

    Raises:
        RefusedError: it is one.
    """
    if torch.is_grad_enabled():
        refuse("a block of plain Python has statements without gradients", fix="Load the file without grad=True.")


def tensor_sizes(*sizes: int) -> torch.Size:
    """The sizes of a tensor: a `torch.Size`, which Python tells from a tuple.

    Raises:
        TypeError: one is no whole number.
    """
    if any(type(each) is not int for each in sizes):
        raise TypeError("the sizes of a tensor are whole numbers")
    return torch.Size(sizes)


HELD = "held_outside"
"""The function of a block that takes note of what it must not change."""
CLASSES: dict[str, Callable[..., Any]] = {
    "new_class": new_class, "data_class": data_class, "enum_class": enum_class, "record_class": record_class,
}  # fmt: skip
"""What makes classes."""
PARTS: dict[str, Callable[..., Any]] = {
    "property_of": MadeProperty, "cached_of": MadeCached, "static_of": MadeStatic, "class_method_of": MadeOfClass,
    "refused_part": RefusedPart, "total_order": total_order, "field_of": field_of, "member": member,
    "tensor_sizes": tensor_sizes,
}  # fmt: skip
"""What makes parts of them."""
MAKERS: dict[str, Any] = {
    **CLASSES, **PARTS, "new_object": new_object, "record": record, "is_same_object": same,
    "not_implemented": NotImplemented, "is_exactly": is_exactly, "is_same_class": is_same_class,
    "class_name": class_name, "class_asked": class_asked, "base_method": base_method, "place_of": place_of,
    "without_gradients": without_gradients,
}  # fmt: skip
"""All of them, by their names in a block."""
