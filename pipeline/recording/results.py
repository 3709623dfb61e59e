"""The result of a node as the recorded function gets it: tensors as they are, other values as stand-ins."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Literal, Value
from ...ops.graph.types import ANY, ARRAY, SCALARS, Type
from ...ops.runtime.primitives.named_tuples import is_record
from ...ops.runtime.primitives.numpy import DTYPES
from ..proxies.make import traced
from ..proxies.tracer import Tracer
from ..proxies.trees import plain_leaf, same_container


def wrapped_result(recorder: Tracer, result: Any, varies: bool, decided: bool = True) -> tuple[Any, Any]:
    """The output pattern of a node, and the result for the function.

    Args:
        recorder: the one that records the node.
        result: what the node returned.
        varies: whether data decides its sizes.
        decided: whether data decides the numbers in it.
    """
    if isinstance(result, torch.Tensor):
        return recorder.values.add(result, varies=varies), result
    if is_record(result) or type(result) in (tuple, list, torch.Size):
        pairs = [wrapped_result(recorder, item, varies, decided) for item in result]
        outputs, items = tuple(p[0] for p in pairs), [p[1] for p in pairs]
        return outputs, same_container(result, items)
    if type(result) is dict:
        found = {key: wrapped_result(recorder, item, varies, decided) for key, item in result.items()}
        return {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}
    if isinstance(result, np.ndarray | np.generic) and result.dtype.name not in DTYPES:
        recorder.refuse(f"an array of dtype {result.dtype} cannot be recorded", "Use a dtype that torch has, too.")
    if isinstance(result, np.ndarray):
        return wrapped_scalar(recorder, ARRAY, result, varies)
    if type(result) in SCALARS or isinstance(result, np.generic):
        return wrapped_scalar(recorder, SCALARS.get(type(result), ANY), result, decided)
    return None, result


# Functions that make tensors of torch's default dtype where the call names none.
_FACTORIES = frozenset(
    f"torch.{name}"
    for name in """arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full
    hamming_window hann_window kaiser_window linspace logspace ones rand randn range scalar_tensor tensor
    zeros""".split()
)


def settled_device(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """A device that a torch function was given by its name or number, as the literal that stands for such a device."""
    device: Any = kwargs.get("device")
    if type(device) not in (str, int) or not name.startswith(("torch.", "aten.")):
        return {}
    return {"device": plain_leaf(torch.device(device), name)}


def settled_dtype(name: str, kwargs: dict[str, Any], result: Any) -> dict[str, Any]:
    """The keyword that keeps the dtype of a new tensor, which torch's default dtype would decide anew in each process.

    Args:
        name: of the operator.
        kwargs: what it was called with.
        result: what it returned.
    """
    if name not in _FACTORIES or kwargs.get("dtype") is not None or not isinstance(result, torch.Tensor):
        return {}
    default = result.is_floating_point() or result.is_complex()
    return {"dtype": Literal("dtype", str(result.dtype).removeprefix("torch."))} if default else {}


def wrapped_scalar(recorder: Tracer, kind: Type, result: Any, varies: bool) -> tuple[Value, Any]:
    """A new value for a scalar or an array, and its stand-in."""
    value = Value(kind)
    if varies:
        recorder.values.varying.add(id(value))
    return value, traced(recorder, value, result, varies)
