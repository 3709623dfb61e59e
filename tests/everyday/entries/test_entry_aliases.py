"""An entry that another name has is changed for both, or the function is refused; one of its own stays recorded."""

from __future__ import annotations

import numpy as np
import pytest

import tracepack
from tests.everyday.case import loaded
from tests.everyday.entries.entry_aliases import OWN, SHARED
from tests.everyday.entries.known_sides import KNOWN
from tests.everyday.entries.late_iterators import LATE
from tracepack.pipeline.recording.leaves.known_results import is_known_elsewhere

RARE = 4242  # which no trial meets: the functions compare seven times a number


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", [*SHARED, *LATE, *KNOWN])
def test_a_rare_change_is_seen_under_every_name(process) -> None:
    held(process)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", [*SHARED, *LATE, *KNOWN])
def test_a_rare_change_is_seen_where_no_block_can_stand(process, no_blocks) -> None:
    held(process)


def held(process) -> None:
    """Checks a function on data that take its rare branch; a refusal at trace or at run is right, too."""
    try:
        mod = loaded(process, [1, 2, 0])
    except tracepack.RecordError:
        return
    assert mod([1, 2, 0]) == process([1, 2, 0])
    for flags in ([RARE, 1, RARE], [1, RARE, 2], [RARE]):
        try:
            found = mod(flags)
        except tracepack.TracepackError:
            continue
        assert found == process(flags)


@pytest.mark.parametrize("process", OWN)
def test_what_has_one_name_is_recorded_for_any_length(process, no_blocks) -> None:
    mod = loaded(process, OWN[process])
    for items in (OWN[process] * 2, OWN[process][:1], OWN[process][::-1]):
        assert mod(items) == process(items)


def test_what_a_side_makes_itself_is_known_nowhere_else() -> None:
    kept = [1]

    def asked(container):
        return is_known_elsewhere(container)

    assert [asked([1]), asked(([1], {"a": [2]})), asked(np.ones(2))] == [False] * 3
    assert [asked(kept), asked((kept,)), asked({"a": kept}), asked(np.ones(2)[:1])] == [True] * 4
