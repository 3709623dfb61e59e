"""What an export takes out of a model: shapes that are worked out in every run, and the NaN of hidden rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

import tracepack
from tests.engines.fakes import in_turn

onnx = pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")


@pytest.fixture(autouse=True)
def _untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)


class Attention(torch.nn.Module):
    """Attention with a mask of the words that count."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads, self.into, self.out = heads, torch.nn.Linear(24, 72), torch.nn.Linear(24, 24)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Of words [N, L, 24] and a mask [N, L]."""
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.into(x).chunk(3, -1))
        found = F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :])
        return self.out(found.transpose(1, 2).flatten(2))


def optimized(function: Callable[..., torch.Tensor], *given: torch.Tensor, engine: str) -> tracepack.Pipeline:
    """A pipeline with an engine."""
    pytest.importorskip(engine, reason=f"the extra of {engine} is not installed")
    mod = tracepack.trace(function, *given)
    report = mod.optimize([dict(zip(mod.input_names, given, strict=True))], engines=[engine])
    assert set(report.engines.values()) == {engine}, report
    return mod


def operators(mod: tracepack.Pipeline) -> Counter[str]:
    """How many operators of each kind the model of an engine has."""
    (choice,) = mod.program.engines
    model = onnx.load_from_string(choice.artefact.files["model.onnx"])
    return Counter(node.op_type for node in model.graph.node)


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("heads", [1, 3])
def test_an_attention_works_out_no_shape_and_is_right_at_all_sizes(heads: int, engine: str) -> None:
    op = tracepack.script(Attention(heads), name="attention", contiguous=True)
    mod = optimized(lambda x, mask: op(x, mask), torch.rand(2, 5, 24), torch.ones(2, 5).bool(), engine=engine)
    found = operators(mod)
    assert found["Softmax"] == 1
    assert (found["IsNaN"], found["Slice"], found["Where"]) == (0, 0, 1), found  # the last one is of the mask
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        for rows, length in ((2, 5), (3, 4), (4, 10), (2, 7), (3, 10), (1, 3), (1, 1), (7, 2)):
            x, mask = torch.randn(rows, length, 24), torch.rand(rows, length) > 0.4
            mask[:, 0] = True
            torch.testing.assert_close(mod(x, mask), Attention(heads)(x, mask), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_a_row_that_attends_to_nothing_is_answered_as_torch_does(engine: str) -> None:
    op = tracepack.script(Attention(2), name="attention", contiguous=True)
    mod = optimized(lambda x, mask: op(x, mask), torch.rand(2, 5, 24), torch.ones(2, 5).bool(), engine=engine)
    x, mask = torch.randn(2, 5, 24), torch.tensor([[True] * 5, [False] * 5])
    with pytest.warns(UserWarning, match="an index, an integer or a mask is out of range"):
        found = mod(x, mask)
    with torch.no_grad():
        torch.testing.assert_close(found, Attention(2)(x, mask), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_a_function_that_asks_for_nan_keeps_the_question(engine: str) -> None:
    def chosen(x: torch.Tensor) -> torch.Tensor:
        share = (x * 2).softmax(-1)
        return torch.where(share.isnan(), 0.0, share).contiguous() + 1

    mod = optimized(chosen, torch.rand(3, 4), engine=engine)
    assert operators(mod)["IsNaN"] == 1
    for rows in (2, 3, 5):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(mod(x), chosen(x))


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_shapes_that_are_no_plain_ones_stay(engine: str) -> None:
    def folded(x: torch.Tensor) -> torch.Tensor:
        rows, columns, _ = x.shape
        return (x * 2).reshape(columns, rows, 6).reshape(columns * rows, 3, 2).flatten(1) + 1

    mod = optimized(folded, torch.rand(2, 3, 6), engine=engine)
    for rows, columns in ((2, 3), (3, 2), (4, 6), (5, 2), (1, 4), (3, 9)):
        x = torch.randn(rows, columns, 6)
        torch.testing.assert_close(mod(x), folded(x))


class Recurrent(torch.nn.Module):
    """Two layers of an LSTM: behind each the sizes of its numbers are unknown to the export."""

    def __init__(self, both: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lstm = torch.nn.LSTM(6, 5, 2, batch_first=True, bidirectional=both)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of sequences [N, L, 6]."""
        return self.lstm(x)[0]


@pytest.mark.parametrize("both", [False, True])
def test_behind_an_lstm_no_shape_is_worked_out_and_it_is_right_at_all_sizes(both: bool) -> None:
    op = tracepack.script(Recurrent(both), name="lstm", contiguous=True)
    mod = optimized(lambda x: op(x), torch.rand(3, 7, 6), engine="onnxruntime")
    found = operators(mod)
    assert found["LSTM"] == 2
    assert (found["Mul"], found["Shape"]) == (0, 1), found  # the one is of the state, which is as large as the batch
    with torch.no_grad():
        for rows, length in ((3, 7), (2, 5), (4, 14), (1, 3), (6, 9), (11, 2)):
            x = torch.randn(rows, length, 6)
            torch.testing.assert_close(mod(x), Recurrent(both)(x), rtol=1e-4, atol=1e-5)
