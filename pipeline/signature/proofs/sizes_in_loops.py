"""Sizes of inputs that ops need whose rows or items a loop gives to them, as in ``[op(row) for row in x]``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ....ops.graph.graph import Graph
from ....ops.graph.guards import Expression
from ....ops.graph.types import ListType, TensorType
from ....ops.lowering.sizes import dimension
from .parts_in_rounds import PartOfInput, needs_in_rounds


def sizes_in_loops(graph: Graph) -> list[Expression]:
    """What the sizes of inputs have to be, over the names of `dimension`."""
    return [
        asked.renamed({name: dimension(part.index, dim) for name, (part, dim) in places.items()})
        for asked, places in needs_in_rounds(graph)
        if not any(part.steps for part, _ in places.values())
    ]


def show_sizes_of_items(graph: Graph) -> None:
    """Sets the sizes in the types of inputs that are lists, where ops need them of each of their items."""
    for part, dim, size in list(_fixed(graph)):
        value = graph.inputs[part.index]
        value.type = _with_size(value.type, part.steps, dim, size)


def _fixed(graph: Graph) -> Iterator[tuple[PartOfInput, int, int]]:
    for asked, places in needs_in_rounds(graph):
        match asked.tree:
            case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(int(size))]) if places[name][0].steps:
                yield (*places[name], size)


def _with_size(kind: Any, steps: tuple[Any, ...], dim: int, size: int) -> Any:
    """A type whose part at the end of some steps has a size."""
    match kind:
        case TensorType(dtype, shape):
            return TensorType(dtype, (*shape[:dim], size, *shape[dim + 1 :]))
        case ListType(item):
            return ListType(_with_size(item, steps[1:], dim, size))
    parts = {
        key: _with_size(part, steps[1:], dim, size) if key == steps[0] else part
        for key, part in (kind.items() if isinstance(kind, dict) else enumerate(kind))
    }
    return parts if isinstance(kind, dict) else tuple(parts.values())
