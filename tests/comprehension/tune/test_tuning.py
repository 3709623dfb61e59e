"""Options, their precedence, the tuner, and its cache files."""

import json
import sys
import warnings

import pytest
import torch

from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.cpp.emitter import CppEmitter
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.schedule.options import PRESETS
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.comprehension.tune.genetic import Search
from tracepack.ops.comprehension.tune.progress import Progress

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
QUICK = {"generations": 2, "pop_size": 3, "threads": 2}


@pytest.fixture
def inputs():
    return [torch.randn(24, 40), torch.randn(40, 33)]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset, inputs):
    layer = define(MATMUL)
    torch.testing.assert_close(layer(*inputs, options=preset), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-4)
    emitter = layer.plan(inputs, preset).forward
    assert isinstance(emitter, TorchEmitter if preset == "torch" else CppEmitter)


def test_explicit_options(inputs):
    layer = define(MATMUL)
    options = Options("conv", vectorise="n", tile={"n": 2, "m": 3}, order=("n", "m"), pack=True, threads=2)
    (schedule,) = options.resolve(layer.plan(inputs).program).nests
    assert (schedule.vector, schedule.vectors, schedule.unroll) == ("n", 2, (("m", 3),))
    assert (schedule.order, schedule.pack, schedule.threads) == (("n", "m"), True, 2)
    for changed in (
        options,
        options.with_tile(m=2),
        options.with_threads(1),
        options.with_unroll(m=5),
        options.with_fusion(False),
    ):
        torch.testing.assert_close(layer(*inputs, options=changed), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-4)


def test_options_pair(inputs):
    layer = define(MATMUL)
    a = inputs[0].requires_grad_()
    found = torch.autograd.grad(layer(a, inputs[1], options=[Options("conv"), Options("torch")]).sum(), a)
    torch.testing.assert_close(found, torch.autograd.grad((a @ inputs[1]).sum(), a), rtol=1e-4, atol=1e-4)


def test_wrong_options(inputs):
    layer = define(MATMUL)
    with pytest.raises(errors.OptionsError, match="unknown options 'fast'; expected one of default, naive"):
        Options("fast")
    with pytest.raises(errors.OptionsError, match="the tile of 'm' is no whole number of 1 to 64; got 0"):
        Options(tile={"m": 0})
    with pytest.raises(errors.OptionsError, match="the order names an axis twice; got k"):
        Options(order=("m", "k", "n", "k"))
    with pytest.raises(errors.OptionsError, match=r"'mm' has no axis 'q'; expected one of \['k', 'm', 'n'\]"):
        layer(*inputs, options=Options(tile={"q": 2}))
    with pytest.raises(errors.OptionsError, match="options have a wrong type; got int"):
        layer(*inputs, options=3)
    with pytest.raises(errors.OptionsError, match="unknown gather 'wrap'"):
        define(MATMUL, gather="wrap")
    with pytest.raises(errors.OptionsError, match="pop_size is below 1; got 0"):
        layer.autotune(*inputs, pop_size=0)
    unknown = "autotune: unknown setting 'speed'; expected one of generations, pop_size, crossover_rate"
    with pytest.raises(errors.OptionsError, match=unknown):
        layer.autotune(*inputs, speed=3)
    for seconds in (0, -1, float("nan"), "3"):
        with pytest.raises(errors.OptionsError, match="autotune: seconds is no positive number; got"):
            layer.autotune(*inputs, seconds=seconds)
    with pytest.raises(errors.OptionsError, match="autotune: threads is no whole number; got 'all'"):
        layer.autotune(*inputs, threads="all")


def test_options_survive_json():
    options = Options("conv", vectorise="n", tile={"n": 2}, order=("n",), parallel=False)
    assert Options.from_plain(json.loads(json.dumps(options.to_plain()))) == options
    with pytest.raises(errors.OptionsError, match="options of another version"):
        Options.from_plain({"colour": 1})


def test_autotune_and_its_files(inputs, tmp_path):
    lines: list[str] = []
    layer, cache = define(MATMUL), str(tmp_path / "mm.tc")
    best = layer.autotune(*inputs, cache=cache, progress=lines.append, training=True, **QUICK)
    assert len(best) == 2
    assert all(isinstance(o, Options) for o in best)
    assert "generation 2/2" in "".join(lines)
    assert "best " in lines[0]
    assert (tmp_path / "mm.tc.options").exists()
    assert (tmp_path / "mm.tc_backward.options").exists()
    assert layer.plan(inputs).options.forward == best[0]
    torch.testing.assert_close(layer(*inputs), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-4)
    fresh = define(MATMUL)
    torch.testing.assert_close(fresh(*inputs, cache=cache), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-4)
    assert fresh.plan(inputs, None, cache).options.forward == best[0]
    kept = json.loads((tmp_path / "mm.tc.options").read_text(encoding="utf-8"))["entries"][0]["best"]
    assert [b["ms"] for b in kept] == sorted(b["ms"] for b in kept)
    assert len(kept) <= 10


def test_precedence(inputs, tmp_path):
    layer, cache = define(MATMUL), str(tmp_path / "mm.tc")
    assert layer.plan(inputs).options.forward == Options()
    layer.autotune(*inputs, cache=cache, **QUICK)
    layer.set_tuned([tuple(x.shape) for x in inputs], [Options("naive")])
    assert layer.plan(inputs).options.forward == Options("naive")
    assert layer.plan(inputs, None, cache).options.forward.preset != "naive"
    assert layer.plan(inputs, "torch", cache).options.forward == Options("torch")


