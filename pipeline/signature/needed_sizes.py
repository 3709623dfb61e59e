"""Sizes of inputs that a pipeline needs behind other nodes: a last size of 3 for Slang, one more than another size.

What ops that take an input directly need is written in them. Of what lies behind a slice, a kernel, a product of
matrices, torch knows: the graph runs once on tensors without data whose sizes are symbols, and torch notes which have
to be a number, or follow from others. Torch also notes what holds for the example only, as that two sizes are equal
which may be broadcast. So each is tried: it is needed where the graph fails with every other size that is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch

from ...ops.graph.errors import GraphError
from ...ops.graph.graph import BodyCall, Facts, Graph, Guard, Node, Operator, Value
from ...ops.graph.guards import Expression
from ...ops.graph.operators.names import FRESH, VIEW, effect
from ...ops.graph.program import Parameter, Parameters
from ...ops.graph.traverse import leaves, uses, walk
from ...ops.graph.types import TensorType
from ...ops.lowering.patches.silence import Silence
from ...ops.lowering.sizes import dimension
from ...ops.runtime.plan import Plan
from ..recheck.sizes import pipeline_facts
from .symbolic_run import SymbolicRun

MOST_NODES = 2_000
"""Of a graph that is looked at, those of its ops among them."""
_OF_TORCH = ("torch.", "aten.", "py.")
_DRAWS = ("py.draw", "py.generator", "py.seeded")
_TRIED = (0, 1, 2, 3, 5, 64, 101)
_LEAST = 4
"""How many other sizes have to fail."""
_MOST_STEPS = 20_000
"""How many nodes all runs together may have, each some 0.1 ms."""


def known_facts(
    items: tuple[Parameter, ...], names: Sequence[str], graph: Graph, leaves_of_example: Sequence[Any]
) -> tuple[Parameters, Facts]:
    """The calling convention and the facts of a pipeline, as `pipeline_facts` finds them, with what is needed."""
    found = pipeline_facts(items, names, graph)
    needed = needed_sizes(graph, leaves_of_example)
    return pipeline_facts(items, names, graph, needed) if needed else found


def needed_sizes(graph: Graph, leaves_of_example: Sequence[Any]) -> list[Expression]:
    """What the sizes of inputs have to be, as conditions over the names of `dimension`.

    Args:
        graph: of the pipeline, whose inputs have letters for the sizes that nothing is known of.
        leaves_of_example: the flat inputs.
    """
    sized, letters = _without_data(graph), _letters(graph, leaves_of_example)
    if not letters or not sized.nodes or _steps(sized) > MOST_NODES:
        return []
    needs: _Needs | None = None
    # An operator that knows nothing of symbols says nothing of sizes: then the run itself does.
    with suppress(Exception), Silence():
        trial = _FakeRuns(sized, leaves_of_example)
        if trial.runs({}) and not all(any(map(trial.runs, _others(places, trial))) for places in letters):
            run = SymbolicRun(sized, leaves_of_example, _dims(letters, len(graph.inputs)))
            needs = _Needs(trial, run.places, letters)
            for equation in run.equations():
                needs.consider(equation)
    return list(needs.conditions()) if needs else []


Place = tuple[int, int]
"""An input, and a dimension of it."""


def _letters(graph: Graph, leaves_of_example: Sequence[Any]) -> list[list[Place]]:
    """The places of each letter, whose size may be another: none and one are special to torch."""
    found: dict[str, list[Place]] = {}
    for index, (value, leaf) in enumerate(zip(graph.inputs, leaves_of_example, strict=True)):
        if isinstance(value.type, TensorType) and isinstance(leaf, torch.Tensor):
            for dim, size in enumerate(value.type.shape):
                if isinstance(size, str) and leaf.shape[dim] > 1:
                    found.setdefault(size, []).append((index, dim))
    return list(found.values())


def _dims(letters: Sequence[Sequence[Place]], inputs: int) -> list[list[int]]:
    """The dimensions of each input that have letters."""
    return [[dim for places in letters for index, dim in places if index == each] for each in range(inputs)]


def _sizes_beside(size: int) -> dict[int, None]:
    return dict.fromkeys(each for each in (size + 1, 2 * size, size + 7, size - 1, *_TRIED) if each != size)


def _others(places: Sequence[Place], trial: _FakeRuns) -> Iterator[dict[Place, int]]:
    """Other sizes of the places of one letter."""
    for other in _sizes_beside(trial.size(places[0])):
        yield dict.fromkeys(places, other)


def _without_data(graph: Graph) -> Graph:
    """The nodes whose sizes follow from those of the inputs alone, without results."""
    unknown = {id(value) for value in graph.inputs if not isinstance(value.type, TensorType)}
    kept = list[Node]()
    for node in graph.nodes:
        used = {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
        if node.varying or not _tells_sizes(node) or used & unknown:
            unknown |= {id(leaf) for leaf in leaves(node.output)} | (used if _changes(node) else set())
        else:
            kept.append(node)
    return Graph(graph.inputs, tuple(kept), ())


def _tells_sizes(node: Node) -> bool:
    """Whether a node runs on tensors without data."""
    if isinstance(node.target, Operator):
        return node.target.name.startswith(_OF_TORCH) and node.target.name not in _DRAWS
    if isinstance(node.target, Guard):  # which says itself what it needs, with its line
        return False
    return isinstance(node.target, BodyCall) or node.target.kernel.tells_sizes


def _steps(graph: Graph) -> int:
    return sum(1 for _ in walk(graph))


def _changes(node: Node) -> bool:
    return isinstance(node.target, Operator) and effect(node.target.name) not in (FRESH, VIEW)


class _FakeRuns:
    """Runs a graph with other sizes, on tensors without data.

    Args:
        graph: the graph; none of its nodes needs data.
        leaves_of_example: the flat inputs.
    """

    def __init__(self, graph: Graph, leaves_of_example: Sequence[Any]) -> None:
        self.plan, self.example = Plan(graph), leaves_of_example
        self.steps, self.left = _steps(graph), _MOST_STEPS

    def size(self, place: Place) -> int:
        """The size of a dimension in the example."""
        return int(self.example[place[0]].shape[place[1]])

    def runs(self, sizes: Mapping[Place, int]) -> bool:
        """Whether the graph runs where some dimensions have other sizes; so it does after too many runs."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.left -= self.steps
        if self.left < 0:
            return True
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            inputs = [
                torch.empty(
                    [sizes.get((index, dim), size) for dim, size in enumerate(leaf.shape)],
                    dtype=leaf.dtype, device=leaf.device,
                )
                if isinstance(leaf, torch.Tensor)
                else leaf
                for index, leaf in enumerate(self.example)
            ]  # fmt: skip
            try:
                self.plan.run(inputs)
            except Exception:
                return False
            return True


