"""Cases: the inputs on which an engine must answer as the flat function does, with the answers of that.

They are the user's examples, and others beside them: of other sizes, other layouts in memory and other data, and at the
corners of the sizes around them. What the pipeline refuses is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...ops.graph.program import Program
from ..comparing.golden import stored
from ..recheck.vary import beside, clones, with_sizes
from ..running.rebuild import rebuild
from ..running.runner import Runner
from .size_corners import letters, try_corners

MOST_BESIDE = 16  # of one example
MOST_LETTERS = 6
SHARE_OF_CASES = 0.05  # of the time of a search, and as much for the corners


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
        _try(program, runner, leaves, until, found)
    return found


def corners(program: Program, runner: Runner, given: Sequence[Case], seconds: float) -> list[Case]:
    """Cases at the corners of the sizes around examples, as far as time reaches.

    An engine that does not answer at one of them leaves it to the flat function, as it would in a pipeline.
    """
    found: list[Case] = []
    until = time.perf_counter() + seconds
    for case in given:
        try_corners(program, case.leaves, lambda leaves: _try(program, runner, leaves, until, found))
    return found


def _try(program: Program, runner: Runner, leaves: Sequence[Any], until: float, found: list[Case]) -> bool:
    """Adds a case; false where the pipeline refuses such inputs, as the traced function does, or time is up."""
    if time.perf_counter() > until:
        return False
    try:
        found.append(_case(program, runner, leaves, False))
    except Exception:
        return False
    return True


def _of_other_sizes(program: Program, leaves: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The example with other sizes where the signature has letters: of all, of one, of two that have the same size."""
    places = letters(program, leaves)
    old = {letter: leaves[index].shape[dim] for letter, ((index, dim), *_) in places.items()}
    names = list(old)[:MOST_LETTERS]
    pairs = [pair for pair in combinations(names, 2) if old[pair[0]] == old[pair[1]]]
    for chosen in dict.fromkeys((tuple(names), *((name,) for name in names), *pairs)):
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
