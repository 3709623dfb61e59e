"""Gradients of loaded pipelines: those of Python, or a refusal that says what is missing."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import is_grad_enabled as gradients_are_on
from torch import is_inference_mode_enabled as inference_is_on

import tracepack
from tests.campaigns.functions.surroundings import Straight

X = torch.randn(3, 4)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return -gradient


def loaded(process: Callable[..., Any], *example: Any, grad: bool = True) -> tracepack.Pipeline:
    file = io.BytesIO()
    tracepack.trace(process, *example).save(file)
    return tracepack.load(file.getvalue(), grad=grad)


def gradient(process: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    result = process(x)
    if result.requires_grad:
        result.square().sum().backward()
    return torch.zeros_like(x) if x.grad is None else x.grad


def all_off(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x * 3


def part_off(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = x.abs().max() + x.shape[0]
    return x / scale


def off_and_on(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 5
        c = x * 7
    return a + b + c + x


@torch.no_grad()
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def calls_decorated(x: torch.Tensor) -> torch.Tensor:
    return x * decorated(x)


def switched(x: torch.Tensor) -> torch.Tensor:
    with torch.set_grad_enabled(False):
        y = x * 3
    return y * x


def in_a_branch(x: torch.Tensor) -> torch.Tensor:
    def positive(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x * 3
        return y * x

    return tracepack.cond(x.sum() > 0, positive, lambda x: x * 2, x)


def around_a_branch(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = tracepack.cond(x.sum() > 0, lambda x: x * 3, lambda x: x * 2, x)
    return y * x


def detached(x: torch.Tensor) -> torch.Tensor:
    return x * x.detach() + x.data


def inferred(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        scale = float(2) * x.shape[0]
    return x * scale


def rows_after(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        off = list(x)[-1] * 2
    return torch.stack([off, *x])


def rows_inside(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        off = sum(x)
    return off * sum(x)


def in_a_round(x: torch.Tensor) -> torch.Tensor:
    total, kept = x[0] * 0, []
    for row in x:
        total = total + row * 3
        with torch.no_grad():
            kept.append(row * 2)
    return total + torch.stack(kept) + torch.stack(list(x))


FUNCTIONS = [all_off, part_off, off_and_on, calls_decorated, switched, in_a_branch, around_a_branch, detached, inferred]
FUNCTIONS += [decorated, rows_after, rows_inside, in_a_round]


@pytest.mark.parametrize("process", FUNCTIONS)
def test_blocks_without_gradients(process: Any) -> None:
    pipeline = loaded(process, X)
    plain = loaded(process, X, grad=False)
    for x in (X, X.abs(), -X.abs()):
        assert torch.equal(gradient(pipeline, x), gradient(process, x)), x
        assert torch.equal(plain(x), process(x))


def test_the_mode_is_given_back_after_an_error() -> None:
    def process(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x.reshape(-1)[: y.shape[0]] @ y

    pipeline = loaded(process, torch.randn(6), torch.randn(3))
    with pytest.raises(tracepack.TracepackError):
        pipeline(torch.randn(2), torch.randn(3))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("function", [Straight, Reversed])
def test_a_backward_of_the_users_own_is_refused_with_gradients(function: Any) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return function.apply(x) * 2

    assert torch.equal(loaded(process, X, grad=False)(X), process(X))
    with pytest.raises(tracepack.TracepackError, match="a custom backward") as caught:
        loaded(process, X)
    assert "in process" in str(caught.value)


def asks_the_mode(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.is_grad_enabled() else x * 3


def asks_a_result(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    return y * 2 if y.requires_grad else y * 3


def asks_a_leaf(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    return y * 3 if y.is_leaf or y.grad_fn is None else y * 2


def asks_by_another_name(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if gradients_are_on() else x * 3


def asks_by_a_text(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if getattr(torch, "is_grad_enabled")() else x * 3  # noqa: B009  # the name is a text of the code


def asks_below_torch(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch._C.is_grad_enabled() else x * 3


@pytest.mark.filterwarnings("ignore:.*whether gradients are on")
@pytest.mark.parametrize(
    "process",
    [asks_the_mode, asks_a_result, asks_a_leaf, asks_by_another_name, asks_by_a_text, asks_below_torch],
)
def test_what_asks_for_gradients_is_right_without_them_and_stopped_with_them(process: Any) -> None:
    with torch.no_grad():
        assert torch.equal(loaded(process, X, grad=False)(X), process(X))
    with pytest.raises(tracepack.TracepackError, match="whether gradients are on|asked for the requires_grad"):
        loaded(process, X)(X.clone().requires_grad_())


@pytest.mark.parametrize("process", [asks_the_mode, asks_a_result, asks_a_leaf, asks_by_another_name])
def test_a_trace_says_that_a_pipeline_answers_as_without_gradients(process: Any) -> None:
    with pytest.warns(UserWarning, match=r"asks whether gradients are on. The pipeline answers as .*torch.no_grad"):
        tracepack.trace(process, X)


def test_a_question_for_inference_mode_by_another_name_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match="whether inference mode is on"):
        tracepack.trace(lambda x: x * 2 if inference_is_on() else x, X)


class Averages(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.mul_(0.5).add_(x.mean() * 0.5)
        return x - self.mean


def test_a_reset_forgets_the_history_of_a_buffer_that_was_written_with_gradients() -> None:
    op = tracepack.script(Averages())
    pipeline = loaded(lambda x: op(x), X)
    wanted = gradient(Averages(), X)
    for _ in range(2):
        assert torch.allclose(gradient(pipeline, X), wanted)
        pipeline.reset()
        assert not pipeline(X).requires_grad
        pipeline.reset()


class Blocks(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = self.layer(x).abs().max()
        return self.layer(x) / scale


class Rounds(Blocks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Straight.apply(self.layer(x))  # type: ignore[no-any-return, no-untyped-call]


class Positions(Blocks):
    """Blocks out what has no gradients anyway."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            positions = torch.arange(x.shape[0])[:, None] * 2.0
        return self.layer(x) + positions


