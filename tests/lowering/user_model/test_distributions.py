"""Models with `torch.distributions`: what these check of their data is checked in every run."""

from __future__ import annotations

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


class Model(torch.nn.Module):
    """A model whose last step is a function with a distribution."""

    def __init__(self, last):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.last = torch.nn.Linear(4, 2), last

    def forward(self, x):
        return self.last(self.linear(x))


def normal(h):
    found = D.Normal(h[:, 0], h[:, 1].exp())
    return found.mean + 0, found.stddev, found.log_prob(torch.zeros(1)), found.entropy(), found.cdf(h[:, 0])


def categorical(h):
    found = D.Categorical(logits=h)
    return found.entropy(), found.probs, found.log_prob(torch.zeros(h.shape[0], dtype=torch.int64)), found.mode


def of_probabilities(h):
    return D.Categorical(probs=h.softmax(-1)).entropy(), D.OneHotCategorical(h.softmax(-1)).mode


def bernoulli(h):
    found = D.Bernoulli(logits=h)
    return found.probs, found.entropy(), found.log_prob((h > 0).float())


def positive(h):
    h = h.exp()
    beta, gamma = D.Beta(h[:, 0], h[:, 1]), D.Gamma(h[:, 0], h[:, 1])
    return beta.log_prob(h[:, 0].neg().exp()), gamma.mean, gamma.log_prob(h[:, 0]), D.Dirichlet(h).entropy()


def of_matrices(h):
    return D.MultivariateNormal(h, torch.eye(2) * h.exp().mean()).log_prob(h * 2)


def composed(h):
    tanh = D.TransformedDistribution(D.Normal(h, h.exp()), [D.TanhTransform()])
    mixed = D.MixtureSameFamily(D.Categorical(logits=h), D.Normal(h, h.exp()))
    return D.Independent(D.Normal(h, h.exp()), 1).log_prob(h), tanh.log_prob(h.tanh()), mixed.log_prob(h[:, 0])


def divergence(h):
    return D.kl_divergence(D.Normal(h, h.exp()), D.Normal(torch.zeros(2), torch.ones(2)))


def bounded(h):
    return D.Uniform(h, h + 1).log_prob(h + 0.5), D.Laplace(h, h.exp()).icdf(h.sigmoid())


@pytest.mark.parametrize(
    "last",
    [normal, categorical, of_probabilities, bernoulli, positive, of_matrices, composed, divergence, bounded],
)
def test_a_model_with_a_distribution_is_lowered(last) -> None:
    model = Model(last)
    mod = loaded(tracepack.script(model), torch.rand(3, 4))
    for rows in (2, 3, 7):
        x = torch.randn(rows, 4)
        assert difference(model(x), mod(x)) == ""


def test_what_a_distribution_refuses_a_run_refuses() -> None:
    model = Model(lambda h: D.Poisson(h.exp().floor() + h[:1, :1] * 0).log_prob(h.round()))
    model.linear.weight.data, model.linear.bias.data = torch.eye(2, 4), torch.zeros(2)
    mod = loaded(tracepack.script(model), torch.ones(3, 4))
    x = torch.full((2, 4), 3.0)
    assert torch.equal(mod(x), model(x))
    with pytest.raises(ValueError, match="within the support"):
        model(-x)
    with pytest.raises(tracepack.GuardError, match="a parameter or a value lies outside of what the distribution"):
        mod(-x)
    with pytest.raises(tracepack.GuardError, match="a parameter or a value lies outside of what the distribution"):
        mod(torch.full((2, 4), float("nan")))


def test_matrices_that_are_not_positive_definite_are_refused() -> None:
    class Whole(torch.nn.Module):
        def forward(self, h):
            matrix = torch.eye(2) * h.mean() + torch.tensor([[0.0, 1.0], [1.0, 0.0]])
            return D.MultivariateNormal(h, matrix).log_prob(h)

    model, given = Whole(), torch.full((4, 2), 3.0)
    mod = loaded(tracepack.script(model), torch.full((3, 2), 2.0))
    assert torch.equal(mod(given), model(given))
    for wrong in (0.5, -1.0):
        with pytest.raises(ValueError, match="PositiveDefinite"):
            model(given * 0 + wrong)
        with pytest.raises(tracepack.GuardError, match="a parameter or a value lies outside of what the distribution"):
            mod(given * 0 + wrong)


def test_a_check_that_cannot_be_followed_shows_the_argument() -> None:
    def process(h, **options):
        return D.Geometric(h.sigmoid(), **options).log_prob(torch.ones(2))

    with pytest.raises(tracepack.LoweringError, match="Give it validate_args=False") as told:
        tracepack.trace(tracepack.script(Model(process)), torch.rand(3, 4))
    assert "in process: return D.Geometric(" in str(told.value)
    model = Model(lambda h: process(h, validate_args=False))
    x = torch.randn(5, 4)
    assert torch.equal(loaded(tracepack.script(model), torch.rand(3, 4))(x), model(x))
