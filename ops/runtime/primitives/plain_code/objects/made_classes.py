"""Classes of the user's in a block of plain Python: real classes of Python, of functions of the block.

What may stand in one is a closed list, so that a class that a file holds does no more than the text of a block. All
else is Python's own: how attributes are found, bases asked in their order, objects compared, copied and shown.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ..language import FILE
from ..one_run.block_refusals import refuse

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor")
SPECIAL = frozenset((
    "__init__", "__post_init__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__",
    "__bool__", "__contains__", "__iter__", "__next__", "__reversed__", "__getitem__", "__setitem__", "__delitem__",
    "__missing__", "__neg__", "__pos__", "__abs__", "__invert__", "__call__", "__int__", "__float__", "__index__",
    "__repr__", "__str__", "__getattr__",
    *(f"__{mark}{name}__" for name in _BINARY for mark in ("", "r", "i")),
))  # fmt: skip
"""Methods of Python's own that a class may have."""
MODULE = "tracepack.block"
"""The module that classes of a block say they are from; there is none of that name."""
_OF_OBJECT = ("__init__", "__post_init__")
_OF_ERRORS = (*_OF_OBJECT, "__str__")
_HIDDEN = ("with_traceback", "add_note")
_MOST_BASES = 16


class MadeClass(type):
    """The class of the classes of blocks."""


class RefusedPart:
    """What stands in a class for what no block can have: who asks for it is refused.

    Args:
        name: how it is called.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        refuse("a block of plain Python asks for what it cannot have", got=self.name)

    def __set__(self, thing: Any, value: Any) -> None:
        refuse("a block of plain Python sets what it cannot have", got=self.name)


class MadeProperty(property):
    """A property of functions of the block."""


class MadeCached(functools.cached_property):  # type: ignore[type-arg]  # Python 3.11's takes none at run time
    """A property that is asked for once."""


class MadeStatic(staticmethod):  # type: ignore[type-arg]  # the same
    """A function of the block in a class."""


class MadeOfClass(classmethod):  # type: ignore[type-arg]  # the same
    """A function of the block that is given the class."""


_MADE = (RefusedPart, MadeProperty, MadeCached, MadeStatic, MadeOfClass)


def is_name(name: Any) -> bool:
    """Whether something is a name that an attribute or a class may have."""
    return type(name) is str and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def require_parts(parts: Any) -> dict[str, Any]:
    """What a class is to hold.

    Raises:
        TypeError: it holds what none may.
    """
    if not isinstance(parts, dict):
        raise TypeError("a class holds its parts by their names")
    for name, part in parts.items():
        slots = name == "__slots__" and isinstance(part, tuple) and all(map(is_name, part))
        if not (slots or name in SPECIAL or is_name(name)):
            raise TypeError(f"a class has no part {name!r}")
        if hasattr(type(part), "__get__") and not isinstance(part, (FunctionType, *_MADE)):
            raise TypeError(f"a class has no part of type {type(part).__name__}")
    return {**{name: _unbound(part) for name, part in parts.items()}, "__module__": MODULE}


def _unbound(part: Any) -> Any:
    """A part of a class: what a block has for a builtin is a function, and a builtin is bound to no object."""
    of_block = isinstance(part, FunctionType) and part.__code__.co_filename == FILE
    return MadeStatic(part) if isinstance(part, FunctionType) and not of_block and part not in ORDERS.values() else part


def new_class(
    name: str, qualname: str, bases: Sequence[Any], parts: Mapping[str, Any], abstract: Sequence[str] = ()
) -> Any:
    """A class.

    Args:
        name: its name.
        qualname: the one with what it stands in.
        bases: classes of the block, and one of Python's errors.
        parts: methods, properties and constants by their names, and ``__slots__``.
        abstract: the names of the methods that it lacks.

    Raises:
        TypeError: it is none that a block may have.
    """
    if not is_name(name) or type(qualname) is not str or not all(map(is_base, bases)):
        raise TypeError("a class of a block has a name, and bases that blocks know")
    held = require_parts(parts)
    made: Any = MadeClass(name, tuple(bases), {**held, "__qualname__": qualname})
    if len(made.__mro__) > _MOST_BASES:
        raise TypeError("a class has too many bases")
    if abstract:
        made.__abstractmethods__ = frozenset(map(str, abstract))  # as ABCMeta does
    return made


def is_base(kind: Any) -> bool:
    """Whether a class may be the base of one: another one of the block, or an error of Python's."""
    return type(kind) is MadeClass or (type(kind) is type and issubclass(kind, Exception))