@pytest.mark.parametrize("model", [Blocks, Rounds, Positions])
def test_the_same_inside_models(model: Any) -> None:
    plain = model()
    op = tracepack.script(plain)

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(x)

    traced, file = tracepack.trace(process, X), io.BytesIO()
    traced.save(file)
    try:
        pipeline = tracepack.load(file.getvalue(), grad=True)
    except tracepack.TracepackError as error:
        assert "gradient" in str(error)  # noqa: PT017  # both ways are right
        assert model is not Positions
        return
    torch.testing.assert_close(gradient(pipeline, X), gradient(plain, X))


def test_the_strides_of_an_input_are_its_own_with_gradients() -> None:
    def process(x: torch.Tensor) -> Any:
        y = x & 2
        y.clamp_(min=0)
        y.unsqueeze_(0)
        return x.transpose(0, -1)

    file = io.BytesIO()
    tracepack.trace(process, torch.arange(3).reshape(3, 1)).save(file)
    odd = torch.arange(4).reshape(2, 2)[:1, :1]
    for grad in (True, False):
        assert tracepack.load(file.getvalue(), grad=grad)(odd).stride() == (1, 2)


class Hooked(torch.nn.Module):
    """Doubles the gradient of what its layer gives, where there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 2)
        return y


def with_module_hook() -> torch.nn.Module:
    model: Any = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    model[0].register_full_backward_hook(lambda module, given, made: tuple(g * 2 for g in given))
    return model


def with_parameter_hook() -> torch.nn.Module:
    model = torch.nn.Linear(4, 4)
    model.weight.register_hook(lambda gradient: gradient * 0)
    return model


@pytest.mark.parametrize("make", [Hooked, with_module_hook, with_parameter_hook])
def test_hooks_on_gradients_are_refused(make: Callable[[], torch.nn.Module]) -> None:
    op = tracepack.script(make())
    loaded(lambda x: op(x), X, grad=False)
    with pytest.raises(
        tracepack.RecordError, match="gradients are not kept: op '.*' (has hooks on|switches gradients off)"
    ):
        loaded(lambda x: op(x), X)


class Asks(torch.nn.Module):
    """Asks for gradients without doing other than torch does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.requires_grad else torch.sin(x)


def test_a_model_that_only_asks_for_gradients_keeps_them() -> None:
    op = tracepack.script(Asks())
    mod = loaded(lambda x: op(x), X)
    assert torch.allclose(gradient(mod, X), gradient(Asks(), X))


def test_a_run_without_gradients_keeps_none() -> None:
    """As the function's, also where the weights would have gradients, and where an earlier run kept them."""
    linear = torch.nn.Linear(3, 2)
    op, file = tracepack.script(linear), io.BytesIO()
    tracepack.trace(lambda x: op(x).relu() * x.sum(), torch.ones(4, 3)).save(file)
    mod, x = tracepack.load(file.getvalue(), grad=True), torch.rand(5, 3, requires_grad=True)
    assert mod(x).requires_grad
    with torch.no_grad():
        assert not mod(x).requires_grad
        assert not mod(torch.rand(2, 3)).requires_grad
    assert mod(x).requires_grad
