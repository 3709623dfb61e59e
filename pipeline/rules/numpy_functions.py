"""Records a call of numpy on stand-ins or tensors as a node, or refuses it by the name of the function.

Numpy hands its functions over through `__array_ufunc__` and `__array_function__`, which tensors have only while
something is recorded (`patches`). The nodes call numpy itself.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Node, Operator, Value
from ...ops.graph.operators.names import OF_ARRAYS, allowed
from ...ops.graph.traverse import leaves
from ...ops.graph.types import ANY, ARRAY, ListType, TensorType
from ...ops.runtime.primitives.numpy import METHOD, array_function, ufunc_of
from ...ops.runtime.user_code import running_instruction, user_line
from ..proxies.arrays import TracedArray
from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..proxies.tracer import Tracer
from ..proxies.trees import concrete, plain_leaf
from ..proxies.values.known_values import constant_of
from .advice.instead import instead

_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "left_shift": "lshift", "right_shift": "rshift", "bitwise_and": "and_",
    "bitwise_or": "or_", "bitwise_xor": "xor", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_INSTRUCTIONS = ("BINARY_", "INPLACE_", "COMPARE_OP")
_KINDS = {np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.common_type}  # dtypes alone decide the result

# Functions for which values decide the sizes of the result.
_SIZED_BY_DATA = frozenset(
    """nonzero flatnonzero argwhere unique compress extract repeat delete insert tile pad resize union1d intersect1d
    setdiff1d bincount histogram array_split split hsplit vsplit dsplit full full_like reshape broadcast_to
    ndarray.nonzero ndarray.compress ndarray.repeat ndarray.reshape""".split()
)
_SIZED_BY_VALUES = _SIZED_BY_DATA - {"reshape", "ndarray.reshape", "full", "full_like", "broadcast_to"}


@cache
def function_names() -> dict[Any, str]:
    """The name of every numpy function that may be recorded, by the function itself."""
    found: dict[Any, str] = {}
    for name in sorted(n for n in allowed() if n.startswith("numpy.") and not n.startswith(METHOD)):
        try:
            found.setdefault(array_function(name), name)
        except Exception:  # this numpy version has no such function
            continue
    return found


@cache
def special_functions() -> dict[Any, str]:
    """The name of every function of `scipy.special` that may be recorded, by the function itself; scipy is imported."""
    found: dict[Any, str] = {}
    for name in sorted(n for n in allowed() if n.startswith("scipy.")):
        try:
            found.setdefault(array_function(name), name)
        except AttributeError:  # this version has no such function
            continue
    return found


def _known(function: Any) -> str | None:
    """The name of a function of numpy or of `scipy.special` in the table of operators."""
    if "scipy.special" in sys.modules and function in special_functions():
        return special_functions()[function]
    return function_names().get(function)


def ufunc_name(ufunc: Any, method: str) -> str:
    """The name under which a call of a universal function is recorded, whether it may be or not."""
    package = "numpy" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    return f"{package}.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")


def operator_behind(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The name of the Python operator, such as ``add``, for which numpy calls a function; None for an explicit call.

    The two differ for scalars, and for tensors after them. Only the running instruction tells which one it is.
    """
    name = _OPERATORS.get(ufunc.__name__)
    if name is None or method != "__call__" or kwargs or len(inputs) != 2:
        return None
    return name if running_instruction().startswith(_INSTRUCTIONS) else None


def of_tensor(name: str, tensor: Any, other: Any) -> Any:
    """The result of an operator between a numpy scalar or array and a tensor, by the tensor's reflected method."""
    if name in _REFLECTED and isinstance(other, np.ndarray) and other.ndim == 0:
        other = other[()]  # numpy makes an array of a scalar before it compares
    reflected = _REFLECTED.get(name) or f"r{name.strip('_')}"
    return getattr(torch.Tensor, f"__{reflected}__")(tensor, other)


def plain_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Does what numpy does with tensors outside of a recording: computes on their arrays and wraps the result.

    Raises:
        TypeError: a tensor is to take the result.
    """
    name = operator_behind(ufunc, method, inputs, kwargs)
    if name is not None and not isinstance(inputs[0], torch.Tensor):
        return of_tensor(name, inputs[1], inputs[0])
    if any(isinstance(out, torch.Tensor) for out in leaves(kwargs.get("out"))):
        raise TypeError("return arrays must be of ArrayType")
    first: Any = next(item for item in inputs if isinstance(item, torch.Tensor))
    arrays = [np.asarray(item) if isinstance(item, torch.Tensor) else item for item in inputs]
    result = getattr(ufunc, method)(*arrays, **kwargs)
    if kwargs.get("out") is not None or method == "outer":
        return result
    wrapped = [first.__array_wrap__(np.asarray(item)) for item in (result if type(result) is tuple else (result,))]
    return tuple(wrapped) if type(result) is tuple else wrapped[0]


def outputs_of(kwargs: dict[str, Any]) -> list[Any]:
    """The arrays into which a call writes its result."""
    return [leaf for leaf in leaves(kwargs.get("out")) if leaf is not None]


def record_ufunc(recorder: Tracer, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records a universal function of numpy, or the Python operator for which numpy called it."""
    operator = operator_behind(ufunc, method, inputs, kwargs)
    tensor = isinstance(inputs[-1], torch.Tensor)
    if operator is not None and tensor and not isinstance(inputs[0], torch.Tensor | TracedArray):
        return of_tensor(operator, inputs[-1], inputs[0])
    if operator is not None and not any(isinstance(item, torch.Tensor | np.ndarray) for item in inputs):
        return recorder.scalar(operator, *inputs)
    name = ufunc_name(ufunc, method)
    if tensor and len(inputs) == 2 and isinstance(inputs[0], np.generic):
        recorder.refuse(f"{name} of a number of numpy's and a tensor", "Use an operator, or .numpy() on the tensor.")
    if not outputs_of(kwargs):
        kwargs = {key: item for key, item in kwargs.items() if key != "out"}
    return _record(recorder, name, _known(ufunc) if method == "__call__" else None, inputs, kwargs)


