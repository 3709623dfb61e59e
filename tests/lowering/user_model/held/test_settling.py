"""What only the first call of a model does: hooks that it installs, and flags that it sets."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch

import tracepack


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Hooked(torch.nn.Module):
    """Hangs hooks into its layers when they are first asked for, as transformers do for hidden states."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, x: torch.Tensor, states: bool = False) -> tuple[torch.Tensor, ...]:
        if states and not getattr(self, "_hooked", False):
            for layer in self.layers:
                layer.register_forward_hook(collected)
            self._hooked = True
        del MET[:]
        for layer in self.layers:
            x = layer(x)
        return (x, *MET)


MET: list[torch.Tensor] = []


def collected(module: torch.nn.Module, args: Any, output: torch.Tensor) -> None:
    MET.append(output)


class Bound(Hooked):
    """Has no twin: something that it shares leads back to it."""

    def __init__(self) -> None:
        super().__init__()
        self.back = Back(self)


class Back:
    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model


class Warns(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.warned = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.warned:
            warnings.warn("this is slow", stacklevel=1)
            self.warned = True
        return x * 2


@pytest.mark.parametrize("kind", [Hooked, Bound])
def test_hooks_that_a_first_call_installs_are_there_in_the_graph_and_not_in_the_users_model(kind, reloaded) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    wanted = copy.deepcopy(model)
    before = {name: dict(vars(part)) for name, part in model.named_modules()}
    op = tracepack.script(model)
    loaded = reloaded(tracepack.trace(lambda x: op(x, states=True), torch.rand(4, 3)))
    for count in (4, 1, 7):
        x = torch.randn(count, 3)
        got = loaded(x)
        assert len(got) == 3
        for one, other in zip(got, wanted(x, states=True), strict=True):
            torch.testing.assert_close(one, other)
    assert {name: dict(vars(part)) for name, part in model.named_modules()} == before
    assert all(not layer._forward_hooks for layer in model.layers)
    assert len(model(torch.rand(2, 3))) == 1


def test_a_model_that_warns_once_is_an_op(reloaded) -> None:
    model = Warns()
    op = tracepack.script(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = reloaded(tracepack.trace(lambda x: op(x), torch.rand(3)))
    x = torch.randn(5)
    assert torch.equal(loaded(x), x * 2)
    assert model.warned is False


class Sized(torch.nn.Module):
    """Decides once, by the size of its first input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "is_long"):
            self.is_long = x.shape[0] > 3
        return x.sum(0) if self.is_long else x.mean(0)


class Valued(torch.nn.Module):
    """Decides once, by the values of its first input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "is_large"):
            self.is_large = bool(x.sum() > 0)
        return x * 2 if self.is_large else x


class Starts(torch.nn.Module):
    """Answers its first call otherwise than later ones."""

    def __init__(self) -> None:
        super().__init__()
        self.started = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, self.started = not self.started, True
        return x + 1 if first else x


class Scales(torch.nn.Module):
    """Keeps the scale of its first input in a buffer, as ActNorm does."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(()))
        self.started = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.started:
            self.scale.copy_(x.abs().max())
            self.started = True
        return x / self.scale


class Builds(torch.nn.Module):
    """Makes a part in its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.built = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.built:
            self.net, self.built = torch.nn.Identity(), True
        return self.net(x)


@pytest.mark.parametrize("kind", [Sized, Valued, Starts, Scales, Builds])
def test_what_a_first_call_keeps_for_later_ones_is_refused_and_restored(kind) -> None:
    model = kind()
    before = dict(vars(model))
    words = "the model changes its attribute"
    if kind is not Valued:  # whose branch on data is met, too
        words += ".* What only a first call sets is no state once it is set: call the model before"
    with pytest.raises(tracepack.LoweringError, match=words):
        tracepack.script(model, example=torch.rand(4, 3) + 0.1)
    assert vars(model) == before
