"""Cases: the inputs on which an engine must answer as the flat function does, with the answers of that.

They are the user's examples, and others beside them: of other sizes, other layouts in memory and other data. What the
pipeline refuses is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ops.graph.program import Program
from ..comparing.golden import stored
from ..recheck.vary import beside, clones
from ..running.rebuild import rebuild
from ..running.runner import Runner

MOST_BESIDE = 16  # of one example
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
    for leaves in _in_turn([list(_others(leaves)) for leaves in given]):
        if time.perf_counter() > until:
            break
        try:
            found.append(_case(program, runner, leaves, False))
        except Exception:  # the pipeline refuses such inputs, as does the function that was traced
            continue
    return found


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
