"""An engine that runs all of a pipeline is called by the entry itself, and answers as the flat function does."""

from __future__ import annotations

import threading
import warnings

import pytest
import torch

import tracepack
from tests.engines.fakes import in_turn

pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")


@pytest.fixture(scope="module")
def weight() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 4)


@pytest.fixture
def mod(weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> tracepack.Pipeline:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    made = tracepack.trace(lambda x: torch.sigmoid(x @ weight).contiguous(), torch.rand(3, 6))
    made.optimize([{"x": torch.rand(3, 6)}], engines=["onnxruntime"])
    assert made._runner.plan.alone is not None
    return made


def test_it_makes_no_gradients_and_leaves_the_mode_as_it_is(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    x = torch.rand(3, 6, requires_grad=True)
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            found = mod.run({"x": x})
            assert torch.is_grad_enabled() is enabled
        assert not found.requires_grad
        torch.testing.assert_close(found, torch.sigmoid(x.detach() @ weight))


def test_what_the_engine_leaves_to_torch_makes_no_gradients(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    x = torch.rand(3, 6)
    mod.run({"x": x})
    x[1, 2] = float("nan")
    x.requires_grad_()
    with pytest.warns(UserWarning, match="does not answer"):
        found = mod.run({"x": x})
    assert not found.requires_grad
    assert torch.is_grad_enabled()
    torch.testing.assert_close(found, torch.sigmoid(x.detach() @ weight), equal_nan=True)


def test_modes_of_the_caller_hold(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    x = torch.rand(3, 6)
    mod.run({"x": x})
    with torch.autocast("cpu", torch.bfloat16):
        assert mod.run({"x": x}).dtype == torch.sigmoid(x @ weight).dtype
    found = torch.func.vmap(lambda each: mod.run({"x": each}))(torch.stack([x, x + 1]))
    torch.testing.assert_close(found, torch.sigmoid(torch.stack([x, x + 1]) @ weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(lambda each: mod.run({"x": each}), x, check_trace=False)
    torch.testing.assert_close(traced(x + 2), torch.sigmoid((x + 2) @ weight))
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda each: mod.run({"x": each}))(x)
    torch.testing.assert_close(graph(x + 3), torch.sigmoid((x + 3) @ weight))


def test_answers_that_are_kept_stay(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    kept = [(x, mod.run({"x": x})) for x in (torch.rand(rows, 6) for rows in (3, 2, 3, 4, 3, 2) for _ in range(3))]
    for x, found in kept:
        torch.testing.assert_close(found, torch.sigmoid(x @ weight))


def test_threads_have_answers_of_their_own(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    wrong: list[torch.Tensor] = []

    def run(rows: int) -> None:
        for _ in range(200):
            x = torch.rand(rows, 6)
            if not torch.allclose(mod.run({"x": x}), torch.sigmoid(x @ weight), atol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=run, args=(rows,)) for rows in (2, 3, 4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_layouts_and_errors_are_those_of_a_slow_run(mod: tracepack.Pipeline, weight: torch.Tensor) -> None:
    turned = torch.rand(6, 3).t()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (turned, torch.rand(3, 12)[:, ::2], turned, torch.rand(3, 6).numpy()):
            torch.testing.assert_close(mod.run({"x": x}), torch.sigmoid(torch.as_tensor(x) @ weight))
    with pytest.raises(tracepack.SignatureError, match="'x'"):
        mod.run({"x": torch.rand(3, 6).double()})
    with pytest.raises(tracepack.SignatureError, match="'x'"):
        mod.run({"x": torch.rand(3, 5)})


def test_more_than_one_result_is_the_plan_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    made = tracepack.trace(lambda x: {"a": x.tanh() * 2, "b": x.exp() + 1}, torch.rand(3, 6))
    made.optimize([{"x": torch.rand(3, 6)}], engines=["onnxruntime"])
    assert made._runner.plan.alone is None
    x = torch.rand(2, 6)
    torch.testing.assert_close(made.run({"x": x}), {"a": x.tanh() * 2, "b": x.exp() + 1})


def test_new_sizes_that_fit_need_no_slow_run(weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)

    class Product(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(x @ weight) if x.shape[0] < 40 else x @ weight

    process = Product()
    op = tracepack.script(process)
    made = tracepack.trace(lambda x: op(x), torch.rand(3, 6))
    made.optimize([{"x": torch.rand(3, 6)}], engines=["onnxruntime"])
    assert made._runner.plan.alone is not None
    slow: list[torch.Size] = []
    run_slowly = made._runner.run_slowly

    def counted(feed: dict[str, torch.Tensor]) -> object:
        slow.append(feed["x"].shape)
        return run_slowly(feed)

    monkeypatch.setattr(made._runner, "run_slowly", counted)
    monkeypatch.setattr(made._runner, "run", made._runner.entry())  # as the first run makes it
    for rows in (5, 4, 1, 5, 39):
        x = torch.rand(rows, 6)
        torch.testing.assert_close(made.run({"x": x}), process(x))
    assert slow == []
    turned = torch.rand(6, 7).t()
    torch.testing.assert_close(made.run({"x": turned}), process(turned))
    assert slow == [(7, 6)]
    for wrong in (torch.rand(40, 6), torch.rand(3, 5), torch.rand(2, 3, 6), torch.rand(6)):
        with pytest.raises(tracepack.SignatureError, match="N < 40|'x'"):
            made.run({"x": wrong})
        assert slow[-1] == wrong.shape
