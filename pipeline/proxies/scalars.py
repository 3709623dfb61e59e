"""Traced scalars: the ints, floats, bools and strings that stand for run-time values while a function is recorded.

Sizes are subclasses of torch's SymInt rather than of int: torch's argument parser takes them, and every way in which
Python can read them as a number (`range`, indexing, `int()`, `math`) goes through a method that is hooked here.
Arithmetic is recorded; a branch on a size, or its use as a number, becomes a guard; the same on data is refused.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from functools import partial
from numbers import Number
from typing import Any
from weakref import ref

import numpy as np
import torch

from ...ops.graph.graph import Guard, Node, Value
from ...ops.graph.operators.names import allowed
from ...ops.runtime.primitives.numpy import METHOD
from ...ops.runtime.user_code import user_line
from .base import Traced
from .branches import PLAIN_FLOAT, PLAIN_INT
from .byte_strings import TracedBytes, bytes_in
from .tracer import Tracer
from .values.known_values import known_value
from .values.library_value import LibraryValue

_NUMBERS = (int, float, bool, complex)
_HEX = "Write f'{v!r}', whose float(text) is the same number; or do it after the call, of what the function gives."


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""The comparisons that say the same of their operands in the other order."""
_REFLECTED = dict.fromkeys(("eq", "ne", *_MIRRORED), "")


def _is_plain_sequence(thing: Any) -> bool:
    """Whether a thing is a text, or a list of what a list of any length may hold."""
    return type(thing) is str or (type(thing) is list and all(map(_is_plain_item, thing)))


def _is_plain_item(item: Any) -> bool:
    """Whether a thing is a number, a text, None or a tensor, of the recording or not, or a record of such."""
    if type(item) in (tuple, dict) and not isinstance(item, Traced):
        return all(map(_is_plain_item, item.values() if isinstance(item, dict) else item))
    kind = type(item.concrete) if isinstance(item, Traced) else type(item)
    return kind in (*_NUMBERS, str, type(None), torch.Tensor)


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        self.tracer.refuse_ended()
        if isinstance(other, enum.IntEnum):
            other = int(other)
        if name == "mul" and type(self.concrete) in (int, bool) and _is_plain_sequence(other):
            return self.tracer.scalar("mul", other, self)  # the items as often as that
        other = other if type(other) in _NUMBERS else known_value(self.tracer, other)
        if issubclass(type(other), LibraryValue):
            return getattr(other, f"__{'' if reflected else _REFLECTED.get(name, 'r')}{_MIRRORED.get(name, name)}__")(
                self
            )
        if not isinstance(other, TracedNumber | np.generic) and type(other) not in _NUMBERS:
            if name in ("eq", "ne") and isinstance(other, Number):  # Python would fall back on identity
                plain = self.tracer.pin(self, f"it was compared with a {type(other).__name__}")
                return getattr(operator, name)(plain, other)
            return NotImplemented
        return self.tracer.scalar(name, other, self) if reflected else self.tracer.scalar(name, self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any, *args: Any) -> Any:
        return self.tracer.scalar(name, self, *args)

    return method


