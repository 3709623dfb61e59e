"""Gradients of models that agree with those of the graph for one loss on the example, and for no other."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import tracepack

X = torch.rand(3, 4) / 10


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
        return self.function.apply(self.layer(x))  # type: ignore[no-any-return]


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


@pytest.mark.parametrize("model", [Applies(Clipped), Applies(Guided), Applies(Leaks), Outliers(None)])
def test_a_backward_that_agrees_on_the_example_alone_is_refused(model: torch.nn.Module) -> None:
    with pytest.raises(tracepack.TracepackError, match="switches gradients off inside, or has a backward of its own"):
        loaded(model)


def test_a_backward_that_agrees_is_kept() -> None:
    model = Applies(Saves)
    mod, gradients = loaded(model), []
    for run in (mod, model):
        x = (X * -30).requires_grad_()
        gradients.append(torch.autograd.grad(run(x).sin().sum(), x)[0])
    assert torch.allclose(*gradients)
