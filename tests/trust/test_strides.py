"""Strides: what a scripted model or a function makes of them holds for every layout, or is stopped."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import trial

X = torch.randn(4, 4)
STRIDED = [(X.t(),), (torch.randn(8, 8)[::2, ::2],), (torch.randn(4, 1).expand(4, 4).clone(),), (X[:1].expand(4, 4),)]


class Asks(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.is_contiguous() else x * 3


class Reads(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.stride(0) + x.stride()[1]


class ReadsFirst(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.stride(0) + x.stride()[-1]


class Writes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.contiguous()
        y.add_(1)
        return x * 2


class WritesWithin(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0
        y = x.t()
        z = y.contiguous()
        z.mul_(2)
        return (y + z).contiguous()


class WritesReshaped(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.reshape(-1)
        y.add_(1)
        return x * 2


class InPlace(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu_(x + 1).mul_(2).contiguous()


@pytest.mark.parametrize("model", [Asks, Reads, Writes, WritesWithin, WritesReshaped, InPlace])
@pytest.mark.parametrize("first", [X, X.t()], ids=["contiguous", "transposed"])
def test_a_model_under_every_layout(model: Any, first: torch.Tensor) -> None:
    plain = model()

    def make() -> Any:
        op = tracepack.script(model())

        def process(x: torch.Tensor) -> torch.Tensor:
            return op(x) if tracepacking() else plain(x)

        return process

    trial(make, first, others=[(X,), *STRIDED])


def test_a_model_that_asks_how_its_input_lies_is_refused_where_elements_lie_apart() -> None:
    apart = torch.randn(8, 8)[::2, ::2]
    asking, op = tracepack.script(Asks()), tracepack.script(torch.nn.Linear(4, 4))
    with pytest.raises(tracepack.LoweringError, match="'Asks'.*gives other results than the model"):
        tracepack.trace(lambda x: asking(x), apart)
    assert trial(lambda: lambda x: op(x), apart, others=[(X,), *STRIDED]) == "right"


@pytest.mark.parametrize("first", [X[:1].expand(4, 4), X[:, :1].expand(4, 4)])
def test_a_model_traced_where_elements_share_memory(first: torch.Tensor) -> None:
    op, plain = tracepack.script(Asks()), Asks()
    traced = tracepack.trace(lambda x: op(x), first)
    assert torch.equal(traced(first), plain(first))
    for (other,) in [(X,), *STRIDED]:
        try:
            got = traced(other)
        except tracepack.TracepackError as error:
            assert "lie in memory" in str(error)  # noqa: PT017  # both ways are right
        else:
            assert torch.equal(got, plain(other))


def tracepacking() -> bool:
    from tracepack.ops.tracing_hook import current

    return current() is not None


@pytest.mark.parametrize("model", [InPlace])
def test_writes_that_strides_do_not_decide_are_free(model: Any) -> None:
    op = tracepack.script(model(), contiguous=True)
    traced, plain = tracepack.trace(lambda x: op(x), X), model()
    for (other,) in STRIDED:
        assert torch.equal(traced(other), plain(other))


@pytest.mark.parametrize("first", [torch.rand(3, 3), torch.rand(2, 3), torch.rand(1, 3), torch.rand(6, 6)[:1, :3]])
def test_the_stride_of_a_size_of_one_is_any_number(first: torch.Tensor) -> None:
    op, plain = tracepack.script(ReadsFirst()), ReadsFirst()
    traced, stopped = tracepack.trace(lambda x: op(x), first), 0
    others = [torch.rand(1, 3), torch.rand(6, 6)[:1, :3], torch.rand(4, 1), torch.rand(4, 4)[:, :1], torch.rand(0, 3)]
    for other in (first, *others):
        try:
            assert torch.equal(traced(other), plain(other))
        except (tracepack.GuardError, tracepack.SignatureError):
            stopped += 1
    assert 0 < stopped < len(others)


@pytest.mark.parametrize("first", [torch.rand(1), torch.rand(1, 3), torch.rand(2)])
def test_an_example_of_size_one_tells_nothing_about_strides(first: torch.Tensor) -> None:
    op, plain = tracepack.script(Asks()), Asks()
    traced = tracepack.trace(lambda x: op(x), first)
    for other in (torch.rand(6, *first.shape[1:])[::2], torch.rand(1, *first.shape[1:]).expand(3, *first.shape[1:])):
        with pytest.raises(tracepack.GuardError, match="lie in memory"):
            traced(other)
        assert torch.equal(traced(other.clone(memory_format=torch.contiguous_format)), plain(other.contiguous()))


def test_a_function_under_every_layout() -> None:
    def asks(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.is_contiguous() else x * 3

    def reads(x: torch.Tensor) -> torch.Tensor:
        return x * x.stride(0)

    def writes(x: torch.Tensor) -> torch.Tensor:
        y = x.contiguous()
        y.add_(1)
        return x * 2

    for process in (asks, reads, writes):
        trial(lambda process=process: process, X, others=STRIDED)


def test_an_op_is_lowered_for_each_layout_that_decides():
    """One op, inputs that lie otherwise: outside of a trace, in later traces, and twice in one trace."""
    model = Layout().eval()
    op = tracepack.script(model)
    dense, turned = torch.rand(4, 5), torch.rand(5, 4).t()
    first = tracepack.trace(lambda x: op(x), dense)
    for x in (turned, dense, turned):
        assert torch.equal(op(x), model(x))
    second = tracepack.trace(lambda x: op(x), turned)
    both = tracepack.trace(lambda x, y: op(x) - op(y), dense, turned)
    assert torch.equal(first(dense), model(dense))
    assert torch.equal(second(turned), model(turned))
    assert torch.equal(both(dense, turned), model(dense) - model(turned))
    with pytest.raises(tracepack.GuardError, match="depends on how its inputs lie in memory"):
        second(dense)


class Layout(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.is_contiguous() else (x * 3).contiguous()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_an_example_of_zeros_hides_no_question_about_strides(dtype: torch.dtype) -> None:
    op, zeros = tracepack.script(Asks()), torch.zeros(3, 4, dtype=dtype)
    mod = tracepack.trace(lambda x: op(x[:, :1].expand(-1, 2)), zeros)
    x = torch.tensor([[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]).to(dtype)
    assert torch.equal(mod(x), x[:, :1].expand(-1, 2) * 3)
    assert torch.equal(op(x), x * 2)
