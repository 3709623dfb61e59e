"""Helpers that give None or a record: both ways, for lists of any length, as the tuples that an archive holds."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.outcomes import span_records as f

LISTS = [([3, -1, 4],), ([5, 2],), ([-1, -2],), ([],), ([1, 2, 3, -4, 5],)]
NUMBERS = [(3,), (-1,), (0,), (7,)]
ROWS = [(torch.tensor([1.0, 3.0]),), (torch.tensor([-1.0, -2.0, 1.0]),), (torch.tensor([4.0, -2.0, 1.0]),)]


@pytest.mark.parametrize("example", [0, 1, 2], ids=["both", "there", "missing"])
@pytest.mark.parametrize("make", [f.of_each, f.those_there], ids=lambda each: each.__name__)
@pytest.mark.parametrize("helper", f.HELPERS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("error")
def test_lists_of_spans(helper, make, example) -> None:
    check(Case(make(helper), LISTS[example], LISTS))


@pytest.mark.parametrize("example", [0, 1, 2], ids=["both", "there", "missing"])
@pytest.mark.parametrize("process", [f.appended, f.widths], ids=lambda each: each.__name__)
def test_spans_in_loops(process, example) -> None:
    check(Case(process, LISTS[example], LISTS))


@pytest.mark.parametrize("example", [0, 1], ids=["there", "missing"])
@pytest.mark.parametrize("process", [*f.HELPERS, f.in_text, f.beside], ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("error")
def test_one_span(process, example) -> None:
    check(Case(process, NUMBERS[example], NUMBERS))


@pytest.mark.parametrize("example", [0, 1], ids=["there", "missing"])
@pytest.mark.parametrize("process", [f.of_tensor, f.of_ends], ids=lambda each: each.__name__)
def test_records_of_tensors(process, example) -> None:
    check(Case(process, ROWS[example], ROWS))


def test_a_dataclass_comes_back_as_a_tuple_with_its_fields() -> None:
    found = loaded(f.of_each(f.as_dataclass), [1, -2])([4, -1])
    assert found[0]._fields == ("low", "high")
    assert type(found[0]).__name__ == "Extent"
    assert found[1] is None


def test_parts_that_are_shared_stay_shared() -> None:
    found = loaded(f.nested, -1)(2)
    assert found["first"] is found["all"][0].extent is found["all"][0].tags[0]


def test_an_object_that_holds_itself_is_refused() -> None:
    mod = loaded(f.held_by_itself, -1)
    with pytest.raises(tracepack.GuardError, match="that a block of plain Python gives holds itself, or is nested too"):
        mod(1)
