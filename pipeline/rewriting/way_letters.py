"""Letters for the sizes of a way: those of the pipeline's other recording where they are of the same inputs.

Two recordings name their sizes each for itself. With one alphabet the signature says of both what is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ops.graph.graph import Facts, Graph, Value
from ...ops.graph.guards import Expression
from ...ops.graph.program import Parameters, Program
from ...ops.graph.traverse import leaves, subgraphs
from ...ops.graph.types import TensorType

LETTERS = "NMKLPQRSTUVW"


def with_letters(way: Program, program: Program) -> Program:
    """A way's program with the letters of another program; the types of its graph are changed in place.

    Args:
        way: its inputs have the names that they have in the other program.
        program: the pipeline's.
    """
    names = _names(way, program)
    for value in _values(way.graph):
        if isinstance(value.type, TensorType):
            shape = tuple(_named(size, names) if isinstance(size, str) else size for size in value.type.shape)
            value.type = TensorType(value.type.dtype, shape)
    facts = Facts(
        {names[symbol]: place for symbol, place in way.facts.symbols.items()},
        tuple(guard.renamed(names) for guard in way.facts.guards),
    )
    types = tuple(value.type for value in way.graph.inputs)
    return Program(way.name, way.graph, Parameters(way.parameters.items, way.parameters.names, types), facts)


def _names(way: Program, program: Program) -> dict[str, str]:
    """The new letter of each symbol: that of the same size, or one that stands for no other."""
    symbols = {place: symbol for symbol, place in program.facts.symbols.items()}
    found: dict[str, str] = {}
    for symbol, (index, dim) in way.facts.symbols.items():
        other = program.parameters.names.index(way.parameters.names[index])
        kind = program.parameters.types[other]
        letter = kind.shape[dim] if isinstance(kind, TensorType) else symbols.get((other, dim))
        if letter in program.facts.symbols and letter not in found.values():
            found[symbol] = str(letter)
    free = (letter for letter in _letters() if letter not in program.facts.symbols)
    return {symbol: found.get(symbol) or next(free) for symbol in way.facts.symbols}


def _letters() -> Iterator[str]:
    yield from LETTERS
    yield from (f"N{number}" for number in range(1, 1_000_000))


def _named(size: str, names: Mapping[str, str]) -> str:
    return size if size == "?" else names.get(size) or str(Expression.parse(size).renamed(names))


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    for node in graph.nodes:
        yield from (leaf for leaf in leaves(node.output) if isinstance(leaf, Value))
        for inner in subgraphs(node):
            yield from _values(inner)
