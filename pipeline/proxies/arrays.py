"""The stand-in for a numpy array whose content run-time data decides.

It pretends to be an ndarray to `isinstance` and to numpy's functions, which hand themselves over to be recorded; code
that reads an array's memory does not see one, so that nothing leaves the recording unseen. What it holds is a real
array, over the memory of the tensor that it came from where numpy would share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Value
from ...ops.graph.operators.names import allowed
from ...ops.runtime.primitives.numpy import METHOD
from ...ops.runtime.user_code import running_instruction
from .base import Traced
from .branches import BRANCH, PLAIN_FLOAT
from .byte_strings import TracedBytes, bytes_in
from .tracer import Tracer

_USE = "Use numpy's functions on it, or torch.from_numpy to get a tensor."
_BYTES = "Write array.tobytes(), whose base64, digest or hex() may be returned; or return the array, and {} it there."
_OF_BYTES = {"data": "read", "tofile": "write", "dump": "write", "dumps": "write"}
"""What gives the memory of an array, and what is done with that after the call."""


class TracedArray(Traced):
    """The stand-in for a numpy array.

    Attributes:
        varies: whether data decides its sizes.
        handed_on: whether other code may know it, as a side of a choice gives it, so that nothing may change it.
    """

    handed_on = False

    def __init__(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return np.ndarray

    # -- what numpy calls --------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Called by numpy for a universal function."""
        return self.tracer.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Called by numpy for any other of its functions."""
        return self.tracer.array_function(func, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Called by whatever wants a real array."""
        return self._pin("it was read as a plain array")

    # -- sizes and kinds ---------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The rank, guarded: a size of 1 may take a dimension away."""
        self.tracer.refuse_ended()
        return self.tracer.array_rank(self)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes, traced."""
        return tuple(self.tracer.scalar("array_size", self, axis) for axis in range(self.ndim))

    @property
    def size(self) -> Any:
        """The number of elements, traced."""
        found: Any = 1
        for size in self.shape:
            found = size * found
        return found

    @property
    def dtype(self) -> Any:
        """The dtype, which follows from those of the inputs."""
        self.tracer.refuse_ended()
        return self.concrete.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def T(self) -> Any:
        """The transposed array."""
        return self.tracer.array("numpy.transpose", self)

    @property
    def real(self) -> Any:
        """The real part."""
        return self.tracer.array("numpy.real", self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self.tracer.array("numpy.imag", self)

    def __len__(self) -> int:
        if running_instruction().endswith("_SUBSCR"):  # torch asks whether an index is a sequence; the error says no
            raise TypeError("an array is used as an index")
        size = self.tracer.scalar("array_size", self, 0)
        return int(self.tracer.pin(size, "len() read the first size of an array"))

    def __iter__(self) -> Iterator[Any]:
        size = self.tracer.scalar("array_size", self, 0)
        count = int(self.tracer.pin(size, "the function goes through the rows of an array one by one"))
        return iter([self[index] for index in range(count)])

    # -- elements ----------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return self.tracer.array("py.getitem", self, index)

    def __setitem__(self, index: Any, item: Any) -> None:
        self.tracer.array("py.setitem", self, index, item)

    def item(self, *index: Any) -> Any:
        """One element as a number of Python's."""
        return self.tracer.array(f"{METHOD}item", self, *index) if index else self.tracer.scalar("item", self)

    def tobytes(self, order: Any = "C") -> TracedBytes:
        """As for ndarray."""
        return bytes_in(self.tracer, self, order)

    def _to_list(self) -> Any:
        found = self.tracer.scalar("tolist", self)
        if self.ndim:
            found.sized_by = lambda: self.tracer.scalar("array_size", self, 0)
        return found

    def __contains__(self, item: Any) -> bool:
        return bool(self._pin(BRANCH))

    def __index__(self) -> int:
        return int(self._pin("it was used as a plain integer"))

    def __int__(self) -> int:
        return int(self._pin("it was taken as a plain int"))

    def __float__(self) -> float:
        return float(self._pin(PLAIN_FLOAT))

    def __complex__(self) -> complex:
        return complex(self._pin("it was taken as a plain complex number"))

    @property
    def device(self) -> str:
        """As for every array of numpy 2."""
        return "cpu"

    def __copy__(self) -> Any:
        return self.tracer.array("numpy.copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.setdefault(id(self), self.__copy__())

    def __getattr__(self, name: str) -> Any:
        if METHOD + name in allowed():
            return partial(self.tracer.array, METHOD + name, self)
        if name == "tolist":
            return self._to_list
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        form = _BYTES.format(_OF_BYTES[name]) if name in _OF_BYTES else _USE
        return self.tracer.refuse(f"numpy.ndarray.{name} cannot be recorded", form)

    __hash__ = None  # type: ignore[assignment]  # as for ndarray


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: TracedArray, other: Any) -> Any:
        return self.tracer.array(name, other, self) if reflected else self.tracer.array(name, self, other)

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def method(self: TracedArray, other: Any) -> Any:
        if isinstance(other, torch.Tensor):  # numpy and torch both call this, so the order of the operands is not known
            return self.tracer.refuse("an array is compared with a tensor", "Compare arrays, or tensors.")
        return self.tracer.array(name, self, other)

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda self: self.tracer.array(name, self)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
    _bare = _name.strip("_")
    setattr(TracedArray, f"__{_bare}__", _binary(f"py.{_name}"))
    setattr(TracedArray, f"__r{_bare}__", _binary(f"py.{_name}", reflected=True))
    setattr(TracedArray, f"__i{_bare}__", _binary(f"py.i{_bare}"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TracedArray, f"__{_name}__", _comparison(f"py.{_name}"))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(TracedArray, f"__{_name}__", _unary(f"py.{_name}"))
for _name in ("matmul", "divmod"):
    setattr(TracedArray, f"__{_name}__", _binary(f"numpy.{_name}"))
    setattr(TracedArray, f"__r{_name}__", _binary(f"numpy.{_name}", reflected=True))
# Numpy's stubs know no matrix product in place.
TracedArray.__imatmul__ = _binary("py.imatmul")  # type: ignore[attr-defined]
TracedArray.__hash__ = None  # type: ignore[assignment, method-assign]  # __eq__ was set after the class


def handing_on(given: Iterable[Any], found: Any) -> Any:
    """What numpy gives of some arguments, which may be a part of an array that other code may know."""
    if type(found) is TracedArray:
        known = (each for each in given if type(each) is TracedArray and each.handed_on)
        found.handed_on = any(np.may_share_memory(found.concrete, each.concrete) for each in known)
    return found


def refuse_known(tracer: Tracer, written: Iterable[Any]) -> None:
    """Refuses to write into an array that other code may know."""
    if any(type(each) is TracedArray and each.handed_on for each in written):
        tracer.refuse("an array from a side of a choice, which other code may know, is changed", "Copy it: x.copy().")
