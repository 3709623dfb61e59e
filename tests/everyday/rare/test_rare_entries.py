"""An entry with two places is changed in both, or the function is refused or stopped; one of its own stays recorded."""

from __future__ import annotations

import pytest

from tests.everyday.case import loaded
from tests.everyday.rare.holding import held, same
from tests.everyday.rare.rare_entries import OWN_ENTRIES, RARE_ENTRIES

LEADING = ([400, 5, 6], [7, 400, 2], [400], [2, 400], [1, 2], [3, 1, 2])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE_ENTRIES)
def test_a_change_is_seen_in_both_places(process) -> None:
    held(process, [[1, 2, 3]], [[items] for items in LEADING])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", RARE_ENTRIES)
def test_a_change_is_seen_where_no_block_can_stand(process, no_blocks) -> None:
    held(process, [[1, 2, 3]], [[items] for items in LEADING])


@pytest.mark.parametrize("process", OWN_ENTRIES)
def test_entries_of_their_own_are_recorded_for_any_length(process, no_blocks) -> None:
    mod = loaded(process, [1, 2, 3])
    for items in ([5, 6], [0, 2, 1, 9], [1]):
        assert same(mod(items), process(items)), items
