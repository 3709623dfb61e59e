"""The ways of a pipeline: what answers where arguments are left out that are None then.

A function that asks `mask is None` takes one way while it is recorded. So a pipeline may have several recordings: its
graph is for calls that give every argument, and a mark in it holds the graph for calls without some of them, with the
facts of that graph. A way is a program of its own: it has its own sizes and guards, and the same bodies and weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...ops.graph.errors import ArchiveError
from ...ops.graph.frozen_class import frozen_object
from ...ops.graph.graph import Graph, Node, Operator
from ...ops.graph.operators.names import LEFT_OUT
from ...ops.graph.program import Parameter, Parameters, Program, Slot
from ...ops.graph.traverse import leaves, map_leaves, walk

MOST_WAYS = 64
"""Of a pipeline; a function of three arguments that may be left out has seven."""
_MARK = Operator(f"py.{LEFT_OUT}")


@frozen_object
class WayWithout:
    """What answers where some arguments are None.

    Attributes:
        names: of these arguments.
        program: takes None for them, and leaves it out of its inputs.
    """

    names: frozenset[str]
    program: Program


def ways_of(program: Program) -> Iterator[WayWithout]:
    """The ways that the marks in a program's graph hold.

    Raises:
        ArchiveError: a mark is malformed, as no writer makes one.
    """
    from ...serialization.decoder import decode_facts  # what few pipelines need

    count = 0
    for number, node in enumerate(program.graph.nodes):
        if node.target == _MARK:
            if (count := count + 1) > MOST_WAYS:
                raise ArchiveError("too many recordings without arguments", expected=f"{MOST_WAYS} at most")
            match node.args:
                case (tuple() as names, Graph() as graph, dict() as facts) if all(isinstance(n, str) for n in names):
                    parameters = without(program.parameters, frozenset(names), graph)
                    kinds = [value.type for value in graph.inputs]
                    known = decode_facts(facts, kinds, f"$.nodes[{number}].args[2]")
                    if any(inner.target == _MARK for inner in walk(graph)):
                        raise ArchiveError("malformed", where=f"$.nodes[{number}]", expected="no other one inside")
                    yield WayWithout(frozenset(names), Program(program.name, graph, parameters, known))
                case _:
                    raise ArchiveError("malformed", where=f"$.nodes[{number}]", expected="names, a graph and facts")


def without(parameters: Parameters, names: frozenset[str], graph: Graph) -> Parameters:
    """The parameters of the way without some of them, whose graph has the inputs of the others in their order.

    Raises:
        ArchiveError: the graph has another number of inputs, or one of the names must be given.
    """
    known = {item.name: item for item in parameters.items}
    if any(name not in known or known[name].default is not None for name in names):
        raise ArchiveError("malformed", where="$.parameters", got=sorted(names), expected="parameters that may be None")
    kept = [item for item in parameters.items if item.name not in names]
    places = sorted(leaf.index for item in kept for leaf in leaves(item.tree) if isinstance(leaf, Slot))
    if len(places) != len(graph.inputs):
        raise ArchiveError(
            "malformed", where="$.parameters", got=f"a graph of {len(graph.inputs)} inputs",
            expected=f"one of {len(places)}",
        )  # fmt: skip
    numbers = {place: number for number, place in enumerate(places)}

    def numbered(leaf: Any) -> Any:
        return Slot(numbers[leaf.index]) if isinstance(leaf, Slot) else leaf

    items = tuple(
        Parameter(item.name, item.kind, None, None)
        if item.name in names
        else replace(item, tree=map_leaves(numbered, item.tree))
        for item in parameters.items
    )
    return Parameters(items, tuple(parameters.names[place] for place in places), tuple(v.type for v in graph.inputs))


def may_be_none(parameters: Parameters, names: frozenset[str]) -> Parameters:
    """Parameters of which some need not be given, and are None then."""
    items = tuple(replace(item, default=None) if item.name in names else item for item in parameters.items)
    return replace(parameters, items=items)


def with_ways(program: Program, ways: Sequence[WayWithout]) -> Program:
    """The program with a mark for each way."""
    from ...serialization.encoder import encode_facts

    nodes = [
        Node(_MARK, (tuple(sorted(way.names)), way.program.graph, encode_facts(way.program.facts))) for way in ways
    ]
    graph = program.graph
    return replace(program, graph=Graph(graph.inputs, (*nodes, *graph.nodes), graph.output))
