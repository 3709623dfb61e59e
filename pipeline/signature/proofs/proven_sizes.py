"""Sizes of results that follow from those of inputs: torch works them out on tensors without data.

A second recording shows which sizes change with the first one of an input. What the others are is seen here: the graph
runs once on tensors whose free sizes are symbols. A size of a result that comes out as a symbol is that letter, unless
torch asked something of the symbol on the way, such as whether it is below 100: then it holds for some sizes only. Of a
choice both sides run, and of a loop as many rounds as it takes until no size changes (`shared_sides`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from ....ops.graph.cuts import cut_size, is_cut
from ....ops.graph.graph import Graph, KernelCall, Operator, Value
from ....ops.graph.program import Parameters
from ....ops.graph.traverse import leaves, walk
from ....ops.graph.types import TensorType
from ....ops.lowering.patches.silence import Silence
from ...recheck.sizes import forget_contradicted, forget_cut_numbers, results
from .counted_rows import prove_rows
from .fake_runs import DRAWS, FakeRuns, letters_of
from .past_arrays import past_arrays, tensors_behind
from .staying_numbers import numbers_that_stay
from .symbolic_run import SymbolicRun
from .unknown_numbers import needed_for, without_numbers

MOST_NODES, MOST_RESULTS = 5_000, 8
_OF_TORCH = ("torch.", "aten.", "py.", "cond", "while_loop", "map")


def prove_sizes(graph: Graph, parameters: Parameters, leaves_of_example: Sequence[Any]) -> None:
    """Shows sizes of results that are those of inputs, or fixed, where they were unknown, and hides wrong ones.

    Args:
        graph: of the pipeline; the types of its results are changed.
        parameters: how it is called.
        leaves_of_example: the flat inputs.
    """
    graph = past_arrays(graph)
    deny_sizes(graph, parameters, leaves_of_example)
    prove_rows(graph)
    _prove_unknown(graph, leaves_of_example)
    _deny_cut(graph, leaves_of_example)


def _prove_unknown(graph: Graph, leaves_of_example: Sequence[Any]) -> None:
    unknown = [value for value in _results(graph) if _lacks(value)]
    cut = [found[1] for node in graph.nodes if is_cut(node) and (found := cut_size(node)) and _lacks(found[1])]
    free = any(isinstance(v.type, TensorType) and any(isinstance(s, str) for s in v.type.shape) for v in graph.inputs)
    if not ((unknown or cut) and free):
        return
    for value in cut[:MOST_RESULTS]:  # of a size that stays, the number of pieces does
        _prove(needed_for(value, graph), leaves_of_example)
    _prove(graph, leaves_of_example)
    for value in list(filter(_lacks, unknown))[:MOST_RESULTS]:  # what others need of the data, it may not need
        _prove(needed_for(value, graph), leaves_of_example)


def deny_sizes(graph: Graph, parameters: Parameters, leaves_of_example: Sequence[Any]) -> None:
    """Hides letters in the types of results that a run without data contradicts, in which one of them is another size.

    The second recording has one row more: a size that grew with it, as that of ``a.reshape(-1, b.shape[1])`` does, need
    not be the number of rows.
    """
    named = list(filter(_has_letter, _results(graph)))
    for value in named[:MOST_RESULTS]:
        part = needed_for(value, graph)
        if not _runs_without_data(part):
            continue
        with suppress(Exception), Silence():
            fake = FakeRuns(part, leaves_of_example)
            others = [sizes for places in letters_of(part, leaves_of_example) for sizes in fake.others(places)]
            others = [sizes for sizes in others if min(sizes.values()) > 1]  # one is broadcast
            forget_contradicted(part, parameters, list(filter(None, map(fake.run, others))))


def _deny_cut(graph: Graph, leaves_of_example: Sequence[Any]) -> None:
    """Hides numbers that a size of one or none contradicts, which a run on symbols takes for special."""
    numbered = list(filter(_has_number, _results(graph)))
    for value in numbered[:MOST_RESULTS]:
        part = needed_for(value, graph)
        if not _runs_without_data(part):
            continue
        with suppress(Exception), Silence():
            fake = FakeRuns(part, leaves_of_example)
            few = [dict.fromkeys(places, size) for places in letters_of(part, leaves_of_example) for size in (1, 0)]
            forget_cut_numbers(part, list(filter(None, map(fake.run, few))))


def _prove(graph: Graph, leaves_of_example: Sequence[Any]) -> None:
    """Shows sizes of the results, if the graph runs without data."""
    if not _runs_without_data(graph):
        return
    # Where it needs data, or an operator knows nothing of symbols, sizes stay unknown.
    with suppress(Exception), Silence():
        rewritten = without_numbers(graph)
        if rewritten is None:
            return
        run = SymbolicRun(rewritten, leaves_of_example, [_free(value) for value in graph.inputs])
        sizes = _NamedSizes(run, graph, leaves_of_example)
        numbers = [] if sizes.exact else numbers_that_stay(run, graph, leaves_of_example)
        for place, (value, found) in enumerate(results(graph.output, run.result)):
            kind = value.type
            if isinstance(kind, TensorType) and isinstance(found, torch.Tensor) and found.dim() == len(kind.shape):
                stay = numbers[place] if place < len(numbers) else ()
                named = (n if dim in stay else sizes.named(n) for dim, n in enumerate(found.shape))
                pairs = zip(kind.shape, named, strict=True)
                value.type = TensorType(kind.dtype, tuple(n if s == "?" else s for s, n in pairs))


def _results(graph: Graph) -> list[Value]:
    """The results, and the tensors of which some are arrays."""
    return [*(leaf for leaf in leaves(graph.output) if isinstance(leaf, Value)), *tensors_behind(graph)]


def _free(value: Value) -> list[int]:
    """The dimensions of an input whose size is a letter."""
    shape = value.type.shape if isinstance(value.type, TensorType) else ()
    return [dim for dim, size in enumerate(shape) if isinstance(size, str)]


def _has_letter(value: Value) -> bool:
    return isinstance(value.type, TensorType) and any(isinstance(s, str) and s != "?" for s in value.type.shape)


def _has_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and any(type(size) is int for size in value.type.shape)


def _lacks(value: Value) -> bool:
    return isinstance(value.type, TensorType) and "?" in value.type.shape


def _runs_without_data(graph: Graph) -> bool:
    """Whether all nodes are of torch or Python, or kernels that tell sizes, and draw no random numbers."""
    nodes = list(walk(graph))
    return len(nodes) <= MOST_NODES and all(
        node.target.name.startswith(_OF_TORCH) and node.target.name not in DRAWS
        if isinstance(node.target, Operator)
        else not isinstance(node.target, KernelCall) or node.target.kernel.tells_sizes
        for node in nodes
    )


class _NamedSizes:
    """The names of sizes in a run without data: the letters of free sizes of inputs.

    Attributes:
        asked: the symbols of which torch asked something.
        exact: whether nothing was asked, and no number among the inputs decides a size.
    """

    def __init__(self, run: SymbolicRun, graph: Graph, leaves_of_example: Sequence[Any]) -> None:
        kinds = [value.type for value in graph.inputs]
        self.letters = {
            symbol: kind.shape[dim]
            for symbol, (index, dim) in run.places.items()
            if isinstance(kind := kinds[index], TensorType)
        }
        questions = run.questions()
        self.asked = {symbol for question in questions for symbol in self._asked_by(question)}
        self.exact = not questions and all(isinstance(leaf, torch.Tensor) for leaf in leaves_of_example)

    def _asked_by(self, question: Any) -> set[Any]:
        """The symbols in a question: none where sizes of one letter are equal, which the pipeline checks."""
        symbols: set[Any] = question.free_symbols
        names = {self.letters.get(symbol) for symbol in symbols}
        return set() if question.func.__name__ == "Equality" and len(symbols) == 2 and len(names) == 1 else symbols

    def named(self, size: Any) -> Any:
        """The letter or the number that a size of the result is, or ``"?"``."""
        if isinstance(size, torch.SymInt):
            factor, symbol = size.node.expr.as_coeff_Mul()
            letter = None if symbol in self.asked else self.letters.get(symbol)
            known = letter is not None and factor.is_Integer and factor > 0
            return "?" if not known else letter if factor == 1 else f"{factor}*{letter}"
        return int(size) if self.exact else "?"