def test_sizes_instead_of_tensors():
    layer = define("def f(float(V,D) T, int64(N,K) I) -> (O) { O(i,j) +=! T(I(i,k),j) }")
    assert isinstance(layer.autotune((50, 32), (8, 4), **QUICK), Options)


def test_stale_and_foreign_entries_are_ignored_with_a_word(inputs, tmp_path):
    layer, path = define(MATMUL), tmp_path / "mm.tc.options"
    cache = str(tmp_path / "mm.tc")
    with pytest.warns(ComprehensionWarning, match="has no options for 'mm' of these sizes"):
        layer(*inputs, cache=cache)
    path.write_text("nonsense")
    with pytest.warns(ComprehensionWarning, match="a file of another version was ignored"):
        layer(*inputs, cache=cache)
    path.unlink()
    layer.autotune(*inputs, cache=cache, **QUICK)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["entries"][0]["threads"] == torch.get_num_threads()
    data["entries"][0]["threads"] += 1
    path.write_text(json.dumps(data))
    threads = torch.get_num_threads()
    with pytest.warns(ComprehensionWarning, match=f"of these sizes on {threads} threads of this machine"):
        layer(*inputs, cache=cache)
    data["entries"][0]["threads"] -= 1
    data["entries"][0]["compiler"] = "another"
    path.write_text(json.dumps(data))
    with pytest.warns(ComprehensionWarning, match="has no options"):
        layer(*inputs, cache=cache)
    with pytest.warns(ComprehensionWarning, match="what was tuned on another kind of machine, compiler or number of t"):
        layer.autotune(*inputs, cache=cache, **QUICK)
    assert len(json.loads(path.read_text(encoding="utf-8"))["entries"]) == 2
    data["entries"][0] = {
        **json.loads(json.dumps(data["entries"][0])),
        "best": [{"ms": 1.0, "options": {"colour": 1}}],
    }
    from tracepack.ops.kernels.toolchain import compiler_version

    data["entries"][0]["compiler"] = compiler_version()
    path.write_text(json.dumps(data))
    with pytest.warns(ComprehensionWarning, match="an entry .* was ignored"):
        layer(*inputs, cache=cache)


def test_an_interrupt_keeps_the_best(inputs):
    layer, lines = define(MATMUL), []

    def stop(line: str) -> None:
        lines.append(line)
        if "2/" in line and "interrupted" not in line and len(lines) > 1:
            raise KeyboardInterrupt

    best = layer.autotune(*inputs, progress=stop, **QUICK)
    assert isinstance(best, Options)
    assert lines[-1].endswith("interrupted, the best so far is kept")
    assert layer.plan(inputs).options.forward == best


def test_an_interrupt_ends_the_backwards_search_too(inputs):
    lines: list[str] = []

    def stop(line: str) -> None:
        lines.append(line)
        if "interrupted" not in line:
            raise KeyboardInterrupt

    _, backward = define(MATMUL).autotune(*inputs, progress=stop, training=True, **QUICK)
    assert backward == Options()
    assert not any("backward" in line for line in lines)


def test_the_bar(capsys, monkeypatch):
    """On a terminal the bar stays on its line and covers what was there; elsewhere a generation takes a line."""
    progress = Progress("mm forward", True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress.show(0.5, "best 10.0000 ms", False)
    progress.show(1.0, "best 9.0000 ms", True)
    progress.interrupted()
    first, second, *rest = capsys.readouterr().err.split("\r")[1:]
    assert first == f"mm forward [{'#' * 12}{'.' * 12}] best 10.0000 ms, 0 s"
    assert second == f"mm forward [{'#' * 24}] best 9.0000 ms, 0 s \nmm forward: interrupted, the best so far is kept\n"
    assert not rest
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    progress.show(0.5, "best 2 ms", False)
    progress.show(1.0, "best 1 ms", True)
    assert capsys.readouterr().err == "mm forward: best 1 ms\n"


def test_a_wrong_candidate_never_wins(inputs, monkeypatch):
    """A candidate that computes something else is left out however fast it is."""
    real = CppEmitter.__call__
    monkeypatch.setattr(CppEmitter, "__call__", lambda self, *a: [t + 1 for t in real(self, *a)])
    monkeypatch.setattr(Search, "_timed", lambda self, run, rounds: 1.0 if isinstance(run, TorchEmitter) else 0.1)
    assert define(MATMUL).autotune(*inputs, **QUICK) == Options("torch")


def test_no_warning_in_the_ordinary_way(inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        define(MATMUL)(*inputs)


@pytest.mark.parametrize("name", ["no/such/x.tc", "file/x.tc", "dir.tc", "x" * 300, "a\0b"])
def test_a_cache_that_cannot_be_written_is_refused_before_the_search(name, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "dir.tc.options").mkdir()
    monkeypatch.setattr(Search, "run", lambda *_: pytest.fail("the search began"))
    layer = define("def f(float(N) A) -> (B) { B(i) = A(i) * 2 }")
    with pytest.raises(errors.OptionsError, match=r"the cache file cannot be written: .* Name a file in your folder"):
        layer.autotune((4,), cache=f"{tmp_path}/{name}")
