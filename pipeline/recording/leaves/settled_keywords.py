"""Keywords for what settings of the process decide where a call names nothing: devices and dtypes of new tensors."""

from __future__ import annotations

from typing import Any

import torch

from ....ops.graph.graph import Literal
from ...proxies.trees import plain_leaf

# Functions that make tensors of torch's default dtype where the call names none.
_FACTORIES = frozenset(
    f"torch.{name}"
    for name in """arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full
    hamming_window hann_window kaiser_window linspace logspace ones rand randn range scalar_tensor tensor
    zeros""".split()
)


# Functions that make tensors on torch's default device where the call names none.
_PLACED = _FACTORIES | {"torch.randint", "torch.randperm", "torch.tril_indices", "torch.triu_indices"}


def settled(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> dict[str, Any]:
    """The keywords for what settings of the process decided in a call: a device, a dtype, whether to copy."""
    return settled_device(name, kwargs, result) | settled_dtype(name, kwargs, result) | settled_copy(name, args, kwargs)


def settled_device(name: str, kwargs: dict[str, Any], result: Any) -> dict[str, Any]:
    """The keyword for the device of a new tensor, where torch's default or a name or number decided about it.

    A machine without an accelerator cannot tell what belongs on one: the tensor is made where the ops will be.
    """
    device: Any = kwargs.get("device")
    if device is None and name in _PLACED:
        stays = torch.accelerator.is_available() and isinstance(result, torch.Tensor) and result.device.type == "cpu"
        return {"device": Literal("device", "cpu" if stays else "op")}
    if type(device) not in (str, int) or not name.startswith(("torch.", "aten.")):
        return {}
    return {"device": plain_leaf(torch.device(device), name)}


def settled_copy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword for a move to ``cpu:0``: torch copies what lies on the CPU then, and the graph knows no number."""
    if name != "torch.Tensor.to" or "copy" in kwargs or len(args) > _BEFORE_COPY:
        return {}
    device = kwargs.get("device", args[1] if len(args) > 1 else None)
    numbered = isinstance(device, torch.device) and device.type == "cpu" and device.index is not None
    return {"copy": True} if numbered or device == "cpu:0" else {}


_BEFORE_COPY = 4
"""The positional arguments of `Tensor.to` that stand before `copy`: the tensor, device, dtype, non_blocking."""


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
