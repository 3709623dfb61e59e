"""The ways through the body of a loop over a list of any length, put together as one graph.

A body that branches is recorded once for each way through it. At a branch the ways part: what follows on either side
becomes a branch of a `cond` node, a closed graph that begins anew at the item. What stands before the branch is so
recorded on both sides; it gives the same there, since a body that branches writes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ops.graph.graph import Graph, Guard, Node, Operator, SourceLine, Value
from ...ops.graph.traverse import leaves, map_leaves, subgraphs, walk
from ...ops.graph.types import ANY, SCALARS, STRINGS, ListType, TensorType, Type
from ...ops.graph.verify import verify
from ..proxies.lists import NESTED, TracedList
from ..proxies.make import TracedOptional
from ..proxies.tracer import Refuser
from ..proxies.trees import concrete, list_type
from ..recheck.prune import prune

EMPTY = "the example of a list is empty"
"""How the refusal of a loop begins that nothing shows."""

MOST_WAYS = 16
"""The ways that a body may take: each is recorded."""


@dataclass
class Fork:
    """A condition on a way.

    Attributes:
        value: what decides, in the form of the IR.
        count: how many nodes of the way stand before it.
        taken: the side on which the way goes on.
        is_test: whether the other side leaves the item out, and has no way of its own.
    """

    value: Any
    count: int
    taken: bool
    is_test: bool = False


@dataclass
class Way:
    """One way through a body.

    Attributes:
        given: the sides that it takes first; at later branches it takes that of the example.
        taken: the sides that it took.
        filled: how many items the list of an appending loop has after it.
        left_out: whether the condition of a comprehension was not met on it.
        kept: whether it gave a result; one that gave none leaves its item out.
        item: that of the graph; shown: what the function got for it.
        result: what the function gave; output: the same in the form of the IR.
    """

    given: tuple[bool, ...]
    taken: list[bool] = field(default_factory=list)
    steps: list[Fork] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    filled: int = 0
    left_out: bool = False
    kept: bool = True
    item: Any = None
    shown: Any = None
    result: Any = None
    output: Any = None

    def decide(self, natural: Any) -> tuple[bool, bool]:
        """The side to take at a branch, and whether nobody has given it."""
        place = len(self.taken)
        fresh = place >= len(self.given)
        self.taken.append(bool(natural) if fresh else self.given[place])
        return self.taken[-1], fresh

    def values(self) -> Iterator[Value]:
        """The values that its nodes make."""
        for node in self.nodes:
            yield from (leaf for leaf in leaves(node.output) if leaf is not None)


Parts = tuple[list[Node], Any]
"""The nodes of a graph, and its output."""


class Tree:
    """Puts ways together.

    Args:
        recorder: refuses what does not fit together.
        line: of the loop.
        inputs: the values over which every graph is closed.
        closed: makes the closed graph of some nodes and their output.

    Attributes:
        with_none: the ids of values that may be None -> their type otherwise.
        in_lists: whether lists among the results have such items.
    """

    def __init__(
        self, recorder: Refuser, line: SourceLine | None, inputs: Sequence[Value], closed: Callable[..., Graph]
    ) -> None:
        self.recorder, self.line, self.inputs, self.closed = recorder, line, tuple(inputs), closed
        self.with_none: dict[int, Type] = {}
        self.in_lists = False

    def meet(self, values: Iterable[Any], examples: Mapping[int, Any]) -> None:
        """Takes note of the values among some results that may be None, by the stand-ins of all values."""
        found = {id(leaf): examples.get(id(leaf)) for leaf in values if isinstance(leaf, Value)}
        lists = [each for each in found.values() if type(each) is TracedList]
        self.in_lists = any(each.with_none is not None for each in lists)
        self.with_none |= {
            key: SCALARS[type(each.sample)] for key, each in found.items() if type(each) is TracedOptional
        }

    def sample(self, output: Any) -> Any:
        """What the results are by an example where some may be None; None where none may be."""
        if isinstance(output, Value) and not self.in_lists:
            kind = self.with_none.get(id(output))
            return None if kind is None else next(each() for each, scalar in SCALARS.items() if scalar == kind)
        return NESTED if self.in_lists or any(id(leaf) in self.with_none for leaf in leaves(output)) else None

    def graph(self, parts: Parts) -> Graph:
        """The closed graph of some parts."""
        return self.closed(*parts)

    def output(self, ways: Sequence[Way]) -> Parts:
        """What the body gives, by the ways that give something."""
        kept = [way for way in ways if way.kept]
        if any(_shape(way.output) != _shape(kept[0].output) for way in kept):
            kinds = {type(way.output) for way in kept}  # a dict with keys of run time is one value
            fix = _OF_DICTS if kinds == {dict, Value} else _ONE_KIND
            self._refuse("gives different containers on different ways", fix)
        nodes, found = self._joined(kept, 0, lambda way: tuple(leaves(way.output)))
        rest = iter(found)
        return nodes, map_leaves(lambda _: next(rest), kept[0].output)

    def tests(self, ways: Sequence[Way]) -> list[Graph]:
        """The tests of the loop: one for each filter, or one for all ways where some give nothing."""
        if len(ways) == 1:
            way = ways[0]
            return [self.closed(way.nodes[: step.count], step.value) for step in way.steps]
        nodes, (found,) = self._joined(ways, 0, lambda way: (way.kept,), tested=True)
        return [] if found is True else [self.closed(nodes, found)]

    def _joined(self, ways: Sequence[Way], depth: int, ends: Callable[[Way], Any], tested: bool = False) -> Parts:
        """The ways from a branch on as one."""
        first = ways[0]
        if depth == len(first.steps):
            return first.nodes, ends(first)
        step = first.steps[depth]
        sides = [[way for way in ways if way.steps[depth].taken is side] for side in (True, False)]
        parts = [self._joined(side, depth + 1, ends, tested) if side else None for side in sides]
        if tested and step.is_test:
            parts = [part or ([], (False,)) for part in parts]
        present = [part for part in parts if part is not None]
        if len(present) == 1:
            return present[0]
        outputs, joined = self._outputs(present[0][1], present[1][1])
        if not outputs and joined and not tested and any(_checks(nodes) for nodes, _ in present):
            outputs, joined[0] = [0], Value(self._type(present[0][1][0], present[1][1][0]))
        if not outputs:  # the sides give the same, whatever else is in them
            return first.nodes[: step.count], tuple(joined)
        graphs = [self.closed(nodes, tuple(found[place] for place in outputs)) for nodes, found in present]
        args = (step.value, *graphs, self.inputs)
        values = tuple(joined[place] for place in outputs)
        return [*first.nodes[: step.count], Node(Operator("cond"), args, {}, values, self.line, True)], tuple(joined)

    def _outputs(self, one: Sequence[Any], other: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """The places of the results that two sides give differently, and all results: values of their own there."""
        places, joined = list[int](), list[Any]()
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            same = not isinstance(a, Value) and not isinstance(b, Value) and type(a) is type(b) and a == b
            if not same:
                places.append(place)
            joined.append(a if same else self._value(a, b))
        return places, joined

    def _value(self, one: Any, other: Any) -> Value:
        """A value for two that two sides give."""
        kinds = {self.with_none.get(id(each), _type(each)) for each in (one, other) if each is not None}
        optional = None in (one, other) or any(id(each) in self.with_none for each in (one, other))
        if not optional or len(kinds) != 1 or not kinds <= set(SCALARS.values()):
            return Value(self._type(one, other))
        found = Value(ANY)
        self.with_none[id(found)] = next(kind for kind in kinds if kind is not None)
        return found

    def _type(self, one: Any, other: Any) -> Type:
        a, b = _type(one), _type(other)
        if isinstance(a, TensorType) and isinstance(b, TensorType) and a != b:
            if (a.dtype, len(a.shape)) != (b.dtype, len(b.shape)):
                self._refuse("gives tensors of different dtypes or ranks on different ways", _ONE_KIND)
            return a
        if a is None or b is None or (a != b and not (_is_list(a) and _is_list(b))):
            self._refuse("gives values of different types on different ways", _ONE_KIND)
        assert a is not None
        return a if a == b and a is not None else ANY

    def _refuse(self, what: str, fix: str) -> None:
        self.recorder.refuse(f"a loop over a list of any length {what}", fix)


def closed_graph(nodes: Sequence[Node], output: Any, given: Sequence[Value]) -> Graph:
    """The closed graph of some nodes over copies of what is given to it."""
    known: dict[int, Any] = {}

    def made(leaf: Any) -> Any:
        if isinstance(leaf, Value):
            known[id(leaf)] = Value(leaf.type)
            return known[id(leaf)]
        return leaf

    def used(leaf: Any) -> Any:
        return known.get(id(leaf), leaf) if isinstance(leaf, Value) else leaf

    inputs = tuple(made(value) for value in given)
    copies = []
    for node in nodes:
        args, kwargs = map_leaves(used, node.args), map_leaves(used, node.kwargs)
        copies.append(Node(node.target, args, kwargs, map_leaves(made, node.output), node.line, True))
    graph = prune(Graph(inputs, tuple(copies), map_leaves(used, output)))
    verify(graph)
    return graph


def from_outside(used: Iterable[Any], inner: Iterable[Any]) -> list[Value]:
    """The values among some leaves that are none of a round."""
    own = set(map(id, inner))
    return list({id(leaf): leaf for leaf in used if isinstance(leaf, Value) and id(leaf) not in own}.values())


def list_of_results(output: Any, found: list[Any]) -> Type:
    """The type of the list of a loop's results: the containers of each stand in the loop's body, so they are alike."""
    return (list_type(found) if isinstance(output, dict | tuple) else None) or ANY


def samples_of(ways: Sequence[Way]) -> list[Any]:
    """An item that a loop's list might have, by what a way gave: where no item of the example goes that way."""
    found = [concrete(way.result) for way in ways[:1]]
    return found if all(type(leaf) in SCALARS for leaf in leaves(found)) else []


_LISTS = {ANY, STRINGS}
"""The types of lists that a body makes, an empty one among them."""


def _checks(nodes: Sequence[Node]) -> bool:
    """Whether some nodes refuse what they may be given."""
    inner = [each for node in nodes for graph in subgraphs(node) for each in walk(graph)]
    return any(isinstance(node.target, Guard) for node in [*nodes, *inner])


def _is_list(kind: Type) -> bool:
    return kind in _LISTS or isinstance(kind, ListType)


def _type(leaf: Any) -> Type | None:
    return leaf.type if isinstance(leaf, Value) else SCALARS.get(type(leaf))


_ONE_KIND = "Give the same kind of value on each: float(x) makes a number of one of numpy or of a tensor."
_OF_DICTS = (
    'Write dict([*found.items()] + [("none", 0.0)] * int(not found)) for found or {"none": 0.0}: its keys are free.'
)


def _shape(tree: Any) -> Any:
    """The containers of a tree."""
    return map_leaves(lambda _: None, tree)