class TracedNumber(Traced):
    """A number that is decided at run time, numpy's scalars among them: what all kinds have in common."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Called by numpy for a universal function."""
        return self.tracer.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Called by numpy for any other of its functions."""
        return self.tracer.array_function(func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if isinstance(self.concrete, np.generic):
            if name == "dtype":
                return self.concrete.dtype
            if name == "item":
                return partial(self.tracer.scalar, "item", self)
            if name == "tobytes":
                return partial(bytes_in, self.tracer, self)
            if METHOD + name in allowed():
                return partial(self.tracer.array, METHOD + name, self)
        raise AttributeError(f"{type(self.concrete).__name__!r} object has no attribute {name!r}")

    def __bool__(self) -> bool:
        if type(self.concrete) in (int, float):  # the guard is on whether it is zero, not on the number
            return bool(self != 0)  # type: ignore[comparison-overlap]  # it pretends to be a number
        return super().__bool__()

    def __index__(self) -> int:
        return operator.index(self._pin("it was used as a plain integer"))

    def __int__(self) -> int:
        return int(self._pin(PLAIN_INT))

    def __float__(self) -> float:
        return float(self._pin(PLAIN_FLOAT))

    def __complex__(self) -> complex:
        return complex(self._pin("it was taken as a plain complex number"))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


_NAMES = {
    "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "truediv", "__floordiv__": "floordiv",
    "__mod__": "mod", "__pow__": "pow", "__lshift__": "lshift", "__rshift__": "rshift", "__and__": "and_",
    "__or__": "or_", "__xor__": "xor",
}  # fmt: skip
for _dunder, _name in _NAMES.items():
    setattr(TracedNumber, _dunder, _binary(_name))
    setattr(TracedNumber, _dunder.replace("__", "__r", 1), _binary(_name, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TracedNumber, f"__{_name}__", _binary(_name))
for _dunder, _name in {
    "__neg__": "neg", "__pos__": "pos", "__abs__": "abs", "__invert__": "invert", "__round__": "round",
    "__trunc__": "trunc", "__floor__": "floor", "__ceil__": "ceil", "__sym_float__": "float", "__sym_int__": "int",
    "__sym_not__": "not_",
}.items():  # fmt: skip
    setattr(TracedNumber, _dunder, _unary(_name))
TracedNumber.__hash__ = Traced.__hash__  # type: ignore[method-assign]  # a class body repeats it on purpose


class WholeNumber(TracedNumber):
    """An int or a bool that is decided at run time: the attributes and methods of an int."""

    @property
    def real(self) -> Any:
        """The number itself."""
        return self if type(self.concrete) is not bool else self.tracer.scalar("int", self)

    numerator = real

    @property
    def imag(self) -> int:
        """0, as for every int."""
        return 0

    @property
    def denominator(self) -> int:
        """1, as for every int."""
        return 1

    def conjugate(self) -> Any:
        """The number itself."""
        return self.real

    def as_integer_ratio(self) -> tuple[Any, int]:
        """The number itself, over 1."""
        return self.real, 1

    def bit_length(self) -> Any:
        """As for int."""
        zero = self.tracer.scalar("eq", self, 0)
        return self.tracer.scalar("sub", self.tracer.scalar("len", self._digits()), zero)

    def bit_count(self) -> Any:
        """As for int."""
        return self.tracer.scalar("str_count", self._digits(), "1")

    def _digits(self) -> Any:
        return self.tracer.scalar("format", abs(self), "b", "")

    def to_bytes(self, length: Any = 1, byteorder: Any = "big", *, signed: Any = False) -> TracedBytes:
        """As for int; each run checks that they hold the number."""
        plain = operator.index(length)
        (0).to_bytes(plain, byteorder, signed=signed)  # Python's own error for what it does not take
        least, most = (-(1 << 8 * plain >> 1), (1 << 8 * plain >> 1) - 1) if signed else (0, (1 << 8 * plain) - 1)
        for held in (self.tracer.scalar("ge", self, least), self.tracer.scalar("le", self, max(most, 0))):
            if not held.concrete and not self.tracer.untaken:
                raise OverflowError("int too big to convert")
            guard = Guard(True, "a number is too large for its bytes, or below 0 where they have no sign")
            self.tracer.nodes.append(Node(guard, (held.value,), {}, None, user_line()))
        digits = self.tracer.scalar("format", self.tracer.scalar("mod", self, 1 << 8 * plain), f"0{2 * plain}x", "")
        found = TracedBytes(self.tracer, self.tracer.scalar("from_hex", digits if plain else digits[1:]))
        return found if byteorder == "big" else TracedBytes(self.tracer, found.tensor.flip(0))


class TracedInt(WholeNumber, torch.SymInt):
    """An int that is decided at run time."""

    def __init__(self, tracer: Tracer, value: Value, concrete: int, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None
        _given.append(ref(self))

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    def is_integer(self) -> bool:
        """As for every int."""
        return True

    __hash__ = Traced.__hash__


class TracedFloat(TracedNumber, torch.SymFloat):
    """A float that is decided at run time."""

    def __init__(self, tracer: Tracer, value: Value, concrete: float, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None
        _given.append(ref(self))

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    def is_integer(self) -> Any:
        """As for float."""
        return self.tracer.scalar("eq", self.tracer.scalar("mod", self, 1), 0)

    @property
    def real(self) -> Any:
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """0.0, as for every float."""
        return 0.0

    def conjugate(self) -> Any:
        """The number itself."""
        return self

    def hex(self) -> Any:
        """Refused: no operator writes a number so."""
        self.tracer.refuse("a number that is decided at run time is written as float.hex does", _HEX)

    __hash__ = Traced.__hash__


class TracedBool(WholeNumber, torch.SymBool):
    """A bool that is decided at run time.

    Attributes:
        equal: the text that must stay as it is for this to stay True; None where there is no such text.
        matched: whether it says that a pattern matches, where Python has a match or None.
    """

    equal: Any = None
    matched: bool = False

    def __init__(self, tracer: Tracer, value: Value, concrete: bool, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None
        _given.append(ref(self))

    def __bool__(self) -> bool:
        taken: bool | None = self.tracer.rounds.decided(self)
        if taken is not None:
            return taken
        if self.equal is not None and not self.varies:
            self.tracer.pin(self.equal, "it was compared")
            return True
        return super().__bool__()

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    __hash__ = Traced.__hash__


class NumberOfEndedTrace(TracedNumber):
    """What a symbolic number of torch's kind is once its trace has ended."""

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    __hash__ = Traced.__hash__


_given: list[ref[Any]] = []
"""The symbolic numbers of the trace that runs: there is one at a time."""


def end_numbers() -> None:
    """Takes from all symbolic numbers of a trace that torch knows them: it would read what is no number of any run."""
    while _given:
        if (number := _given.pop()()) is not None:
            vars(object)["__class__"].__set__(number, NumberOfEndedTrace)


class TracedComplex(TracedNumber):
    """A complex number read off a tensor. Torch has no symbolic one, so arithmetic with tensors is recorded here."""

    def __init__(self, tracer: Tracer, value: Value, concrete: complex, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return type(self.concrete)

    @property
    def real(self) -> Any:
        """Its real part."""
        return self.tracer.scalar("real", self)

    @property
    def imag(self) -> Any:
        """Its imaginary part."""
        return self.tracer.scalar("imag", self)

    __hash__ = Traced.__hash__


def _with_tensor(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    plain = getattr(TracedComplex, f"__{'r' if reflected else ''}{name}__")
    function = getattr(
        torch.Tensor, f"__{'' if reflected else 'r'}{name}__"
    )  # the method that Python calls for a plain complex

    def method(self: Any, other: Any) -> Any:
        return self.tracer.direct(function, other, self) if isinstance(other, torch.Tensor) else plain(self, other)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(TracedComplex, f"__{_name}__", _with_tensor(_name, reflected=False))
    setattr(TracedComplex, f"__r{_name}__", _with_tensor(_name, reflected=True))
