"""An entry that another name has is changed for both, or the function is refused; one of its own stays recorded."""

from __future__ import annotations

import numpy as np
import pytest
from torch._dynamo.eval_frame import set_eval_frame

import tracepack
from tests.everyday.case import loaded
from tests.everyday.entries.entry_aliases import OWN, SHARED
from tests.everyday.entries.given_containers import GIVEN, OF_ONE_NAME
from tests.everyday.entries.known_sides import KNOWN
from tests.everyday.entries.late_iterators import LATE
from tracepack.pipeline.recording.leaves.known_results import is_known_elsewhere

RARE = 4242  # which no trial meets: the functions compare seven times a number


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", [*SHARED, *LATE, *KNOWN, *GIVEN])
def test_a_rare_change_is_seen_under_every_name(process) -> None:
    held(process)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", [*SHARED, *LATE, *KNOWN, *GIVEN])
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


@pytest.mark.parametrize("process", [*OWN, *OF_ONE_NAME])
def test_what_has_one_name_is_recorded_for_any_length(process, no_blocks) -> None:
    example = {**OWN, **OF_ONE_NAME}[process]
    mod = loaded(process, example)
    for items in (example * 2, example[:1], example[::-1]):
        assert mod(items) == process(items)


@pytest.mark.parametrize("hooked", [False, True], ids=["plain", "while torch's compiler looks at calls"])
def test_what_a_side_makes_itself_is_known_nowhere_else(hooked) -> None:
    kept = [1]

    def asked(make):
        container = make()
        return is_known_elsewhere(container)

    def all_asked() -> tuple[list[bool], list[bool]]:
        own = [lambda: [1], lambda: ([1], {"a": [2]}), lambda: np.ones(2)]
        known = [lambda: kept, lambda: (kept,), lambda: {"a": kept}, lambda: np.ones(2)[:1]]
        return list(map(asked, own)), list(map(asked, known))

    before = set_eval_frame(False if hooked else None)  # its hook on frames keeps what calls pass for longer
    try:
        found = all_asked()
    finally:
        set_eval_frame(before)
    assert found == ([False] * 3, [True] * 4)