def record_function(recorder: Tracer, func: Any, args: Any, kwargs: Any) -> Any:
    """Records any other function of numpy."""
    if type(args[0]) is TracedList and func in (np.shape, np.ndim, np.size, *_KINDS):
        args = (recorder.array("numpy.asarray", args[0]), *args[1:])
    if func in (np.shape, np.ndim):
        return getattr(args[0], func.__name__)
    if func is np.empty_like:
        func = np.zeros_like  # what it holds is not said, and a file reads no memory of others
    if func is np.size:
        return args[0].shape[args[1]] if len(args) > 1 else args[0].size
    if func in _KINDS:
        return func(*concrete(args), **concrete(kwargs))
    return _record(recorder, f"{func.__module__}.{func.__name__}", _known(func), args, kwargs)


_OTHER = (
    "Use another function of numpy's, or one of torch, for it; or do it before, and pass what it gives as an argument."
)


def _record(recorder: Tracer, name: str, known: str | None, args: Any, kwargs: Any) -> Any:
    """Records a function of numpy by its own name, or by that in the table of operators."""
    name = name if name in allowed() else known or name
    if name not in allowed():
        form = instead(user_line()) or _OTHER
        recorder.refuse(f"{name} cannot be recorded", form)
    return recorder.array(name, *args, **kwargs)


def captured_leaf(recorder: Tracer, leaf: Any, function: str) -> Any:
    """A leaf from outside of the recording in the form of the IR.

    Args:
        recorder: the one that records.
        leaf: neither a tensor nor traced.
        function: what it is given to.
    """
    if isinstance(leaf, np.ndarray):
        return captured_array(recorder, leaf)
    found = constant_of(recorder, leaf)
    return plain_leaf(leaf, function) if found is None else found.value


def captured_array(recorder: Tracer, array: np.ndarray[Any, Any]) -> Value:
    """A captured array: its present content becomes a constant, which every run copies since it may write to it."""
    try:
        with torch._C.DisableTorchFunction():
            tensor = torch.from_numpy(array.copy(order="K"))
    except TypeError:
        recorder.refuse(f"an array of dtype {array.dtype} cannot be recorded", "Use a dtype that torch has, too.")
    shared, own, line = Value(ARRAY), Value(ARRAY), user_line()
    constant = recorder.values.capture(tensor)
    recorder.nodes.append(Node(Operator("torch.Tensor.numpy"), (constant,), {}, shared, line))
    recorder.nodes.append(Node(Operator("numpy.copy"), (shared,), {}, own, line))
    return own


def data_decides(name: str, args: Any, kwargs: Any, inputs: list[Value], varying: set[int]) -> tuple[bool, bool, bool]:
    """What data decides of the result of a numpy function: its sizes, its numbers, and sizes for the first time here.

    Args:
        name: of the operator.
        args: its arguments as the function gave them.
        kwargs: its keyword arguments.
        inputs: the Values among them.
        varying: ids of the Values whose sizes, or whose own value, data decides.
    """
    arrays = [v for v in inputs if v.type in (ARRAY, ANY) or isinstance(v.type, TensorType | ListType)]
    short = name.removeprefix("numpy.")
    by_values = short in _SIZED_BY_VALUES or (short == "where" and len(args) == 1 and not kwargs)
    by_values = by_values or (short in _SIZED_BY_DATA and len(arrays) > 1)
    by_values = by_values or (name in ("py.getitem", "numpy.ndarray.take", "numpy.take") and _has_mask(args[1:]))
    here = by_values and bool(arrays)
    deciding = arrays if is_elementwise(name) else inputs
    return here or any(id(v) in varying for v in deciding), bool(arrays) or any(id(v) in varying for v in inputs), here


def is_of_numpy(name: str, inputs: list[Value]) -> bool:
    """Whether an operator is numpy's, or one of Python's on arrays."""
    return (
        name.startswith(OF_ARRAYS)
        or name == "torch.Tensor.numpy"
        or (name.startswith("py.") and any(v.type == ARRAY for v in inputs))
    )


def is_elementwise(name: str) -> bool:
    """Whether only arrays, not numbers, shape the result."""
    family, _, rest = name.partition(".")
    if family == "py":
        return rest != "getitem"
    return ufunc_of(name) is not None or rest in (
        "clip",
        "where",
        "round",
        "ndarray.clip",
        "isclose",
    )


def _has_mask(index: Any) -> bool:
    """Whether an index holds an array of truth values."""
    return any(
        (isinstance(leaf, TracedArray | np.ndarray) and leaf.dtype == np.bool_)
        or (isinstance(leaf, torch.Tensor) and leaf.dtype == torch.bool)
        for leaf in leaves(index, is_traced)
    )
