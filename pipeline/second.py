"""The second recording of a function, on other data at other sizes, which has to be the same program as the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..ops.graph.errors import GraphError, RecordError
from ..ops.graph.graph import Graph
from ..ops.runtime.primitives.control_flow import LimitedRounds
from ..ops.runtime.safety.card_indices import tried_on_cpu
from .examples import Examples
from .recheck.diff import difference
from .recheck.mismatch import DIFFERS, NO_INPUT
from .recheck.prune import deciding
from .recheck.reach.later import Moves
from .recheck.vary import shifted, varied
from .recording.random import settle
from .recording.recorder import Recorder
from .rules.loadable import refuse_other_addresses

MOST_ROUNDS = 200
"""Of a loop on other data, on which it may never end."""


@dataclass
class Recording:
    """The result of one recording: its graph, and the whole with unused nodes, to compare with another recording."""

    graph: Graph
    whole: Graph
    recorder: Recorder


def second_recording(record: Callable[..., Recording], examples: Examples, first: Recording) -> Graph | None:
    """Records again on varied examples and compares; returns the other graph, which shows what sizes changed.

    A function that makes new tensors in each run without torch is recorded a third time, with other integers: the
    first variation keeps integers, because they may be indices.

    Raises:
        RecordError: the two differ, and no guard says why.
    """

    def again(other: Sequence[Any]) -> Recording | None:
        first.recorder.generators.restore(ends=True)
        try:
            with LimitedRounds(MOST_ROUNDS), tried_on_cpu():
                second = record(replace(examples, leaves=other))
        except GraphError:  # the function kept a value of the other recording
            raise
        except Exception:
            if first.recorder.refused is not None:  # the function kept a number or an array of the other recording
                raise first.recorder.refused from None
            return None  # the function does not take such sizes or data; the replays check it on others
        settle(first.recorder.generators, second.recorder.generators)
        return second if _require_same(first, second) else None

    for other in varied(examples.leaves):
        second = again(other)
        if second is not None:
            others = shifted(examples.leaves) if _makes_tensors(first, second) else None
            if others is not None:
                again(others)
            return second.graph
    return None


class Motion(Protocol):
    """What a replay knows of state that calls move."""

    moving: Moves

    def recorded_after(self, more: int, record: Callable[[], Recording]) -> Recording | None:
        """One more recording, after some calls and some more; None where that fails."""
        ...


def refuse_motion(replay: Motion, record: Callable[[], Recording]) -> None:
    """Compares a recording after some calls with one after one call more: what calls move need not show in an answer.

    The first recording may differ from both, since caches were empty then.

    Raises:
        RecordError: the two differ.
    """
    if not replay.moving:
        return
    before, after = (replay.recorded_after(more, record) for more in (0, 1))
    if before is None or after is None:
        return
    found = difference(deciding(before.graph), deciding(after.graph))
    if found is not None:
        raise RecordError(
            f"a recording after another call differs: {found.what}; the function keeps state in "
            f"{replay.moving[0][0].name}",
            where=str(found.line or ""),
            fix=NO_INPUT,
        )


def _makes_tensors(first: Recording, second: Recording) -> bool:
    """Whether the function captured other tensors in the second recording than in the first."""
    pairs = zip(first.recorder.values.captured.values(), second.recorder.values.captured.values(), strict=False)
    return any(a.tensor is not b.tensor for a, b in pairs)


def _require_same(first: Recording, second: Recording) -> bool:
    """Whether two recordings are the same program; False where a guard tells them apart.

    Raises:
        RecordError: they differ, and no guard says why.
    """
    found = difference(first.whole, second.whole)
    if found is not None and not found.guarded:
        refuse_other_addresses(found.what, str(found.line or ""))
        raise RecordError(
            f"{DIFFERS}: {found.what}",
            where=str(found.line or ""),
            fix=NO_INPUT,
        )
    return found is None
