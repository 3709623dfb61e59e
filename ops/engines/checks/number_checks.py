"""Where other runtimes compute with numbers otherwise than torch, which a comparison on examples need not show.

ONNX has no operators for some functions, and what stands for them differs at negative zeros, at multiples, or where an
exponential overflows. OpenVINO computes int64 in 32 bits and float64 in float32, and lets narrow integers saturate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...graph.graph import Graph, Node, Operator
from ...graph.traverse import constants, every_node, leaves
from ...graph.types import TensorType

LARGEST = 2**31 - 1
_OTHERWISE = {
    **dict.fromkeys(("logsigmoid", "log_sigmoid", "log_sigmoid_forward"), "it takes the logarithm of a sigmoid"),
    "binary_cross_entropy_with_logits": "it takes the logarithm of a sigmoid",
    **dict.fromkeys(("signbit", "copysign", "atan2", "arctan2"), "it asks for the sign of zeros"),
}
_ROUNDED = ("floor_divide", "floordiv", "rfloordiv", "div", "divide")
_GROWING = (
    "add", "radd", "sub", "rsub", "subtract", "mul", "rmul", "multiply", "pow", "rpow", "square", "sum", "cumsum",
    "prod", "cumprod", "neg", "abs", "matmul", "rmatmul", "mm", "bmm", "dot", "einsum",
    "addcmul", "mean", "arange", "nansum", "float_power", "scatter_add", "index_add", "sum_to_size",
)  # fmt: skip
SHIFTS = ("lshift", "rlshift", "ilshift", "bitwise_left_shift")
_CONVERSIONS = ("to", "long", "int", "type", "_to_copy", "to_copy", "type_as")
_WIDE = (torch.int32, torch.int64)
_NARROW = ("int8", "uint8", "int16", "uint16")
_MOVING = (
    "permute transpose t reshape view flatten unflatten unsqueeze squeeze expand expand_as contiguous clone select "
    "slice narrow index_select cat stack flip to long int float movedim swapaxes getitem __getitem__ repeat detach "
    "alias _to_copy unbind split chunk zeros ones full type"
).split()


def computed_otherwise(name: str, args: Sequence[Any], given: Any) -> str:
    """Why a function must stay with torch; empty where ONNX has one that answers as it does."""
    rounds = name not in ("div", "divide") or given.get("rounding_mode") or any(type(arg) is str for arg in args)
    if name in _ROUNDED and rounds:
        floating = any((torch.is_tensor(arg) and arg.is_floating_point()) or type(arg) is float for arg in args)
        return "it rounds quotients of floating numbers" if floating else ""
    return _OTHERWISE.get(name, "")


def outside_int32(value: Any) -> bool:
    """Whether a number of Python's does not fit into 32 bits."""
    return type(value) is int and not -LARGEST <= value <= LARGEST


def within_int32(
    func: Callable[..., Any], name: str, args: Sequence[Any], given: Any, found: Any
) -> Iterator[torch.Tensor]:
    """Whether integers that a function computed, or read from floating numbers, fit into 32 bits, as tensors."""
    if not isinstance(found, torch.Tensor) or found.dtype not in _WIDE:
        return
    if name in _CONVERSIONS and torch.is_tensor(args[0]) and args[0].is_floating_point():
        yield (args[0].abs() <= LARGEST).all()
    elif name in _GROWING:
        other = {key: value for key, value in given.items() if key not in ("dtype", "out")}
        floats = pytree.tree_map(_floating, (list(args), other))
        yield (func(*floats[0], **floats[1]).abs() <= LARGEST).all()


def _floating(value: Any) -> Any:
    """A copy of a tensor in floating numbers, which a function that writes may write to."""
    return value.to(torch.float32, copy=True) if isinstance(value, torch.Tensor) else value


def refused_in_32_bits(graph: Graph) -> str:
    """Why a runtime that computes in 32 bits must not run a region; empty where it may."""
    for constant in constants(graph):
        tensor = constant.tensor
        counts = not (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel()
        if counts and max(int(tensor.max()), -int(tensor.min())) > LARGEST:
            return "it holds integers of more than 32 bits"
    if any(_dtype(value) == "float64" for value in (*graph.inputs, *_made(every_node(graph)))):
        return "it computes float64 in float32"
    for node in every_node(graph):
        if any(_dtype(value) in _NARROW for value in _made([node])) and not _moves(node):
            return "it computes narrow integers, which saturate"
    return ""


def takes_integers(graph: Graph) -> bool:
    """Whether a region computes integers of 32 or 64 bits."""
    return any(_dtype(value) in ("int32", "int64") for value in (*graph.inputs, *_made(every_node(graph))))


def _made(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield from leaves(node.output)


def _dtype(value: Any) -> str:
    kind = getattr(value, "type", None)
    return kind.dtype if isinstance(kind, TensorType) else ""


def _moves(node: Node) -> bool:
    parts = str(node.target.name).split(".") if isinstance(node.target, Operator) else []
    return not isinstance(node.target, Operator) or any(part in _MOVING for part in parts)
