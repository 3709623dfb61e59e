"""Sizes of inputs that a pipeline needs behind other nodes: a last size of 3 for Slang, one more than another size.

What ops that take an input directly need is written in them. Of what lies behind a slice, a kernel, a product of
matrices, torch knows: the graph runs once on tensors without data whose sizes are symbols, and torch notes which have
to be a number, or follow from others. Torch also notes what holds for the example only, as that two sizes are equal
which may be broadcast. So each is tried: it is needed where the graph fails with every other size that is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ....ops.graph.errors import GraphError
from ....ops.graph.graph import BodyCall, Facts, Graph, Guard, Node, Operator, SourceLine, Value
from ....ops.graph.guards import Expression
from ....ops.graph.operators.names import FRESH, VIEW, effect
from ....ops.graph.program import Parameter, Parameters
from ....ops.graph.traverse import leaves, uses
from ....ops.graph.types import TensorType
from ....ops.lowering.patches.silence import Silence
from ....ops.lowering.sizes import dimension
from ...recheck.sizes import pipeline_facts
from .fake_runs import DRAWS, FakeRuns, Place, letters_of, sizes_beside, steps_of
from .sizes_in_loops import show_sizes_of_items, sizes_in_loops
from .symbolic_run import SymbolicRun

MOST_NODES = 2_000
"""Of a graph that is looked at, those of its ops among them."""
MOST_OF_LINE = 64
"""Nodes of one line: of a loop that was recorded round by round, the first rounds tell what the others need, too."""
_OF_TORCH = ("torch.", "aten.", "py.")
_LEAST = 4
"""How many other sizes have to fail."""


def known_facts(
    items: tuple[Parameter, ...], names: Sequence[str], graph: Graph, leaves_of_example: Sequence[Any]
) -> tuple[Parameters, Facts]:
    """The calling convention and the facts of a pipeline, as `pipeline_facts` finds them, with what is needed."""
    show_sizes_of_items(graph)
    in_loops = sizes_in_loops(graph)
    found = pipeline_facts(items, names, graph, in_loops)
    needed = needed_sizes(graph, leaves_of_example)
    return pipeline_facts(items, names, graph, [*in_loops, *needed]) if needed else found


def needed_sizes(graph: Graph, leaves_of_example: Sequence[Any]) -> list[Expression]:
    """What the sizes of inputs have to be, as conditions over the names of `dimension`.

    Args:
        graph: of the pipeline, whose inputs have letters for the sizes that nothing is known of.
        leaves_of_example: the flat inputs.
    """
    sized, letters = _without_data(graph), letters_of(graph, leaves_of_example)
    if not letters or not sized.nodes or steps_of(sized) > MOST_NODES:
        return []
    needs: _Needs | None = None
    # An operator that knows nothing of symbols says nothing of sizes: then the run itself does.
    with suppress(Exception), Silence():
        trial = FakeRuns(sized, leaves_of_example, {"cond": _either})
        if trial.runs({}) and not all(any(map(trial.runs, trial.others(places))) for places in letters):
            run = SymbolicRun(sized, leaves_of_example, _dims(letters, len(graph.inputs)))
            needs = _Needs(trial, run.places, letters)
            for equation in run.equations():
                needs.consider(equation)
    return list(needs.conditions()) if needs else []


def _dims(letters: Sequence[Sequence[Place]], inputs: int) -> list[list[int]]:
    """The dimensions of each input that have letters."""
    return [[dim for places in letters for index, dim in places if index == each] for each in range(inputs)]


def _without_data(graph: Graph, unknown: Collection[int] = ()) -> Graph:
    """The nodes whose sizes follow from those of the inputs alone, without results.

    Args:
        graph: the graph.
        unknown: the ids of inputs of which nothing is known.
    """
    unknown = {id(value) for value in graph.inputs if not isinstance(value.type, TensorType)} | {*unknown}
    kept, lines = list[Node](), Counter[SourceLine | None]()
    for node in graph.nodes:
        used = {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
        lines.update([node.line])
        if node.target == Operator("cond"):
            kept.append(_choice(node, unknown))
            unknown |= {id(leaf) for leaf in leaves(node.output)}
        elif (
            node.varying or not _tells_sizes(node) or used & unknown or (node.line and lines[node.line] > MOST_OF_LINE)
        ):
            if isinstance(node.target, BodyCall) and not used & unknown:
                kept.append(_beginning(node, node.target))
            unknown |= {id(leaf) for leaf in leaves(node.output)} | (used if _changes(node) else set())
        else:
            kept.append(node)
    return Graph(graph.inputs, tuple(kept), ())


def _choice(node: Node, unknown: Collection[int]) -> Node:
    """A choice without its condition and its results: it needs what both of its sides need."""
    _, *sides, operands = node.args
    places = [place for place, leaf in enumerate(operands) if id(leaf) in unknown]
    graphs = [_without_data(side, {id(side.inputs[place]) for place in places}) for side in sides]
    known = tuple(None if place in places else leaf for place, leaf in enumerate(operands))
    return Node(node.target, (True, *graphs, known), {}, (), node.line)


def _either(pred: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """A choice without results runs where one of its sides does."""
    try:
        return on_true(*operands)
    except Exception:
        return on_false(*operands)


def _beginning(node: Node, call: BodyCall) -> Node:
    """The call of an op whose results data decides, with the nodes of its body that need none, and without results."""
    body = replace(call.body, graph=_without_data(call.body.graph))
    return Node(BodyCall(body), node.args, node.kwargs, (), node.line)


def _tells_sizes(node: Node) -> bool:
    """Whether a node runs on tensors without data."""
    if isinstance(node.target, Operator):
        return node.target.name.startswith(_OF_TORCH) and node.target.name not in DRAWS
    if isinstance(node.target, Guard):  # which says itself what it needs, with its line
        return False
    return isinstance(node.target, BodyCall) or node.target.kernel.tells_sizes


def _changes(node: Node) -> bool:
    return isinstance(node.target, Operator) and effect(node.target.name) not in (FRESH, VIEW)


class _Needs:
    """What sizes have to be, as far as runs of the graph with other sizes confirm it.

    Args:
        trial: runs the graph.
        places: torch's symbol -> the input and the dimension whose size it is.
        letters: the places that are known to be equal.

    Attributes:
        sizes: the symbols that are a number, or follow from others, which are free.
    """

    def __init__(self, trial: FakeRuns, places: Mapping[Any, Place], letters: Sequence[Sequence[Place]]) -> None:
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
        for sizes in filter(None, map(self._completed, self._others(difference))):
            if difference.subs(sizes) != 0:
                if self.trial.runs({self.places[each]: size for each, size in sizes.items()}):
                    return False
                tried += 1
        return tried >= _LEAST

    def _others(self, difference: Any) -> Iterator[dict[Any, int]]:
        """Other sizes: of one dimension, and of one that takes all of another, which `view` asks for."""
        for symbol in sorted(difference.free_symbols, key=self.places.__getitem__):
            yield from ({symbol: other} for other in sizes_beside(self.now[symbol]))
            for beside in self.now:
                if beside != symbol and beside not in self.sizes:
                    yield {symbol: self.now[symbol] * self.now[beside], beside: 1}

    def _completed(self, others: Mapping[Any, int]) -> dict[Any, int] | None:
        """All sizes where some are others; None where one that follows from them is none."""
        sizes = self.now | dict(others)
        sizes |= {each: size.subs(sizes) for each, size in self.sizes.items()}
        return {each: int(size) for each, size in sizes.items()} if all(n >= 0 for n in sizes.values()) else None

    def conditions(self) -> Iterator[Expression]:
        """What was found, over the names of `dimension`."""
        names = {str(symbol): dimension(*place) for symbol, place in self.places.items()}
        for symbol, size in self.sizes.items():
            with suppress(GraphError):  # a function of torch that is not in the grammar of guards
                yield Expression.parse(f"{symbol} == {size}").renamed(names)
