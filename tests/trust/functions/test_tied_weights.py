"""Training of a loaded file where a weight is held twice, shares its memory, or has hooks: as Python's, or refused."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.nn import Parameter

import tracepack
from tests.trust.test_gradients import loaded

X = torch.rand(4, 3)


class Holding(torch.nn.Module):
    """A model that holds something made of its weight beside that weight."""

    def __init__(self, hold: Callable[[Any], Any], use: Callable[[Any, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.use = torch.nn.Linear(3, 3, bias=False), use
        self.held = hold(self.layer.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.use(self.held, x)


class Buffered(torch.nn.Module):
    """A model with a buffer in the memory of its weight."""

    def __init__(self, hold: Callable[[Any], Any]) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3, bias=False)
        self.register_buffer("held", hold(self.layer.weight.data))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + x @ self.held


def closed(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x @ weight


def trained(process: Callable[..., Any], weights: Sequence[torch.Tensor]) -> torch.Tensor:
    optimizer = torch.optim.SGD(weights, 0.05)
    for _ in range(3):
        optimizer.zero_grad()
        process(X).square().sum().backward()
        optimizer.step()
    with torch.no_grad():
        return process(X)


def agree(plain: Callable[..., Any], weights: Sequence[torch.Tensor], process: Callable[..., Any]) -> None:
    """Trains a function and its file alike, and compares, also after another save."""
    mod = loaded(process, X)
    got = trained(mod, list(mod.weights().values()))
    wanted = trained(plain, weights)
    torch.testing.assert_close(got, wanted)
    file = io.BytesIO()
    mod.save(file)
    again = tracepack.load(file.getvalue(), grad=True)
    torch.testing.assert_close(trained(again, list(again.weights().values())), trained(plain, weights))


def first(held: Any, x: torch.Tensor) -> torch.Tensor:
    return x @ held[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Holding(lambda w: [w], first),
        lambda: Holding(lambda w: (w,), first),
        lambda: Holding(lambda w: {"a": [w, w]}, lambda held, x: x @ held["a"][0] + x @ held["a"][1].t()),
        lambda: Holding(closed, lambda held, x: held(x)),
        lambda: Holding(lambda w: [w], lambda held, x: x @ held[0] + x @ held[0].view(3, 3).detach()),
        lambda: Holding(lambda w: w.detach(), lambda held, x: x @ held),
        lambda: Buffered(lambda w: w),
    ],
    ids=["list", "tuple", "dict", "closure", "views", "detached", "buffer"],
)
def test_a_weight_that_an_op_holds_twice_is_one(make: Callable[[], torch.nn.Module]) -> None:
    model = make()
    op = tracepack.script(model, device="cpu")
    agree(model, list(model.parameters()), lambda x: op(x))


def test_a_weight_that_is_no_parameter_of_the_model_is_trained() -> None:
    weight, beside = Parameter(torch.rand(3, 3)), Parameter(torch.rand(3, 3))
    model = Holding(lambda w: [beside], first)
    op, function = tracepack.script(model, device="cpu"), tracepack.script(lambda x: x @ weight, device="cpu")
    agree(lambda x: model(x) + x @ weight, [*model.parameters(), weight, beside], lambda x: op(x) + function(x))
    agree(lambda x: x @ weight + x @ weight.t(), [weight], lambda x: function(x) + x @ weight.t())


def test_a_captured_tensor_in_the_memory_of_a_weight_follows_it() -> None:
    weight = Parameter(torch.rand(3))
    plain, array = weight.detach(), weight.detach().numpy()
    for process in (
        lambda x: x * weight + plain,
        lambda x: x * weight + torch.from_numpy(array),
        lambda x: x * weight + copy.copy(weight),
    ):
        agree(process, [weight], process)


PART = "gradients are not kept: a tensor shares memory with a weight of other sizes or strides"


def test_a_part_of_the_memory_of_a_weight_is_refused_with_gradients() -> None:
    weight = Parameter(torch.rand(3, 3))
    row, turned = weight.data[0], weight.data.t()
    op = tracepack.script(Buffered(lambda w: w[:, :1]), device="cpu")
    for process in (lambda x: x @ weight + row, lambda x: x @ weight @ turned, lambda x: op(x)):
        assert torch.equal(loaded(process, X, grad=False)(X), process(X).detach())
        with pytest.raises(tracepack.RecordError, match=PART):
            loaded(process, X)
    with pytest.raises(tracepack.RecordError, match=r"test_tied_weights.py:\d+ in <lambda>: .*weight \+ row"):
        loaded(lambda x: x @ weight + row, X)
    halves = torch.rand(2, 3)
    one, other = Parameter(halves[0]), Parameter(halves[1])
    agree(lambda x: x * one + other, [one, other], lambda x: x * one + other)


def test_a_weight_and_the_same_without_gradients_in_a_list_are_refused_with_gradients() -> None:
    op = tracepack.script(Holding(lambda w: [w, w.detach()], lambda held, x: x @ held[0] + x @ held[1]), device="cpu")
    loaded(lambda x: op(x), X, grad=False)
    with pytest.raises(tracepack.RecordError, match="holds a weight a second time, detached and not as a buffer"):
        loaded(lambda x: op(x), X)


HOOKED = "gradients are not kept: .*has hooks on its gradients, which no file holds"


@pytest.mark.parametrize("kind", [Parameter, torch.Tensor.requires_grad_])
@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_on_captured_weights_are_refused_with_gradients(kind: Callable[..., Any], register: str) -> None:
    weight, layer = kind(torch.rand(3)), torch.nn.Linear(3, 3)
    handles = [getattr(each, register)(lambda g: None) for each in (weight, layer.weight)]
    held = Holding(lambda w: [weight], lambda held, x: x * held[0])
    op = tracepack.script(held, device="cpu")
    for process in (
        lambda x: x * weight,
        lambda x: layer(x),
        lambda x: tracepack.cond(x.sum() > 0, lambda: x * weight, lambda: x),
        lambda x: op(x),
    ):
        assert torch.equal(loaded(process, X, grad=False)(X), process(X).detach())
        with pytest.raises(tracepack.RecordError, match=HOOKED):
            loaded(process, X)
    with pytest.raises(tracepack.RecordError, match=r"test_tied_weights.py:\d+ in <lambda>"):
        loaded(lambda x: x * weight, X)
    for handle in handles:
        handle.remove()
    agree(lambda x: layer(x) * weight, [weight, *layer.parameters()], lambda x: layer(x) * weight)


def test_no_gradient_goes_through_a_copied_tensor() -> None:
    weight = Parameter(torch.rand(3))
    for process in (lambda x: copy.copy(x) * weight, lambda x: copy.copy(x * 2) * weight + x):
        mod, given, wanted = loaded(process, X), X.clone().requires_grad_(), X.clone().requires_grad_()
        mod(given).sum().backward()
        process(wanted).sum().backward()
        if wanted.grad is None:
            assert given.grad is None
        else:
            torch.testing.assert_close(given.grad, wanted.grad)


class Equal(torch.nn.Module):
    """A model of which weights, and a weight and a buffer, are equal, but not tied."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.layer = torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3)
        torch.nn.init.zeros_(self.layer.bias)
        torch.nn.init.eye_(self.layer.weight)
        self.register_buffer("turned", torch.eye(3).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.norm(x)) @ self.turned


def test_equal_tensors_of_a_file_are_not_tied_by_another_save() -> None:
    model = Equal().eval()
    op = tracepack.script(model, device="cpu")
    once = loaded(lambda x: op(x), X, grad=False)
    file = io.BytesIO()
    once.save(file)
    mods = [tracepack.load(file.getvalue(), grad=True), loaded(lambda x: once(x), X)]
    wanted = trained(model, list(model.parameters()))
    for mod in mods:
        assert len(mod.weights()) == 4
        torch.testing.assert_close(trained(mod, list(mod.weights().values())), wanted)
