"""Frozen dataclasses that cost little to import.

A ``dataclass(frozen=True)`` compiles six methods for each class, .35 ms; of the thirty that loading a file imports,
that was a third of the time to the first result. `frozen` compiles ``__init__`` alone and shares the others.
"""

from __future__ import annotations

from dataclasses import Field, FrozenInstanceError, dataclass, field
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """What type checkers read; Python 3.10 has none."""
        return lambda decorator: decorator


_Class = TypeVar("_Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: _Class) -> _Class:
    """Makes a class a dataclass whose fields are set once; equality, hash and text are those of its fields.

    Methods that the class defines itself are kept, and ``field(compare=False)`` and ``field(repr=False)`` count.

    Example:
        >>> @frozen
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1)})
        (Point(x=1, y=0), True, 1)
        >>> Point(1).x = 2
        Traceback (most recent call last):
        dataclasses.FrozenInstanceError: cannot assign to field 'x'
    """
    compared = [each.name for each in _fields(cls) if each.compare]
    shared = {"__eq__": _equal, "__hash__": _hash, "__repr__": _repr, "_compared": attrgetter(*compared)}
    for name, method in shared.items():
        if vars(cls).get(name) is None:
            setattr(cls, name, method)
    return cls


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def frozen_object(cls: _Class) -> _Class:
    """The same for a class whose instances are each equal to themselves alone."""
    _fields(cls)
    return cls


def _fields(cls: type) -> tuple[Field[Any], ...]:
    """Makes a class a dataclass whose fields are set once."""
    dataclass(eq=False, repr=False)(cls)
    for name, method in (("__setattr__", _set), ("__delattr__", _delete)):
        setattr(cls, name, method)
    return tuple(vars(cls)["__dataclass_fields__"].values())


def _set(self: Any, name: str, value: Any) -> None:
    if name in vars(self):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: Any, other: Any) -> Any:
    if self is other:
        return True
    return self._compared(self) == other._compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._compared(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, each in self.__dataclass_fields__.items() if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"
