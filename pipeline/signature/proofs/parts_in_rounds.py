"""Parts of inputs that loops hand to their rounds: rows of tensors, items of lists, and what tuples and dicts hold.

Each round takes a row or an item, so that a size that it needs is one of the input; of a round that a filter may leave
out nothing is said, nor of a loop that may end before the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.guards import Expression
from ....ops.graph.types import ListType, TensorType
from ....ops.lowering.sizes import dimension
from ...recheck.sizes import from_bodies

EACH = None
"""The step from a list to any of its items."""


@dataclass(frozen=True)
class PartOfInput:
    """A part of an input.

    Attributes:
        index: the input.
        steps: the way to it through lists, tuples and dicts.
        kind: its type, or the types in it; of a row that of the whole tensor.
        rows: how many dimensions of the tensor loops go through.
    """

    index: int
    steps: tuple[Any, ...]
    kind: Any
    rows: int = 0

    def each(self) -> PartOfInput | None:
        """An item, or a row."""
        if isinstance(self.kind, TensorType):
            return replace(self, rows=self.rows + 1) if self.rows < len(self.kind.shape) else None
        listed = isinstance(self.kind, ListType)
        return replace(self, steps=(*self.steps, EACH), kind=self.kind.item) if listed else None

    def entry(self, key: Any) -> PartOfInput | None:
        """What a tuple or a dict holds."""
        held = key in self.kind if isinstance(self.kind, dict) else self.kind if isinstance(self.kind, tuple) else ()
        return replace(self, steps=(*self.steps, key), kind=self.kind[key]) if held else None


@dataclass(frozen=True)
class SideBySide:
    """A list of tuples, as `zip` and `enumerate` give it: a list for each place, None for one that is no part."""

    lists: tuple[Any, ...]

    def each(self) -> tuple[Any, ...]:
        """One of the tuples."""
        return tuple(map(_each, self.lists))


def needs_in_rounds(graph: Graph) -> Iterator[tuple[Expression, dict[str, tuple[PartOfInput, int]]]]:
    """What ops in loops need of sizes, each with the part and the dimension of it that a name stands for."""
    known = {id(value): PartOfInput(index, (), value.type) for index, value in enumerate(graph.inputs)}
    for inner, parts in _rounds(graph, known):
        tensors = {key: part for key, part in parts.items() if _is_tensor(part)}
        names = {
            dimension(place, dim): (part, part.rows + dim)
            for place, part in enumerate(tensors.values())
            for dim in range(len(part.kind.shape) - part.rows)
        }
        for asked in from_bodies(inner, {key: place for place, key in enumerate(tensors)}):
            yield asked, {name: names[name] for name in asked.symbols}


def _rounds(
    graph: Graph, known: Mapping[int, Any], taken: Mapping[int, Any] = MappingProxyType({}), inner: bool = False
) -> Iterator[tuple[Graph, dict[int, Any]]]:
    """The graph of each round in a graph, also inside of another one, with the parts that its values are, by their ids.

    Args:
        graph: the graph.
        known: the parts that its values are.
        taken: the lists that it is a round of, from which it takes the item whose place is its first input.
        inner: whether it is a round.
    """
    known = dict(known)
    for node in graph.nodes:
        match node:
            case Node(Operator("py.rows"), (Value() as whole, *_)):
                known[id(node.output)] = known.get(id(whole))
            case Node(Operator("py.enumerate"), (Value() as items, *_)):
                known[id(node.output)] = SideBySide((None, known.get(id(items))))
            case Node(Operator("py.zip" | "py.zip_strict"), several) if several:
                known[id(node.output)] = SideBySide(tuple(known.get(id(each)) for each in several))
            case Node(Operator("py.getitem"), (Value() as holder, int() | str() as key)):
                known[id(node.output)] = _entry(known.get(id(holder)), key)
            case Node(Operator("py.getitem"), (Value() as holder, Value() as place)) if id(holder) in taken:
                items = taken[id(holder)]
                in_turn = place is graph.inputs[0] or _is_tensor(items)  # all rows have the same sizes
                known[id(node.output)] = _each(items) if in_turn else None
            case Node(Operator("map"), (Graph() as body, tuple() | list() as given, _)):
                pairs = zip(body.inputs, given, strict=False)
                yield from _rounds(body, {id(value): _each(known.get(id(each))) for value, each in pairs}, inner=True)
            case Node(Operator("while_loop"), (Graph() as test, Graph() as body, carried, captured)):
                pairs = zip(body.inputs, (*carried, *captured), strict=False)
                lists = {id(value): known[id(each)] for value, each in pairs if known.get(id(each)) is not None}
                if [_name(each) for each in test.nodes] == ["py.len", "py.lt"]:
                    yield from _rounds(body, {}, lists, inner=True)
    if inner:
        yield graph, known


def _each(part: Any) -> Any:
    return part.each() if isinstance(part, PartOfInput | SideBySide) else None


def _entry(part: Any, key: Any) -> Any:
    if isinstance(part, PartOfInput):
        return part.entry(key)
    return part[key] if isinstance(part, tuple) and isinstance(key, int) and key < len(part) else None


def _is_tensor(part: Any) -> bool:
    return isinstance(part, PartOfInput) and isinstance(part.kind, TensorType)


def _name(node: Node) -> str:
    return node.target.name if isinstance(node.target, Operator) else ""
