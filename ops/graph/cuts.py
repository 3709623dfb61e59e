"""Nodes that cut a tensor into pieces, whose number a graph fixes: as many as those of the example.

A run with another number is refused. So what is said of a graph tells for which tensors that number stays.
"""

from __future__ import annotations

from typing import Any

from .graph import Node, Operator, Value
from .types import ScalarType, TensorType

_FUNCTIONS = ("split", "chunk", "tensor_split", "vsplit", "hsplit", "dsplit")
_COUNTS = ("split_size", "split_size_or_sections", "chunks", "indices_or_sections", "sections")


def cut_size(node: Node) -> tuple[str, Value, Any, Any] | None:
    """What a node cuts by a number: the function, the tensor, the number, and the dimension; None for another node."""
    name = node.target.name.split(".") if isinstance(node.target, Operator) else ()
    function = next((each for each in _FUNCTIONS if each in name), "")
    if not function or not isinstance(node.output, tuple | list):
        return None
    tensor, many, dim = (*node.args, *[None] * 3)[:3]
    many = next((node.kwargs[each] for each in _COUNTS if each in node.kwargs), many)
    dim = node.kwargs.get("dim", dim)
    plain = type(many) is int or (isinstance(many, Value) and many.type == ScalarType("int"))
    return (function, tensor, many, 0 if dim is None else dim) if plain and isinstance(tensor, Value) else None


def is_cut(node: Node) -> bool:
    """Whether a node cuts a tensor into so many pieces as a free size or an argument says."""
    match cut_size(node):
        case (_, _, Value(), _):
            return True
        case ("split", _, _, int(dim)) as found:
            return _is_free(found[1], dim)
        case ("chunk", _, many, int(dim)) as found:
            return many > 1 and _is_free(found[1], dim)
    return False


def _is_free(tensor: Value, dim: int) -> bool:
    kind = tensor.type
    if not isinstance(kind, TensorType) or dim not in range(-len(kind.shape), len(kind.shape)):
        return False
    return not isinstance(kind.shape[dim], int)
