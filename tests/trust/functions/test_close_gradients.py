"""Gradients of models that agree with those of the graph on the example, and may not do so elsewhere."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import tracepack

X = torch.linspace(0.01, 0.1, 12).reshape(3, 4)


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.clamp(-1, 1)


class Guided(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.relu()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x > 0) * (gradient > 0)


class Leaks(Guided):
    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, gradient, gradient / 10)


class Saves(Guided):
    """With the gradients that the graph has, too."""

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


class Applies(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.layer, self.function = torch.nn.Linear(4, 4), function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function.apply(self.layer(x))


class Outliers(Applies):
    """A part without gradients that is 0 on the example."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            outliers = self.layer(x) * (x.abs().max() > 20)
        return self.layer(x) + outliers


def loaded(model: torch.nn.Module) -> tracepack.Pipeline:
    op, file = tracepack.script(model), io.BytesIO()
    tracepack.trace(lambda x: op(x), X).save(file)
    return tracepack.load(file.getvalue(), grad=True)


@pytest.mark.parametrize("function", [Clipped, Guided, Leaks, Saves])
def test_a_backward_of_the_users_own_inside_a_model_is_refused(function: Any) -> None:
    said = f"op 'Applies': {function.__name__} has a custom backward, which is not recorded"
    with pytest.raises(tracepack.TracepackError, match=said):
        loaded(Applies(function))


def test_a_part_without_gradients_that_is_zero_on_the_example_is_refused() -> None:
    with pytest.raises(tracepack.TracepackError, match="switches gradients off inside, or has a backward of its own"):
        loaded(Outliers(None))


class Positions(Applies):
    """Switches gradients off where there are none anyway."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            steps = torch.arange(4.0)
        return self.layer(x) + steps


def test_a_part_without_gradients_that_has_none_is_kept() -> None:
    model = Positions(None)
    mod, gradients = loaded(model), []
    for run in (mod, model):
        x = (X * -30).requires_grad_()
        gradients.append(torch.autograd.grad(run(x).sin().sum(), x)[0])
    assert torch.allclose(*gradients)


def with_module_hook(model: torch.nn.Module) -> None:
    model.register_full_backward_hook(lambda module, given, made: tuple(t / 2 for t in given))


def with_early_hook(model: torch.nn.Module) -> None:
    model.register_full_backward_pre_hook(lambda module, given: tuple(t / 2 for t in given))


def with_old_hook(model: torch.nn.Module) -> None:
    model.register_backward_hook(lambda module, given, made: None)


@pytest.mark.parametrize("hang", [with_module_hook, with_early_hook, with_old_hook])
def test_hooks_of_a_module_that_the_function_calls_are_refused(hang: Any) -> None:
    model, file = torch.nn.Linear(4, 4), io.BytesIO()
    hang(model)
    mod = tracepack.trace(lambda x: model(x) * 2, X)
    mod.save(file)
    assert torch.equal(tracepack.load(file.getvalue())(X), mod(X))
    with pytest.raises(tracepack.TracepackError, match="Linear, by its hooks, has a custom backward"):
        tracepack.load(file.getvalue(), grad=True)
