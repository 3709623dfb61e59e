"""The inputs and constants whose memory a graph may write, by the names of its operators.

The pass notes, for every value, what it may share memory with: arguments of the node that makes it. The table of
operators says which of them return or write the memory of an argument; in doubt they count as doing so. What is
written is then searched from the writes back to the inputs and constants. A body is followed once, however often it is
called, and no set of places is kept for each value: time and memory are linear in the size of the graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph import BodyCall, Constant, Graph, Node, Operator, Value
from ..operators.names import CODE, FRESH, RESHAPES, WRITES, WRITES_ANY, effect
from ..traverse import leaves, subgraphs, uses
from ..types import ARRAY, BOOL, FLOAT, INT, STR, STRINGS, ListType, TensorType
from .written_arguments import (
    RESHAPING_BY_OPTION,
    copies,
    gives_first,
    is_norm,
    receivers,
    statistics,
    writes_by_option,
)

Place = int | Constant
"""An input of the graph by its number, or a constant."""


@dataclass(eq=False, repr=False)
class Touched:
    """The writes of a graph.

    Attributes:
        written: the places whose elements it may change.
        reshaped: the places whose sizes or strides it may change.
    """

    written: set[Place] = field(default_factory=set)
    reshaped: set[Place] = field(default_factory=set)

    def constants(self) -> set[int]:
        """The ids of the constants that are written or reshaped."""
        return {id(place) for place in self.written | self.reshaped if isinstance(place, Constant)}

    def inputs(self) -> set[int]:
        """The numbers of the inputs that are written."""
        return {place for place in self.written if isinstance(place, int)}


HandedOn = Sequence[tuple[frozenset[int], bool]]


def sharing(graph: Graph) -> tuple[Touched, HandedOn]:
    """Both that `touched` and `handed_on` say, for who needs both: the graph is followed once."""
    known = _Known()
    found = known.summary(graph)
    numbers = {index for index, value in enumerate(graph.inputs) if _is_plain(value.type)}
    # The check of the inputs lets nothing else be a number.
    written: set[int | Constant] = {*found.written - numbers, *known.written.constants}
    outputs = [(places, constants is not None) for places, constants in found.outputs]
    return Touched(written, {*found.reshaped, *known.reshaped.constants}), outputs


def touched(graph: Graph) -> Touched:
    """The writes of a graph to its inputs and constants."""
    return sharing(graph)[0]


def handed_on(graph: Graph) -> HandedOn:
    """For each leaf of a graph's output the inputs whose memory it may share, and whether it may be a constant's."""
    return sharing(graph)[1]


_NUMBERS = (INT, FLOAT, BOOL, STR)
"""Types of values without memory of their own."""


def _is_plain(kind: Any) -> bool:
    """Whether an input has no memory of its own: a number, a text, or a list of such, also in tuples and dicts."""
    match kind:
        case ListType(item):
            return _is_plain(item)
        case tuple():
            return all(map(_is_plain, kind))
        case dict():
            return all(map(_is_plain, kind.values()))
    return kind in _NUMBERS or kind == STRINGS


class _Joint:
    """Several things that something may share memory with, as one.

    Attributes:
        parts: values, constants and joints.
        outside: whether it belongs to no graph alone: it leads to constants only.
    """

    __slots__ = ("outside", "parts")

    def __init__(self, parts: Sequence[Any], outside: bool = False) -> None:
        self.parts, self.outside = parts, outside


@dataclass(eq=False, repr=False)
class _GraphWrites:
    """What callers need to know of a graph: the inputs that it writes and reshapes, by number.

    Attributes:
        outputs: for each leaf of its output the inputs whose memory it may share, and the constants as a joint.
    """

    written: set[int]
    reshaped: set[int]
    outputs: list[tuple[frozenset[int], _Joint | None]]

    def places(self) -> set[int]:
        """The inputs of which it tells something."""
        return {*self.written, *self.reshaped, *(place for places, _ in self.outputs for place in places)}


class _Reached:
    """The constants that all graphs together write (or reshape), and the joints on the way to them."""

    def __init__(self) -> None:
        self.constants: set[Constant] = set()
        self.passed: set[int] = set()


class _Known:
    """The graphs that were followed, by their ids."""

    def __init__(self) -> None:
        self.written, self.reshaped = _Reached(), _Reached()
        self._summaries: dict[int, _GraphWrites] = {}

    def summary(self, graph: Graph) -> _GraphWrites:
        """The writes of a graph."""
        if id(graph) not in self._summaries:
            self._summaries[id(graph)] = _Follower(self, graph).summary()
        return self._summaries[id(graph)]


_ROOM = 4
"""The edges for each argument and result of a call; with more, every result may share memory with every argument."""


class _Follower:
    """Follows memory through one graph."""

    def __init__(self, known: _Known, graph: Graph) -> None:
        self.known, self.outputs = known, list(leaves(graph.output))
        self.inputs = {id(value): index for index, value in enumerate(graph.inputs)}
        self.sources: dict[int, Sequence[Any]] = {}
        self.written: list[Any] = []
        self.reshaped: list[Any] = []
        self.edges = 1000
        for node in graph.nodes:
            self.node(node)

    def summary(self) -> _GraphWrites:
        """What was found."""
        return _GraphWrites(
            self.reached(self.written, self.known.written),
            self.reached(self.reshaped, self.known.reshaped),
            self.ends_of_outputs(),
        )

    def reached(self, roots: Iterable[Any], found: _Reached) -> set[int]:
        """The inputs that things may share memory with; the constants are added to those that were found."""
        inputs: set[int] = set()
        seen: set[int] = set()
        waiting = list(roots)
        while waiting:
            thing = waiting.pop()
            if isinstance(thing, Constant):
                found.constants.add(thing)
                continue
            passed = found.passed if isinstance(thing, _Joint) and thing.outside else seen
            if id(thing) in passed:
                continue
            passed.add(id(thing))
            if id(thing) in self.inputs:
                inputs.add(self.inputs[id(thing)])
            waiting += thing.parts if isinstance(thing, _Joint) else self.sources.get(id(thing), ())
        return inputs

    def ends_of_outputs(self) -> list[tuple[frozenset[int], _Joint | None]]:
        """For each output the inputs and constants; all of them for each, where to tell them apart takes too long."""
        found, room = [], _ROOM * (self.edges + len(self.outputs))
        for leaf in self.outputs:
            inputs, constants, steps = self.ends([leaf], room)
            room -= steps
            if room < 0:
                inputs, constants, _ = self.ends(self.outputs, None)
                return [(inputs, constants)] * len(self.outputs)
            found.append((inputs, constants))
        return found

    def ends(self, roots: Iterable[Any], most: int | None) -> tuple[frozenset[int], _Joint | None, int]:
        """The inputs and constants that things may share memory with, after so many steps at most; how many it were."""
        inputs: set[int] = set()
        seen: set[int] = set()
        waiting, ends = _shared(roots), []
        while waiting and (most is None or len(seen) <= most):
            thing = waiting.pop()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if isinstance(thing, Constant) or (isinstance(thing, _Joint) and thing.outside):
                ends.append(thing)
                continue
            if id(thing) in self.inputs:
                inputs.add(self.inputs[id(thing)])
            waiting += thing.parts if isinstance(thing, _Joint) else self.sources.get(id(thing), ())
        return frozenset(inputs), _Joint(ends, outside=True) if ends else None, len(seen)

    def node(self, node: Node) -> None:
        """Adds the writes of a node, and what its results may share memory with."""
        match node.target:
            case BodyCall(body):
                self._call(node, self.known.summary(body.graph))
            case Operator(name):
                inner = [self.known.summary(graph) for graph in subgraphs(node)]
                if inner:
                    self._branches(node, name, inner)
                else:
                    self._operator(node, name)

    def _call(self, node: Node, body: _GraphWrites) -> None:
        given = [arg if isinstance(arg, Value | Constant) else _Joint(_shared(leaves(arg))) for arg in node.args]
        self.written += [given[place] for place in body.written if place < len(given)]
        self.reshaped += [given[place] for place in body.reshaped if place < len(given)]
        results = list(leaves(node.output))
        if sum(len(places) for places, _ in body.outputs) > _ROOM * (len(given) + len(results)):
            constants = {id(joint): joint for _, joint in body.outputs if joint is not None}
            self._define(results, [*given, *constants.values()])
            return
        for value, (places, constant) in zip(results, body.outputs, strict=False):
            parts = [given[place] for place in places if place < len(given)]
            self._define([value], parts if constant is None else [*parts, constant])

    def _branches(self, node: Node, name: str, inner: list[_GraphWrites]) -> None:
        """Adds the writes of a choice or a loop, by the places of their operands where those are known."""
        results, given = list(leaves(node.output)), _operands(node, name)
        most = _ROOM * (len(given) + len(results))
        few = sum(len(places) for branch in inner for places, _ in branch.outputs) <= most
        if any(place >= len(given) for branch in inner for place in branch.places()) or not few:
            given = []
        inputs = [_Joint(_shared(leaves(each))) for each in given]
        alike = all(len(branch.outputs) == len(results) for branch in inner[name == "while_loop" :])
        if not given or not alike or name == "map":
            whole = _Joint(_shared(uses(node)))
            kept = [joint for branch in inner for _, joint in branch.outputs if joint is not None]
            self._define(results, [whole, *kept])
            inputs = inputs if given and name == "map" else []
            self.written += [whole for branch in inner if branch.written and not inputs]
            self.reshaped += [whole for branch in inner if branch.reshaped and not inputs]
        else:
            self._results(results, inputs, inner, name == "while_loop")
        self.written += [inputs[place] for branch in inner if inputs for place in branch.written]
        self.reshaped += [inputs[place] for branch in inner if inputs for place in branch.reshaped]

    def _results(self, results: list[Any], inputs: list[_Joint], inner: list[_GraphWrites], loop: bool) -> None:
        """Adds what the results of a choice share memory with, or those of a loop, which its next round begins with."""
        for number, value in enumerate(results):
            found = [branch.outputs[number] for branch in inner[loop:]]
            parts: list[Any] = [inputs[place] for places, _ in found for place in sorted(places)]
            parts += [kept for _, kept in found if kept is not None]
            if loop:
                inputs[number].parts = [*inputs[number].parts, *parts]
                self.edges += len(parts)
                parts = [inputs[number]]
            self._define([value], parts)

    def _operator(self, node: Node, name: str) -> None:
        if name == "py.draw" and len(node.args) == 4:
            _, inner, args, kwargs = node.args
            self._operator(Node(Operator(inner), tuple(args), kwargs, node.output), inner)
            return
        kind, given = effect(name), _shared(uses(node))
        first = _shared(leaves(node.args[:1])) if node.args else given
        if kind == WRITES_ANY and not is_norm(name):
            self.written += given
        elif kind in (WRITES, RESHAPES) or writes_by_option(node, name):
            self.written += first
        if kind == RESHAPES or (name in RESHAPING_BY_OPTION and writes_by_option(node, name)):
            self.reshaped += first
        self.written += _shared([*receivers(node, name), *statistics(node, name)])
        if not (kind == FRESH or copies(node, name)) or _hands_on(node, name):
            results = _not_own(node) if name == CODE else leaves(node.output)
            self._define(results, first if gives_first(node, name) else given)

    def _define(self, results: Iterable[Any], sources: list[Any]) -> None:
        values = [value for value in results if value is not None]
        shared: Sequence[Any] = [_Joint(sources)] if len(values) > 1 and len(sources) > 1 else sources
        self.edges += len(sources) + len(values)
        for value in values:
            self.sources[id(value)] = shared


def _operands(node: Node, name: str) -> list[Any]:
    """What the graphs of a choice or a loop are given, by their places."""
    match name, node.args:
        case ("while_loop", (_, _, *parts)) | ("cond", (_, _, _, *parts)):
            return [each for part in parts if isinstance(part, list | tuple) for each in part]
        case "map", (_, list() | tuple() as lists, *parts):
            return [*lists, *(each for part in parts if isinstance(part, list | tuple) for each in part)]
    return []


def _not_own(node: Node) -> Iterator[Any]:
    """The results of a block of plain Python without numbers, and arrays of which its kind says that it makes them."""
    match node.args, node.output:
        case (_, ("tuple", *kinds), *_), tuple(parts) if len(kinds) == len(parts):
            for kind, part in zip(kinds, parts, strict=True):
                listed = isinstance(kind, list | tuple)
                made = listed and len(kind) == 4 and (kind[0], kind[3]) == ("array", "own")
                if not made and (listed or kind == "any"):
                    yield from leaves(part)
        case _:
            yield from leaves(node.output)


def _shared(things: Iterable[Any]) -> list[Any]:
    """Those that have memory."""
    return [thing for thing in things if isinstance(thing, Value | Constant)]


def _hands_on(node: Node, name: str) -> bool:
    return bool(_shared(receivers(node, name))) or writes_by_option(node, name) or (name in JOINING and may_join(node))


JOINING = ("py.add", "py.mul")
"""Operators that make new tensors of tensors, but of lists a list that holds the same things."""
_NO_LISTS = (*_NUMBERS, ARRAY)


def may_join(node: Node) -> bool:
    """Whether a sum or product may be one of lists; what runs another one refuses lists."""
    return any(
        isinstance(arg, list | tuple)
        or (isinstance(arg, Value) and not isinstance(arg.type, TensorType) and arg.type not in _NO_LISTS)
        for arg in node.args
    )
