"""Tensors of every rank, layout and dtype pass through a pipeline as they are."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import Variable

import tracepack
from tests.campaigns.check import difference
from tests.recording.cases import OTHER, TALL, X, right
from tracepack.ops.runtime.primitives.callables import recorded_names

SHAPES = [(), (0,), (1,), (3,), (0, 4), (2, 0), (2, 3), (1, 1), (2, 3, 4), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_rank_with_zero_and_one_among_the_sizes(shape) -> None:
    source = torch.Generator().manual_seed(1)
    x, other = torch.randn(shape, generator=source), torch.randn(shape, generator=source)
    right(lambda x: (x * 2, x.sum(), x.reshape(-1), x.numel(), x.flatten().cumsum(0)), x, others=[[other]])


LAYOUTS = {
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "transposed": lambda t: t.transpose(0, 3).contiguous().transpose(0, 3),
    "sliced": lambda t: t.repeat(1, 1, 2, 2)[:, :, ::2, ::2],
    "expanded": lambda t: t[:1].expand(t.shape),
    "flipped": lambda t: t.flip(0),
    "offset": lambda t: torch.cat([t, t])[2:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_values_and_strides(layout) -> None:
    plain = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(2))
    laid = LAYOUTS[layout](plain)

    def process(x):
        y = torch.nn.functional.relu(x)
        return (
            y,
            y.contiguous(),
            x.transpose(1, 2),
            torch.nn.functional.avg_pool2d(x, 2),
            x.clone(),
            torch.empty_like(x).stride(),
        )

    right(process, laid, others=[[plain], [LAYOUTS["channels last"](plain * 2)]])
    right(process, plain, others=[[laid]])


ARITHMETIC = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
              torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]  # fmt: skip


STORED = [torch.complex32, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e4m3fnuz,
          torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]  # fmt: skip


@pytest.mark.parametrize("dtype", ARITHMETIC, ids=str)
def test_every_dtype_that_computes(dtype) -> None:
    x, other = (X * 2).to(dtype), OTHER.to(dtype)
    weight = TALL[:2].to(dtype)
    right(lambda x: (x + x, x * weight[0], x[1:], torch.cat([x, x]), x.to(torch.float32)), x, others=[[other]])


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_every_dtype_that_is_only_stored(dtype) -> None:
    x, other = X.abs().to(dtype), OTHER.abs().to(dtype)
    held = TALL.abs().to(dtype)
    right(lambda x: (x.view(-1), x.clone(), x.to(torch.complex64), held.to(torch.complex64)), x, others=[[other]])


def test_conjugated_and_negated_views() -> None:
    z = torch.complex(X, OTHER)
    right(lambda z: (z.conj() * 2, z.imag, z.conj().imag + 1, z.mH), z, others=[[z.conj()], [z * 1j]])


def test_new_tensors_keep_the_dtype_that_they_were_recorded_with(reloaded) -> None:
    def process(x):
        source = torch.Generator().manual_seed(1)
        made = (torch.zeros(2), torch.tensor([x[0, 0].item(), 1.0]), torch.linspace(0, 1, 3), torch.full((2,), 0.5))
        return (
            *made,
            torch.rand(2, generator=source),
            torch.arange(0.0, 1.0, 0.5),
            torch.tensor(1j),
            torch.ones(2, dtype=torch.half),
        )

    wanted = process(X)
    loaded = reloaded(tracepack.trace(process, X))
    torch.set_default_dtype(torch.float64)
    try:
        assert difference(wanted, loaded(X)) == ""
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_function_of_torch_that_a_program_replaced_before_the_first_trace_is_recorded(monkeypatch) -> None:
    plain, calls = torch.zeros_like, []

    def counted(*args, **kwargs):
        calls.append(args)
        return plain(*args, **kwargs)

    monkeypatch.setattr(torch, "zeros_like", counted)
    recorded_names.cache_clear()
    try:
        mod = tracepack.trace(lambda x: torch.zeros_like(x) + x.exp(), torch.ones(3))
        found = recorded_names()[plain]
    finally:
        recorded_names.cache_clear()
    assert calls
    assert found == "torch.zeros_like"
    assert torch.equal(mod(torch.zeros(2)), torch.ones(2))


OLD_WORDS = {
    "a Variable": lambda x: Variable(x) * 2,
    "a Variable that needs no gradients": lambda x: torch.autograd.Variable(x, requires_grad=False).data + 1,
    "a Variable of a new tensor": lambda x: Variable(torch.ones(len(x), 2)) * x,
    "no gradients for an input": lambda x: x.requires_grad_(False) * 2,
    "no gradients for a tensor": lambda x: x.detach().requires_grad_(requires_grad=False) * 2,
}


@pytest.mark.parametrize("name", OLD_WORDS)
def test_what_asks_for_no_gradients_gives_the_tensor(name) -> None:
    right(OLD_WORDS[name], X, others=[[OTHER], [TALL]])


def test_gradients_that_are_asked_for_are_refused() -> None:
    for process in (lambda x: Variable(x, requires_grad=True), lambda x: (x * 1).requires_grad_()):
        with pytest.raises(tracepack.RecordError, match="requires_grad_: gradients cannot be recorded"):
            tracepack.trace(process, X)
    mod = tracepack.trace(OLD_WORDS["no gradients for an input"], X)
    with pytest.raises(tracepack.GuardError, match="asked for the requires_grad of a tensor; got True"):
        mod(OTHER.clone().requires_grad_())
