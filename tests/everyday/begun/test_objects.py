"""Objects that functions make: their own truths, lengths and texts, and the best of them."""

from __future__ import annotations

import re
import warnings

import pytest
import torch

import tracepack
from tests.everyday.begun import objects
from tests.everyday.case import Case, check, loaded

_ROWS = (
    (torch.tensor([[0.1, 0.95, 0.3], [0.2, 0.1, 0.4], [0.9, 0.1, 0.2]]),),
    [(torch.tensor([[0.1, 0.2, 0.3]]),), (torch.rand(9, 3),), (torch.tensor([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1]]),)],
)
_OF_ROWS = (
    objects.texts, objects.lengths, objects.branches, objects.asked_by_name, objects.best_of_objects,
    objects.best_as_truth, objects.best_of_named_tuples, objects.best_of_dicts, objects.best_of_tuples,
    objects.first_of_all, objects.best_by_cond, objects.first_or_none, objects.dict_as_truth,
)  # fmt: skip


@pytest.mark.parametrize("function", _OF_ROWS, ids=lambda function: function.__name__)
def test_objects_answer_for_themselves(function) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is fixed
        check(Case(function, *_ROWS))


def test_an_object_without_a_text_of_its_own_has_that_of_its_form() -> None:
    check(Case(objects.spans, ([1, 5, 3],), [([2, 9],), ([4],)]))


def test_a_length_below_zero_is_an_error_as_in_python() -> None:
    mod = loaded(objects.backwards, 2, 5)
    assert mod(1, 7) == 6
    with pytest.raises(tracepack.GuardError, match="a length is below 0"):
        mod(7, 1)


def test_what_may_be_none_is_asked_before_it_is_used() -> None:
    mod = loaded(objects.named_without_asking, *_ROWS[0])
    assert mod(*_ROWS[0]) == objects.named_without_asking(*_ROWS[0])
    with pytest.raises(tracepack.GuardError, match="a value is None"):
        mod(torch.tensor([[0.1, 0.2, 0.3]]))


@pytest.mark.usefixtures("no_blocks")
def test_a_refusal_shows_a_form_that_is_recorded() -> None:
    form = "Write item.__bool__() for item, as in `if item.__bool__():`"
    with pytest.raises(tracepack.RecordError, match=re.escape(form)):
        tracepack.trace(objects.asked_in_rounds, *_ROWS[0])
