"""A loop around a model that is no op: where its number of rounds is fixed, trace shows the form with an op."""

from __future__ import annotations

import operator
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import loaded

MODEL = torch.nn.Linear(3, 3)
OP = tracepack.script(MODEL)
FORM = "Make an op of the model before, model = tracepack.script.model.: a loop around it takes any number of rounds"


def _fixed(x, n):
    for _ in range(operator.index(n)):
        x = MODEL(x)
    return x


def _without_a_model(x, n):
    for _ in range(operator.index(n)):
        x = x * 2
    return x


def _free(x, n):
    for _ in range(n):
        x = OP(x)
    return x


def test_a_fixed_number_of_rounds_of_a_model_shows_the_form_with_an_op() -> None:
    with pytest.warns(UserWarning, match=f"is fixed to 3, because it was used as a plain integer. {FORM}"):
        tracepack.trace(_fixed, torch.rand(2, 3), 3)
    pipeline, x = loaded(_free, torch.rand(2, 3), 3), torch.rand(4, 3)
    for n in (0, 1, 5):
        assert torch.equal(pipeline(x, n), _free(x, n))


def test_the_form_is_shown_for_models_alone() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tracepack.trace(_without_a_model, torch.rand(2, 3), 3)
    assert [each for each in told if "tracepack.script" in str(each.message)] == []
