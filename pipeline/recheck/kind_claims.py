"""The kinds of a pipeline's plain results: one of several that data may choose is shown as any."""

from __future__ import annotations

from typing import Any

from ...ops.graph.graph import Graph, Operator, Value
from ...ops.graph.types import ANY, ScalarType

_KINDS = ("int", "float", "bool", "complex", "str")
_CHOSEN: dict[str, slice] = {
    "sorted": slice(1), "sorted_by": slice(1), "reversed": slice(1), "list": slice(1), "getitem": slice(1),
    "min": slice(None), "max": slice(None), "best_by": slice(1, 2), "lookup": slice(0, None, 2),
    "cat_strings": slice(None),
}  # fmt: skip
"""Functions that give one of several values, or a list of them -> the arguments that hold those."""


def forget_chosen_kinds(graph: Graph) -> None:
    """Hides the kinds of values that are one of several of different kinds, such as ``sorted([1.5, n])[0]``."""
    held: dict[int, set[str]] = {}
    for node in graph.nodes:
        name = node.target.name.removeprefix("py.") if isinstance(node.target, Operator) else ""
        if name not in _CHOSEN or not isinstance(node.output, Value):
            continue
        found = _held(list(node.args[_CHOSEN[name]]), held)
        held[id(node.output)] = found
        if len(found) > 1 and isinstance(node.output.type, ScalarType) and node.output.type.kind in _KINDS:
            node.output.type = ANY


def _held(thing: Any, held: dict[int, set[str]]) -> set[str]:
    """The kinds of the numbers and texts in an argument."""
    match thing:
        case Value():
            kind = thing.type.kind if isinstance(thing.type, ScalarType) else ""
            return held.get(id(thing), {kind} if kind in _KINDS else set())
        case list() | tuple():
            return {kind for part in thing for kind in _held(part, held)}
        case dict():
            return _held(list(thing.values()), held)
    return {type(thing).__name__} & {*_KINDS}


def is_of(kind: ScalarType, found: Any) -> bool:
    """Whether a plain value is of a kind; an int may stand for a float, as in Python's annotations."""
    name = type(found).__name__
    return kind.kind not in _KINDS or name not in _KINDS or kind.kind == name or (kind.kind, name) == ("float", "int")
