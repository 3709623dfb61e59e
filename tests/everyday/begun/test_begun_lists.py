"""Lists with which loops and branches begin: the file answers as the function, at other lengths and values."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.begun import after_choices, empty_lists, selections
from tests.everyday.case import Case, check


def rows(count: int, seed: int = 0) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(count, 4, generator=torch.Generator().manual_seed(seed)), dim=-1)


def tags(text: str) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(["OBI".index(letter) for letter in text]), 3).float()


_BY_LIMIT = ((rows(6), 0.5), [(rows(9, 1), 0.2), (rows(3, 2), -0.5), (rows(1, 3), 0.5)])
_BY_QUERY = ((rows(6), rows(1, 5)[0], 3), [(rows(9, 1), rows(1, 6)[0], 5), (rows(3, 2), rows(1, 7)[0], 2)])
_NUMBERS = (([3, 1, 2, 5],), [([5, 4, 4, 1, 7],), ([2],)])
_OF_DATA = ((torch.tensor([0.5, 0.2, 0.95]),), [(torch.tensor([0.1, -2.0, 0.3]),), (torch.rand(4) - 3,)])

CASES = {
    **{
        function: Case(function, *_BY_LIMIT)
        for function in (selections.unlike_rows, selections.unlike_rows_of_items, selections.skipping)
    },
    **{
        function: Case(function, *_BY_QUERY)
        for function in (
            selections.marginal,
            selections.marginal_of_tensors,
            selections.marginal_in_loops,
            selections.popping,
        )
    },
    **{
        function: Case(function, *_NUMBERS)
        for function in (
            selections.farthest,
            selections.far_from_kept,
            empty_lists.runs,
            empty_lists.highest_first,
        )
    },
    empty_lists.of_two_kinds: Case(empty_lists.of_two_kinds, ([4, 3, 2],), [([2],), ([5, 4, 4, 1],), ([],)]),
    empty_lists.paragraphs: Case(
        empty_lists.paragraphs,
        (["a", "b", "", "c", "", "d"],),
        [(["", "x", "", "", ""],), (["q"],), ([],)],
    ),
    empty_lists.wrapped: Case(
        empty_lists.wrapped, ("the quick brown fox jumps over", 10), [("a b c d e f", 5), ("hello", 3)]
    ),
    empty_lists.batches: Case(empty_lists.batches, (["a", "b", "c"], 2), [(["x", "y", "z"], 3), (["q"], 1)]),
    empty_lists.tallied: Case(empty_lists.tallied, (["a", "b", "a", "c"],), [(["x"],), ([],), (["b", "b"],)]),
    empty_lists.smoothed: Case(
        empty_lists.smoothed, (torch.rand(6, 3) + 0.3,), [(torch.rand(3, 3),), (torch.rand(9, 3),)]
    ),
    empty_lists.entities: Case(
        empty_lists.entities,
        (tags("OBIIOBB"), list("abcdefg")),
        [(tags("IOB"), list("xyz")), (tags("BI"), list("pq")), (tags("OO"), list("rs"))],
    ),
    **{
        function: Case(function, *_OF_DATA)
        for function in (
            after_choices.flags,
            after_choices.of_a_choice,
            after_choices.of_both_sides,
            after_choices.features,
            after_choices.returned,
            after_choices.written,
            after_choices.added,
        )
    },
    after_choices.counted: Case(after_choices.counted, (["a", "bb"],), [(["ccc"],), ([],), (["dd", "e", "ff"],)]),
    after_choices.in_rounds: Case(after_choices.in_rounds, (torch.rand(4, 3),), [(torch.rand(5, 3) - 0.5,)]),
    after_choices.repeated: Case(after_choices.repeated, (torch.rand(4), 2), [(torch.rand(5), 3), (torch.rand(2), 1)]),
}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_lists_with_which_code_begins(function) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is fixed
        check(CASES[function])


@pytest.mark.parametrize("function", [after_choices.known_twice, after_choices.added_by_a_method])
def test_a_list_of_a_choice_that_has_another_name_is_not_changed(function) -> None:
    with pytest.raises(tracepack.RecordError, match="a branch on a tensor cannot be recorded"):
        tracepack.trace(function, torch.rand(3))


class Giving:
    """Gives back what it is asked for."""

    def __getitem__(self, places: list[int]) -> list[int]:
        return places


def handed_back(xs):
    table, places, out = Giving(), [], []
    for i, x in enumerate(xs):
        if x > 0.5:
            places.append(i)
        out.append(table[places])
    return out


@pytest.mark.usefixtures("no_blocks")
def test_an_object_may_keep_the_list_that_is_its_index() -> None:
    xs = [0.9, 0.1, 0.8]
    with pytest.warns(UserWarning, match="is an index of Giving, which may keep it. Give it a copy: list"):
        mod = tracepack.trace(handed_back, xs)
    assert mod(xs) == handed_back(xs) == [[0, 2], [0, 2], [0, 2]]
