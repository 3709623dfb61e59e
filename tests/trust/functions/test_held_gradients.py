"""Gradients of tensors that a function or a model holds, and that are no Parameters."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.trust.test_gradients import loaded

X = torch.randn(3, 4)


class Scaled(torch.nn.Module):
    """A model that trains a plain tensor beside its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.full((4,), 2.0, requires_grad=True)
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale


def test_plain_tensors_that_require_gradients_are_weights() -> None:
    model, shift = Scaled(), torch.ones(4, requires_grad=True)
    op = tracepack.script(model, device="cpu")
    mod = loaded(lambda x: op(x) + shift + shift.detach(), X)
    mod(X).square().sum().backward()
    (model(X) + shift + shift.detach()).square().sum().backward()
    wanted = {"Scaled.scale": model.scale, "Scaled.linear.bias": model.linear.bias, "c0": shift}
    found = mod.weights()
    assert len(found) == 4
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name].grad, tensor.grad)


class Turned(torch.nn.Module):
    """A model that holds a view of its weight: gradients go on from there into the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.turned = self.linear.weight.t()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + x @ self.turned


def test_a_tensor_that_was_computed_with_gradients_is_refused_with_gradients() -> None:
    model, held = Turned(), torch.ones(4, requires_grad=True) * 2
    plain = held.detach()
    op = tracepack.script(model, device="cpu")
    for process, words in (
        (lambda x: op(x), "op 'Turned' holds a tensor that was computed with gradients"),
        (
            lambda x: x + held,
            "the function holds a tensor that was computed with gradients; detached before, it is a constant",
        ),
    ):
        assert torch.equal(loaded(process, X, grad=False)(X), process(X).detach())
        with pytest.raises(tracepack.RecordError, match=f"gradients are not kept: {words}"):
            loaded(process, X)
    assert not loaded(lambda x: x + plain, X)(X).requires_grad
