"""`log_prob` of `torch.distributions` for one row and for many: a check of sizes branches on none of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributions as D

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded


@pytest.fixture(autouse=True)
def _checking(monkeypatch):
    """As it is before `torch.compile`, which switches the checks of all distributions off for good."""
    monkeypatch.setattr(D.Distribution, "_validate_args", True)


def _normal(x, y):
    return D.Normal(x, y).log_prob(x + 1)


def _fixed_scale(x, y):
    return D.Normal(x, 1.0).log_prob(y), D.Normal(0.0, 1.0).cdf(x)


def _centred(x, y):
    return D.Normal(x.mean(-1, keepdim=True), y).log_prob(y)


def _categorical(x, y):
    return D.Categorical(logits=x).log_prob(y.argmax(-1))


def _bernoulli(x, y):
    return D.Bernoulli(x).log_prob((y > 0.5).float())


def _beta(x, y):
    return D.Beta(x + 1, y + 1).log_prob(x * 0.5 + 0.25)


def _rows(x, y):
    return D.Independent(D.Normal(x, y), 1).log_prob(x)


def _simplex(x, y):
    return D.Dirichlet(x + 1).log_prob(y.softmax(-1))


FUNCTIONS = [_normal, _fixed_scale, _centred, _categorical, _bernoulli, _beta, _rows, _simplex]


def _inputs(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, 4, generator=generator), torch.rand(rows, 4, generator=generator) + 0.1


@pytest.mark.parametrize("process", FUNCTIONS)
def test_any_number_of_rows_answers(process: Callable[..., torch.Tensor]) -> None:
    pipeline = loaded(process, *_inputs(3, 0))
    assert "!= 1" not in pipeline.signature
    for rows in (1, 2, 3, 7):
        given = _inputs(rows, rows)
        assert difference(process(*given), pipeline(*given)) == ""


def test_sizes_that_do_not_fit_are_refused_as_torch_does() -> None:
    def process(x, y):
        return D.Normal(x, 1.0).log_prob(y)

    pipeline = loaded(process, torch.rand(3), torch.rand(3))
    for sizes in ((1, 1), (1, 4), (4, 1), (5, 5)):
        given = [torch.rand(size) for size in sizes]
        assert difference(process(*given), pipeline(*given)) == ""
    with pytest.raises(ValueError, match="not broadcastable"):
        process(torch.rand(3), torch.rand(2))
    with pytest.raises((tracepack.TracepackError, RuntimeError), match="must match"):
        pipeline(torch.rand(3), torch.rand(2))


def test_a_value_outside_of_what_is_taken_is_refused_for_one_row_too() -> None:
    pipeline = loaded(lambda x: D.Exponential(torch.ones(())).log_prob(x), torch.rand(3))
    with pytest.raises(tracepack.GuardError, match="a value lies outside of what the distribution takes"):
        pipeline(torch.tensor([-1.0]))
