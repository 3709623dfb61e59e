# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Layers on Slang's targets: indices, names, contents, training, tuning, packing."""

from __future__ import annotations

import warnings

import pytest
import torch

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
import tracepack as tp
from tests.comprehension.slang.running import MATMUL, compare, program_of, run, simple
from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.schedule.gpu import gpu_schedule
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.comprehension.tune.cache import TuningCache
from tracepack.ops.graph.errors import DeviceError


def test_gathers_are_checked_or_clamped(device):
    text = "def f(float(V) T, int64(N) I) -> (O) { O(i) = i > 0 ? T(I(i)) : 0.0 where i in 0:N }"
    table, good = torch.randn(7), torch.tensor([99, 3, 6, 0])
    torch.testing.assert_close(run(text, table, good, device=device)[0], torch.cat([torch.zeros(1), table[good[1:]]]))
    bad = torch.tensor([0, 3, 7, -1])
    with pytest.raises(errors.IndexRangeError, match="an index of 'T' is not in 0:7"):
        run(text, table, bad, device=device)
    found = run(text, table, bad, device=device, clamp=True)[0]
    torch.testing.assert_close(found, torch.stack([torch.tensor(0.0), table[3], table[6], table[0]]))


def test_running_totals_are_shared_out_in_blocks(device):
    """A schedule speaks of the blocks, and the gradient's sum over suffixes is made of them too."""
    text = "def f(float(N,D) A) -> (O) { O(n,i) +=! A(n,j) where i in 0:D, j in 0:i+1 }"
    a = torch.rand(3, 300)
    plan = define(text).plan([a])
    backward = plan.derived(frozenset({0}))[1].program
    for program, expected in ((plan.program, a.cumsum(1)), (backward, a.flip(1).cumsum(1).flip(1))):
        schedule = gpu_schedule(program, Options(), cuda=False)
        assert schedule is not None
        assert len(schedule.nests) > 1
        torch.testing.assert_close(SlangEmitter(program, schedule, device=device)([a])[0], expected)


def test_names_cannot_clash_with_slangs(device):
    text = "def void(float(uint,out) vector, float(uint) this) -> (return) { return(float3, class) = vector(float3, class) * this(float3) }"
    a, b = torch.randn(3, 5), torch.randn(3)
    torch.testing.assert_close(run(text, a, b, device=device)[0], a * b[:, None])


def test_contents_before_are_used(device):
    p = program_of("def f(float(N) A) -> (O) { O(i) += A(i) }", torch.zeros(4))
    found = SlangEmitter(p, simple(p), False, device)([torch.ones(4)], [torch.arange(4.0)])
    assert found[0].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.usefixtures("vulkan")
def test_a_layer_on_vulkan_trains_and_tunes(tmp_path):
    layer = define(MATMUL, device="vulkan")
    a, b = torch.randn(12, 9, requires_grad=True), torch.randn(9, 70, requires_grad=True)
    assert isinstance(layer.plan([a, b]).forward, SlangEmitter)
    seed = torch.randn(12, 70)
    compare(torch.autograd.grad(layer(a, b), [a, b], seed), [seed @ b.T, a.T @ seed], 1e-4)
    best = layer.autotune(a, b, cache=str(tmp_path / "mm"), generations=1, pop_size=3)
    assert list(layer.tuned) == ["vulkan:12x9,9x70"]
    torch.testing.assert_close(layer(a, b), a @ b)
    assert (
        TuningCache(str(tmp_path / "mm"), device=torch.device("vulkan")).best(layer.key, [(12, 9), (9, 70)]) == best[0]
    )
    with pytest.warns(ComprehensionWarning, match="has no options"):  # the CPU's are others
        define(MATMUL)(a, b, cache=str(tmp_path / "mm"))


@pytest.mark.usefixtures("vulkan")
def test_options_name_axes_on_vulkan_too():
    layer = define(MATMUL, device="vulkan")
    a, b = torch.randn(12, 9), torch.randn(9, 70)
    torch.testing.assert_close(layer(a, b, options=Options(tile={"m": 5, "n": 2}, vectorise="n")), a @ b)
    assert isinstance(layer.plan([a, b], Options("torch")).forward, TorchEmitter)
    with pytest.raises(errors.OptionsError, match="'mm' has no axis 'q'"):
        layer(a, b, options=Options(tile={"q": 5}))


@pytest.mark.usefixtures("vulkan")
def test_a_packed_layer_needs_trust_for_a_gpu(tmp_path):
    op, inputs = tp.script(define(MATMUL, device="vulkan")), (torch.randn(5, 6), torch.randn(6, 7))
    tp.trace(lambda a, b: op(a, b) * 2, *inputs).save(tmp_path / "p.tpk")
    feed, expected = {"a": inputs[0], "b": inputs[1]}, inputs[0] @ inputs[1] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(tp.load(tmp_path / "p.tpk", trust=True).run(feed), expected)
    loaded = tp.load(tmp_path / "p.tpk")
    with pytest.warns(ComprehensionWarning, match="runs on torch's operators: .* only with trust=True"):
        torch.testing.assert_close(loaded.run(feed), expected)
    with warnings.catch_warnings():  # said once
        warnings.simplefilter("error")
        loaded.run(feed)


def test_another_device_is_refused():
    with pytest.raises(
        DeviceError, match="a comprehension is defined for no device 'cuda'; expected 'vulkan' or nothing"
    ):
        define(MATMUL, device="cuda")
