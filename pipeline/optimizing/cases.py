"""Cases: the inputs on which an engine must answer as the flat function does, with the answers of that.

They are the user's examples, and others beside them: of other sizes, other layouts in memory and other data. What the
pipeline refuses is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch

from ...ops.graph.program import Program
from ...ops.graph.types import TensorType
from ..comparing.golden import stored
from ..recheck.vary import beside, clones, with_sizes
from ..running.rebuild import rebuild
from ..running.runner import Runner

MOST_BESIDE = 16  # of one example
MOST_LETTERS = 6
SHARE_OF_CASES = 0.1  # of the time of a search


@dataclass(frozen=True)
class Case:
    """Inputs with the outputs of the flat function.

    Attributes:
        leaves: the flat inputs.
        expected: the result, as an archive holds it.
        given: whether a user gave them.
    """

    leaves: Sequence[Any]
    expected: Any
    given: bool

    def feed(self, program: Program) -> dict[str, Any]:
        """A feed of its own, which a run may write into."""
        flat = clones(self.leaves)
        return {item.name: rebuild(item.tree, flat) for item in program.parameters.items}


def cases(program: Program, runner: Runner, examples: Sequence[Mapping[str, Any]], seconds: float) -> list[Case]:
    """The examples, then those beside them for which time is left.

    Args:
        program: the pipeline's.
        runner: runs the flat function, from its initial state.
        examples: feeds.
        seconds: the time for those beside them.

    Raises:
        SignatureError, GuardError, NodeError: an example does not fit the pipeline.
    """
    given = [clones(runner.binding.flatten(feed)) for feed in examples]
    found = [_case(program, runner, leaves, True) for leaves in given]
    until = time.perf_counter() + seconds
    for leaves in _in_turn([[*_of_other_sizes(program, leaves), *_others(leaves)] for leaves in given]):
        if time.perf_counter() > until:
            break
        try:
            found.append(_case(program, runner, leaves, False))
        except Exception:  # the pipeline refuses such inputs, as does the function that was traced
            continue
    return found


def _of_other_sizes(program: Program, leaves: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The example with other sizes where the signature has letters: of all, of one, of two that have the same size."""
    places: dict[str, list[tuple[int, int]]] = {}
    for index, (value, leaf) in enumerate(zip(program.graph.inputs, leaves, strict=True)):
        if isinstance(value.type, TensorType) and isinstance(leaf, torch.Tensor) and leaf.numel():
            for dim, size in enumerate(value.type.shape):
                if isinstance(size, str) and size.isidentifier():
                    places.setdefault(size, []).append((index, dim))
    old = {letter: leaves[index].shape[dim] for letter, ((index, dim), *_) in places.items()}
    letters = list(old)[:MOST_LETTERS]
    pairs = [pair for pair in combinations(letters, 2) if old[pair[0]] == old[pair[1]]]
    for chosen in dict.fromkeys((tuple(letters), *((letter,) for letter in letters), *pairs)):
        more = {size: 2 + number for number, size in enumerate(dict.fromkeys(old[letter] for letter in chosen))}
        sizes: dict[int, dict[int, int]] = {}
        for letter in chosen:
            for index, dim in places[letter]:
                sizes.setdefault(index, {})[dim] = leaves[index].shape[dim] + more[old[letter]]
        if sizes:
            yield [with_sizes(leaf, sizes[index]) if index in sizes else leaf for index, leaf in enumerate(leaves)]


def _others(leaves: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for number, other in enumerate(beside(leaves)):
        if number < MOST_BESIDE:
            yield other


def _in_turn(groups: Sequence[Sequence[Any]]) -> Iterable[Any]:
    """The items of groups, the first of each first."""
    longest = max(map(len, groups), default=0)
    return [group[index] for index in range(longest) for group in groups if index < len(group)]


def _case(program: Program, runner: Runner, leaves: Sequence[Any], given: bool) -> Case:
    case = Case(leaves, None, given)
    if runner.stateful:
        runner.state().reset()
    return Case(leaves, stored(runner.run(case.feed(program))), given)
