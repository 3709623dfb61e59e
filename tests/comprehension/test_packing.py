"""Layers inside scripted modules and processing functions, recorded, saved and loaded."""

import copy
import runpy
from pathlib import Path

import pytest
import torch

import tracepack as tp
from tracepack.ops.comprehension import ComprehensionKernel, ComprehensionWarning, Options, define
from tracepack.ops.kernels import toolchain

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
NORM = """def norm(float(T,C) I) -> (O, m) {
  m(t) +=! I(t,c)
  m(t) = m(t) / C
  v(t) +=! (I(t,c) - m(t)) * (I(t,c) - m(t))
  O(t,c) = (I(t,c) - m(t)) * rsqrt(v(t) / C + 0.00001)
}"""


class Model(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.weight = layer, torch.nn.Parameter(torch.randn(4, 5))

    def forward(self, x):
        return self.layer(x.relu(), self.weight) + 1


@pytest.fixture
def pipeline():
    """A scripted layer, a layer in a scripted module, and a layer called by the function itself."""
    mm, norm = define(MATMUL), define(NORM)
    kernel, model = tp.script(mm), tp.script(Model(mm))

    def process(x, w):
        scaled, mean = norm(model(x))
        return {"y": kernel(scaled, w), "mean": mean}

    x, w = torch.randn(3, 4), torch.randn(5, 6)
    return process, tp.trace(process, x, w)


def same(a, b):
    assert a.keys() == b.keys()
    for k in a:
        assert torch.equal(a[k], b[k])


def test_traced_saved_and_loaded(pipeline, tmp_path):
    process, traced = pipeline
    traced.save(tmp_path / "p.tpk")
    loaded = tp.load(tmp_path / "p.tpk")
    for rows in (3, 8):
        x, w = torch.randn(rows, 4), torch.randn(5, 6)
        expected = process(x, w)
        same(traced.run({"x": x, "w": w}), expected)
        same(loaded.run({"x": x, "w": w}), expected)


def test_saving_twice_gives_the_same_file(pipeline, tmp_path):
    for name in ("a.tpk", "b.tpk"):
        pipeline[1].save(tmp_path / name)
    assert (tmp_path / "a.tpk").read_bytes() == (tmp_path / "b.tpk").read_bytes()


def test_without_compiler_the_archive_runs_on_torch_operators(tmp_path, monkeypatch):
    layer, inputs = define(MATMUL), [torch.randn(24, 40), torch.randn(40, 33)]
    schedule = Options("conv").resolve(layer.plan(inputs).program)
    layer.set_tuned([tuple(x.shape) for x in inputs], [Options(schedule=schedule)])
    layer.kernel().with_artifacts = True
    op = tp.script(layer)
    traced = tp.trace(lambda a, b: op(a, b) * 2, *inputs)
    traced.save(tmp_path / "p.tpk")
    expected = layer(*inputs) * 2
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    toolchain.find_toolchain.cache_clear()
    try:
        feed = {"a": inputs[0], "b": inputs[1]}
        trusted = tp.load(tmp_path / "p.tpk", trust=True)
        assert torch.equal(trusted.run(feed), expected)
        plain = tp.load(tmp_path / "p.tpk")
        with pytest.warns(ComprehensionWarning, match="a comprehension runs on torch's operators"):
            found = plain.run(feed)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    finally:
        monkeypatch.undo()
        toolchain.find_toolchain.cache_clear()


def test_without_compiler_an_untuned_archive_says_so_too(tmp_path, monkeypatch):
    layer, inputs = define(MATMUL), [torch.randn(3, 4), torch.randn(4, 5)]
    tp.trace(tp.script(layer), *inputs).save(tmp_path / "p.tpk")
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    toolchain.find_toolchain.cache_clear()
    try:
        loaded = tp.load(tmp_path / "p.tpk")
        with pytest.warns(
            ComprehensionWarning, match=r"torch's operators: no C\+\+ compiler was found, and the archive ca"
        ):
            found = loaded(*inputs)
        torch.testing.assert_close(found, inputs[0] @ inputs[1])
    finally:
        monkeypatch.undo()
        toolchain.find_toolchain.cache_clear()


def test_a_layer_that_was_called_is_copied_with_its_module():
    layer, inputs = define(MATMUL), [torch.randn(3, 4), torch.randn(4, 5)]
    layer.autotune(*inputs, generations=1, pop_size=2)
    model = torch.nn.Module()
    model.layer = layer
    copied = copy.deepcopy(model).layer
    assert copied is not layer
    assert copied.tuned == layer.tuned
    assert torch.equal(copied(*inputs), layer(*inputs))


def test_script_takes_layers_and_kernels():
    layer = define(MATMUL)
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    assert isinstance(layer.kernel(), ComprehensionKernel)
    assert torch.equal(tp.script(layer)(a, b), layer(a, b))


def test_the_face():
    assert tp.comprehension.define is define


@pytest.mark.campaign
def test_sample(capsys):
    path = Path(__file__).parents[2] / "samples" / "comprehension_layer.py"
    assert runpy.run_path(str(path))["main"](epochs=6) > 0.85
    assert "right on" in capsys.readouterr().out
