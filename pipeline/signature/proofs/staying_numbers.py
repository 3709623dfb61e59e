"""Sizes of results that are a number for all sizes of the inputs, though torch asked something of these.

A convolution asks whether an image is as large as its kernel, and its channels are those of the weight anyway; a slice
asks whether there are 100 columns, and then has 100 of them. So the graph runs, without data, where the answers to what
was asked turn: a number that no such run changes stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ....ops.graph.graph import Graph
from ...recheck.sizes import results
from .fake_runs import FakeRuns, letters_of
from .symbolic_run import SymbolicRun

MOST_QUESTIONS, LARGEST, SCANNED = 40, 1 << 20, 40


def numbers_that_stay(run: SymbolicRun, graph: Graph, leaves_of_example: Sequence[Any]) -> list[set[int]]:
    """For each result the dimensions whose size is a number that stays.

    Args:
        run: in which torch asked what it asks of sizes.
        graph: that ran.
        leaves_of_example: the flat inputs; where one is a number, it may decide any size.
    """
    questions = run.questions()
    if len(questions) > MOST_QUESTIONS or not all(isinstance(leaf, torch.Tensor) for leaf in leaves_of_example):
        return []
    found = [_numbers(result) for _, result in results(graph.output, run.result)]
    if not any(found):
        return []
    fake = FakeRuns(graph, leaves_of_example)
    turns = [turn for question in questions for turn in _turns(question, run, fake)]
    if None in turns:
        return []
    letters = letters_of(graph, leaves_of_example)
    alone = [sizes for places in letters for sizes in fake.others(places)]
    together = [{place: fake.size(place) * more for places in letters for place in places} for more in (2, 3)]
    moved = set[tuple[int, int]]()
    for sizes in [*filter(None, turns), *alone, *together]:
        made = fake.run(sizes)
        if fake.left < 0:
            return []
        if made is not None:
            moved.update(place for place, size in sizes.items() if size != fake.size(place))
            for dims, (_, result) in zip(found, results(graph.output, made[1]), strict=True):
                for dim in [dim for dim, size in dims.items() if _size(result, dim) != size]:
                    del dims[dim]
    # A size that no run could change, as one that is twice another one, says nothing of what it decides.
    return [set(dims) for dims in found] if moved.issuperset(place for places in letters for place in places) else []


def _numbers(result: Any) -> dict[int, int]:
    """The dimensions of a result whose size came out as a plain number."""
    shape = result.shape if isinstance(result, torch.Tensor) else ()
    return {dim: int(size) for dim, size in enumerate(shape) if not isinstance(size, torch.SymInt)}


def _size(result: Any, dim: int) -> int | None:
    return int(result.shape[dim]) if isinstance(result, torch.Tensor) and dim < result.dim() else None


def _turns(question: Any, run: SymbolicRun, fake: FakeRuns) -> Iterator[dict[tuple[int, int], int] | None]:
    """Sizes on both sides of where the answer to a question turns; None where that is not known.

    Each size that is asked for is moved by itself: the others are as in the example.
    """
    sides: Any = getattr(question, "args", ())
    if len(sides) != 2 or not all(symbol in run.places for symbol in question.free_symbols):
        yield None
        return
    difference = sides[0] - sides[1]
    for symbol in question.free_symbols:
        place = run.places[symbol]
        others = {each: fake.size(run.places[each]) for each in question.free_symbols if each != symbol}
        line = difference.subs(others)
        slope = line.diff(symbol)
        if not slope.is_number:
            if not _is_piecewise(line):
                yield None
                return
            yield from ({place: size} for size in _scanned(line, symbol))
            continue
        turn = 0 if slope == 0 else -line.subs(symbol, 0) / slope
        if not -1 <= turn <= LARGEST:
            continue  # no size is there
        for size in range(max(int(turn) - 1, 0), int(turn) + 3):
            yield {place: size}


def _is_piecewise(line: Any) -> bool:
    """Whether an expression has sums, products, and the largest and least of some, and nothing else."""
    import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types

    parts = sympy.preorder_traversal(line)  # torch has a Max and a Min of its own
    return all(
        each.is_Symbol or each.is_Integer or each.func.__name__ in ("Add", "Mul", "Max", "Min") for each in parts
    )


def _scanned(line: Any, symbol: Any) -> Iterator[int]:
    """The sizes beside which the sign of an expression turns, among small ones and those about its numbers."""
    import sympy

    beside = {int(number) + more for number in line.atoms(sympy.Integer) for more in range(-2, 3)}
    sizes = sorted({*range(SCANNED), *(size for each in beside if 0 <= (size := abs(each)) <= LARGEST)})
    signs = [sympy.sign(line.subs(symbol, size)) for size in sizes]
    for place in range(1, len(sizes)):
        if signs[place] != signs[place - 1]:
            yield from sizes[place - 1 : place + 1]
