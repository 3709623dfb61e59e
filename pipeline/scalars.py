"""Traced scalars: the ints, floats, bools and strings that stand for run-time values while a function is recorded.

Sizes are subclasses of torch's SymInt rather than of int: torch's argument parser takes them, and every way in which
Python can read them as a number (`range`, indexing, `int()`, `math`) goes through a method that is hooked here.
Arithmetic is recorded; a branch on a size, or its use as a number, becomes a guard; the same on data is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol

import torch

from ..ops.graph import Value


class Tracer(Protocol):
    """What traced scalars need of the recorder."""

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic and returns the traced result."""
        ...

    def direct(self, func: Any, *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        ...

    def pin(self, traced: Any, reason: str) -> Any:
        """Guards that a traced scalar has its present value, and returns that; refuses where data decides it."""
        ...


class Traced:
    """What all traced scalars have: the recorder, the value in its graph, the number itself.

    Attributes:
        varies: whether data decides it, rather than the sizes and scalars of the inputs.
    """

    tracer: Tracer
    value: Value
    concrete: Any
    varies: bool

    def _bind(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self.tracer, self.value, self.concrete, self.varies = tracer, value, concrete, varies

    def _pin(self, reason: str) -> Any:
        return self.tracer.pin(self, reason)

    def __repr__(self) -> str:
        return repr(self._pin("it was turned into text"))

    def __str__(self) -> str:
        return str(self._pin("it was turned into text"))

    def __format__(self, spec: str) -> str:
        return format(self._pin("it was formatted into a string"), spec)

    def __hash__(self) -> int:
        return hash(self._pin("it was used as a key"))

    def __bool__(self) -> bool:
        return bool(self._pin("a branch was taken on it"))

    def __reduce__(self) -> Any:
        raise TypeError("a traced value cannot be pickled or copied deeply")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


_NUMBERS = (int, float, bool, complex)


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, Traced) and type(other) not in _NUMBERS:
            return NotImplemented
        return self.tracer.scalar(name, other, self) if reflected else self.tracer.scalar(name, self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any, *args: Any) -> Any:
        return self.tracer.scalar(name, self, *args)

    return method


class _Number(Traced):
    """Arithmetic and comparisons of traced numbers."""

    def __index__(self) -> int:
        return operator.index(self._pin("it was used as a plain integer"))

    def __int__(self) -> int:
        return int(self._pin("it was converted with int()"))

    def __float__(self) -> float:
        return float(self._pin("it was converted with float()"))

    def __complex__(self) -> complex:
        return complex(self._pin("it was converted with complex()"))

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
    setattr(_Number, _dunder, _binary(_name))
    setattr(_Number, _dunder.replace("__", "__r", 1), _binary(_name, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Number, f"__{_name}__", _binary(_name))
for _dunder, _name in {
    "__neg__": "neg", "__pos__": "pos", "__abs__": "abs", "__invert__": "invert", "__round__": "round",
    "__trunc__": "trunc", "__floor__": "floor", "__ceil__": "ceil", "__sym_float__": "float", "__sym_int__": "int",
    "__sym_not__": "not_",
}.items():  # fmt: skip
    setattr(_Number, _dunder, _unary(_name))
_Number.__hash__ = Traced.__hash__  # type: ignore[method-assign]  # a class body repeats it on purpose


class TracedInt(_Number, torch.SymInt):
    """An int that is decided at run time."""

    def __init__(self, tracer: Tracer, value: Value, concrete: int, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return int

    def is_integer(self) -> bool:
        """As for every int."""
        return True

    def bit_length(self) -> int:
        """As for int."""
        return int(self._pin("its bits were counted")).bit_length()

    __hash__ = Traced.__hash__


class TracedFloat(_Number, torch.SymFloat):
    """A float that is decided at run time."""

    def __init__(self, tracer: Tracer, value: Value, concrete: float, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return float

    def is_integer(self) -> bool:
        """As for float."""
        return bool(float(self._pin("a branch was taken on it")).is_integer())

    __hash__ = Traced.__hash__


class TracedBool(_Number, torch.SymBool):
    """A bool that is decided at run time."""

    def __init__(self, tracer: Tracer, value: Value, concrete: bool, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)
        self.node = None

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return bool

    __hash__ = Traced.__hash__


class TracedComplex(_Number):
    """A complex number read off a tensor. Torch has no symbolic one, so arithmetic with tensors is recorded here."""

    def __init__(self, tracer: Tracer, value: Value, concrete: complex, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return complex

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
    function = getattr(torch.Tensor, f"__{'' if reflected else 'r'}{name}__")  # what Python calls for a plain complex

    def method(self: Any, other: Any) -> Any:
        return self.tracer.direct(function, other, self) if isinstance(other, torch.Tensor) else plain(self, other)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(TracedComplex, f"__{_name}__", _with_tensor(_name, reflected=False))
    setattr(TracedComplex, f"__r{_name}__", _with_tensor(_name, reflected=True))


class TracedStr(Traced):
    """A str that is decided at run time: a text op takes it; any other use fixes it."""

    def __init__(self, tracer: Tracer, value: Value, concrete: str, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return str

    def __str__(self) -> str:
        return str(self._pin("it was read as a string"))

    def __eq__(self, other: object) -> bool:
        return bool(self._pin("it was compared") == (other.concrete if isinstance(other, TracedStr) else other))

    __hash__ = Traced.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._pin(f"its method {name!r} was called"), name)

    def __len__(self) -> int:
        return len(self._pin("its length was read"))

    def __iter__(self) -> Any:
        return iter(self._pin("it was iterated"))

    def __getitem__(self, index: Any) -> Any:
        return self._pin("it was indexed")[index]

    def __contains__(self, item: Any) -> bool:
        return item in self._pin("it was searched")

    def __add__(self, other: Any) -> Any:
        return self._pin("it was joined to another string") + other

    def __radd__(self, other: Any) -> Any:
        return other + self._pin("it was joined to another string")


class TracedStrings(Traced):
    """A list of str that is decided at run time, of any length until the length is read."""

    def __init__(self, tracer: Tracer, value: Value, concrete: list[str], varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return list

    def __len__(self) -> int:
        return int(self.tracer.pin(self.tracer.scalar("len", self), "the length of the list was read"))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return self.tracer.scalar("getitem", self, index)

    def __add__(self, other: Any) -> Any:
        return self.tracer.scalar("cat_strings", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.tracer.scalar("cat_strings", other, self)

    def __eq__(self, other: object) -> bool:
        # A foreign object may be anything.
        return list(self) == list(other)  # type: ignore[call-overload, no-any-return]

    __hash__ = None  # type: ignore[assignment]  # meant: the name gets another kind here


CLASSES: dict[type, type[Any]] = {
    int: TracedInt,
    float: TracedFloat,
    bool: TracedBool,
    complex: TracedComplex,
    str: TracedStr,
}


def traced(tracer: Tracer, value: Value, concrete: Any, varies: bool) -> Any:
    """Wraps a concrete scalar as traced; None for a kind that has no traced form."""
    if isinstance(concrete, list):
        return TracedStrings(tracer, value, concrete, varies)
    kind = CLASSES.get(type(concrete))
    return None if kind is None else kind(tracer, value, concrete, varies)


def is_traced(thing: Any) -> bool:
    """Whether a thing is a traced scalar; `isinstance` would ask its pretended class first, which is harmless."""
    return issubclass(type(thing), Traced)