class _Needs:
    """What sizes have to be, as far as runs of the graph with other sizes confirm it.

    Args:
        trial: runs the graph.
        places: torch's symbol -> the input and the dimension whose size it is.
        letters: the places that are known to be equal.

    Attributes:
        sizes: the symbols that are a number, or follow from others, which are free.
    """

    def __init__(self, trial: _FakeRuns, places: Mapping[Any, Place], letters: Sequence[Sequence[Place]]) -> None:
        self.trial, self.places = trial, places
        self.now = {symbol: trial.size(place) for symbol, place in places.items()}
        symbols = {place: symbol for symbol, place in places.items()}
        self.sizes: dict[Any, Any] = {symbols[other]: symbols[first] for first, *rest in letters for other in rest}

    def consider(self, equation: Any) -> None:
        """Takes an equation of torch, if it holds for a symbol in all runs that do not fail."""
        difference = (equation.lhs - equation.rhs).subs(self.sizes).expand()
        if difference.free_symbols <= set(self.places) and self._fails_without(difference):
            for symbol in sorted(difference.free_symbols, key=self.places.__getitem__, reverse=True):
                factor = difference.coeff(symbol)
                rest = (difference - factor * symbol).expand()
                if factor in (1, -1) and symbol not in rest.free_symbols:
                    found = {symbol: -factor * rest}
                    self.sizes = {each: size.subs(found) for each, size in self.sizes.items()} | found
                    return

    def _fails_without(self, difference: Any) -> bool:
        """Whether the graph fails with all other sizes whose difference is not zero."""
        tried = 0
        for symbol in sorted(difference.free_symbols, key=self.places.__getitem__):
            for other in _sizes_beside(self.now[symbol]):
                sizes = self._completed(symbol, other)
                if sizes is not None and difference.subs(sizes) != 0:
                    if self.trial.runs({self.places[each]: size for each, size in sizes.items()}):
                        return False
                    tried += 1
        return tried >= _LEAST

    def _completed(self, symbol: Any, other: int) -> dict[Any, int] | None:
        """All sizes where one is another; None where one that follows from it is none."""
        sizes = self.now | {symbol: other}
        sizes |= {each: size.subs(sizes) for each, size in self.sizes.items()}
        return {each: int(size) for each, size in sizes.items()} if all(n >= 0 for n in sizes.values()) else None

    def conditions(self) -> Iterator[Expression]:
        """What was found, over the names of `dimension`."""
        names = {str(symbol): dimension(*place) for symbol, place in self.places.items()}
        for symbol, size in self.sizes.items():
            with suppress(GraphError):  # a function of torch that is not in the grammar of guards
                yield Expression.parse(f"{symbol} == {size}").renamed(names)