def is_object(thing: Any) -> bool:
    """Whether a thing is an object of a class of the block."""
    return type(type(thing)) is MadeClass


def new_object(kind: Any, fields: Any) -> Any:
    """An object of a class as it is, without a call of its ``__init__``.

    Raises:
        TypeError: it is no class of the block.
    """
    if type(kind) is not MadeClass or not isinstance(fields, dict) or not all(map(is_name, fields)):
        raise TypeError("an object is made of a class and of its fields")
    made: Any = kind.__new__(kind)  # type: ignore[call-overload]  # that of its objects
    for name, each in fields.items():
        object.__setattr__(made, name, each)
    return made


def fields_of(thing: Any) -> list[Any]:
    """What an object holds."""
    slots = [name for kind in type(thing).__mro__ for name in vars(kind).get("__slots__", ())]
    return [*getattr(thing, "__dict__", {}).values(), *(getattr(thing, name) for name in slots if hasattr(thing, name))]


def attribute_of(thing: Any, name: str) -> Any:
    """What an object of the block gives for an attribute, as Python does."""
    if isinstance(thing, Exception) and name in _HIDDEN:
        refuse(f"a block of plain Python asks an error for {name!r}")
    return getattr(thing, name)


def part_of_class(kind: Any, name: str) -> Any:
    """What a class of the block gives for an attribute: what it or a base of it holds.

    Raises:
        AttributeError: none holds it.
    """
    if any(name in vars(each) for each in kind.__mro__ if type(each) is MadeClass):
        return getattr(kind, name)
    raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")


def base_method(kind: Any, thing: Any, name: str) -> Any:
    """``super().name`` in a method of a class.

    Raises:
        RefusedError: what Python finds is none of a block's.
    """
    if type(kind) is not MadeClass or not (name in SPECIAL or is_name(name)):
        refuse("a block of plain Python asks a base for what it cannot have", got=str(name)[:80])
    of = thing if isinstance(thing, type) else type(thing)
    after = of.__mro__[of.__mro__.index(kind) + 1 :] if kind in of.__mro__ else ()
    found = next((each for each in after if name in vars(each)), None)
    own = type(found) is MadeClass or (found is object and name in _OF_OBJECT)
    if found is not None and not own and not (name in _OF_ERRORS and issubclass(found, Exception)):
        refuse("a block of plain Python asks a base for what it cannot have", got=f"{found.__name__}.{name}")
    return getattr(super(kind, thing), name)


class Attributes:
    """The attributes of an object as entries, for ``thing.count += 1``.

    Args:
        thing: the object.
    """

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __getitem__(self, name: str) -> Any:
        return attribute_of(self.thing, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.thing, name, value)


ORDERS: dict[tuple[str, str], Callable[..., Any]] = {
    (root, name): function
    for root, rows in functools._convert.items()  # type: ignore[attr-defined]  # the functions that it sets
    for name, function in rows
}
"""The comparisons that `functools.total_ordering` makes, by the one that a class has and by their names."""


def total_order(root: str, name: str) -> Callable[..., Any]:
    """A comparison that `functools.total_ordering` has made of another one.

    Raises:
        KeyError: it has none of that name.
    """
    return ORDERS[root, name]
