"""Regions through which a NaN goes in ONNX Runtime as in torch are fed without a check, on the build that showed it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable

import pytest
import torch

import tracepack
from tests.engines.fakes import in_turn
from tracepack.ops.engines.checks import nan_carriers
from tracepack.ops.engines.checks.nan_carriers import CARRIES, carries

pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")

nan, inf = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def _untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)


def layers(width: int) -> torch.nn.Module:
    """Three layers with `relu` between them."""
    torch.manual_seed(0)
    inner = [torch.nn.Linear(width, 9), torch.nn.ReLU(), torch.nn.Linear(9, 33), torch.nn.ReLU()]
    return torch.nn.Sequential(*inner, torch.nn.Linear(33, 5)).eval()


def optimized(function: Callable[..., torch.Tensor], x: torch.Tensor) -> tracepack.Pipeline:
    """A pipeline with ONNX Runtime."""
    mod = tracepack.trace(function, x)
    report = mod.optimize([{"x": x}], engines=["onnxruntime"])
    assert report.engines == {"pipeline": "onnxruntime"}, report
    return mod


def note(mod: tracepack.Pipeline) -> object:
    """What the artefact says of the build that carries a NaN."""
    (choice,) = mod.program.engines
    return choice.artefact.description.get(CARRIES)


@pytest.mark.parametrize("width", [1, 3, 8, 17, 64])
def test_a_nan_and_an_infinity_go_through_layers(width: int) -> None:
    op = tracepack.script(layers(width), name="layers")
    mod = optimized(lambda x: op(x), torch.rand(3, width))
    assert note(mod)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")  # the engine answers
        for rows in (2, 3, 4, 5, 6, 3):
            for number in (nan, inf, -inf, 3e25, 0.5):
                x = torch.randn(rows, width)
                x[rows // 2, width // 2] = number
                torch.testing.assert_close(mod(x), layers(width)(x), rtol=1e-4, atol=1e-5, equal_nan=True)


def test_arithmetic_carries_a_nan_at_every_place() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return (-(x * 2 - 1).relu() + x).transpose(0, 1).contiguous()

    mod = optimized(scaled, torch.rand(4, 5))
    assert note(mod)
    for columns in range(4, 11):
        for place in range(4 * columns):
            x = torch.randn(4, columns)
            x.view(-1)[place] = nan
            torch.testing.assert_close(mod.run({"x": x}), scaled(x), equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2).clamp(max=1.0).contiguous(),
        lambda x: (x + 1).sigmoid().contiguous(),
        lambda x: (x + 1).amax(-1) * 2,
        lambda x: ((x * 2).double() - 1.0).contiguous(),
    ],
    ids=["bound", "sigmoid", "largest", "of other numbers"],
)
def test_other_functions_keep_the_check(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert note(optimized(function, torch.rand(4, 5))) is None


def test_another_build_keeps_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = optimized(lambda x: (x * 2 + 1).relu().contiguous(), torch.rand(4, 5))
    file = io.BytesIO()
    mod.save(file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracepack.load(file.getvalue(), trust=True)(torch.rand(4, 5))
        tracepack.load(file.getvalue(), trust=True)(torch.full((4, 5), nan))
    monkeypatch.setattr("tracepack.ops.engines.onnxruntime.build", lambda package: "another")
    with pytest.warns(UserWarning, match="an input holds a NaN or an infinity"):
        found = tracepack.load(file.getvalue(), trust=True)(torch.full((4, 5), nan))
    assert found.isnan().all()


def test_an_engine_that_loses_a_nan_is_found_out() -> None:
    def layer(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.relu(x)]

    def bounded(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.where(x > 0, x, 0.0)]

    def infinite(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.relu(x).clamp(max=torch.finfo(torch.float32).max)]

    examples = [[torch.rand(3, 5)]]
    assert carries(layer, layer, examples)
    assert not carries(bounded, layer, examples)
    assert not carries(infinite, layer, examples)


def test_what_was_not_shown_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nan_carriers, "_same_tensor", lambda mine, theirs: False)
    mod = optimized(lambda x: (x * 2 + 1).relu().contiguous(), torch.rand(4, 5))
    assert note(mod) is None
    with pytest.warns(UserWarning, match="an input holds a NaN or an infinity"):
        assert mod(torch.full((4, 5), nan)).isnan().all()
