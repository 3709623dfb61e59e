"""A whole pipeline as an ONNX file: right at every size in ONNX Runtime, or refused with the reason and the line."""

from __future__ import annotations

import pytest
import torch

import tracepack

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")


def test_the_file_has_the_names_and_the_free_sizes_of_the_signature(tmp_path) -> None:
    layer = torch.nn.Linear(4, 3)
    op = tracepack.script(layer, name="layer")

    def process(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        scores = op(batch["x"] / 255 + batch["shift"])
        return {"scores": scores.softmax(-1), "best": scores.argmax(-1)}

    mod = tracepack.trace(process, {"x": torch.rand(2, 4), "shift": torch.rand(4)})
    path = tmp_path / "layer.onnx"
    mod.to_onnx(path, [{"batch": {"x": torch.rand(2, 4), "shift": torch.rand(4)}}])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [(each.name, each.shape) for each in session.get_inputs()] == [("batch.x", ["N", 4]), ("batch.shift", [4])]
    assert [(each.name, each.shape) for each in session.get_outputs()] == [("scores", ["N", 3]), ("best", ["N"])]
    for rows in (1, 2, 7):
        x, shift = torch.rand(rows, 4) * 255, torch.rand(4)
        scores, best = session.run(None, {"batch.x": x.numpy(), "batch.shift": shift.numpy()})
        with torch.no_grad():
            wanted = layer(x / 255 + shift)
        torch.testing.assert_close(torch.from_numpy(scores), wanted.softmax(-1))
        assert best.tolist() == wanted.argmax(-1).tolist()
    assert str(tmp_path).encode() not in path.read_bytes()


def test_sizes_of_rows_that_are_stacked_have_the_letters_of_the_signature(tmp_path) -> None:
    """Torch's export shares the sizes of such rows, frozen, between values."""
    mod = tracepack.trace(lambda x, y: torch.vstack([x, y]), torch.rand(5), torch.rand(5))
    path = tmp_path / "stack.onnx"
    mod.to_onnx(path, [{"x": torch.rand(5), "y": torch.rand(5)}])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [each.shape for each in session.get_inputs()] == [["N"], ["N"]]
    x, y = torch.rand(8), torch.rand(8)
    (found,) = session.run(None, {"x": x.numpy(), "y": y.numpy()})
    assert torch.from_numpy(found).equal(torch.stack([x, y]))


LABELS = ["a", "b"]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: [LABELS[j] for j in x.argmax(-1).tolist()], r"ONNX has no such operation: .*tolist.*"),
        (lambda x: tracepack.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x), "no such operation: cond"),
        (lambda x: (x * 2, x.shape[0]), r"out\[1\]: an ONNX model gives tensors only; got int"),
        (lambda x: torch.special.bessel_j0(x), "it cannot be expressed in ONNX; got torch.onnx cannot export it"),
    ],
)
def test_what_onnx_cannot_say_is_named(function, text, tmp_path) -> None:
    mod = tracepack.trace(function, torch.rand(3, 2))
    with pytest.raises(tracepack.LoweringError, match=text) as found:
        mod.to_onnx(tmp_path / "no.onnx", [{"x": torch.rand(3, 2)}])
    if "no such operation" in text:
        assert "test_onnx_file.py:" in str(found.value)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_answers_otherwise_is_not_written(tmp_path, monkeypatch) -> None:
    from tracepack.pipeline.optimizing import onnx_file

    mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
    wrong = tracepack.trace(lambda x: x * 3, torch.rand(3))
    wrong.to_onnx(tmp_path / "wrong.onnx", [{"x": torch.rand(3)}])
    forged = type("Model", (), {"data": (tmp_path / "wrong.onnx").read_bytes()})()
    monkeypatch.setattr(onnx_file, "onnx_model", lambda task, **options: forged)
    with pytest.raises(tracepack.LoweringError, match="output 'out': the ONNX model answers otherwise"):
        mod.to_onnx(tmp_path / "right.onnx", [{"x": torch.rand(3)}])
    assert not (tmp_path / "right.onnx").exists()


def test_without_examples_there_is_nothing_to_hold_it_against(tmp_path) -> None:
    mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
    with pytest.raises(tracepack.SignatureError, match="there are no examples"):
        mod.to_onnx(tmp_path / "double.onnx")


def whole(low: int, high: int) -> torch.Tensor:
    return torch.randint(low, high, (4, 6), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.nn.functional.logsigmoid(x), "it takes the logarithm of a sigmoid"),
        (lambda x: x % 0.1, "it rounds quotients of floating numbers"),
        (lambda x: x // 0.7, "it rounds quotients of floating numbers"),
        (lambda x: x.log1p(), "it keeps the digits of small numbers"),
    ],
)
def test_what_optimize_leaves_to_torch_is_refused_with_its_line(function, reason, tmp_path) -> None:
    mod = tracepack.trace(function, torch.rand(4, 6) + 0.1)
    with pytest.raises(tracepack.LoweringError, match=f"a runtime answers otherwise; got {reason}") as found:
        mod.to_onnx(tmp_path / "no.onnx", [{"x": torch.rand(4, 6) + 0.1}])
    assert "test_onnx_file.py:" in str(found.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("function", "example", "text"),
    [
        (
            lambda x: x.sigmoid().log(),
            torch.rand(4, 6),
            "for -20 and below; got output 'out' is -inf, expected -20.0",
        ),
        (lambda x: x.sum(1), whole(0, 20), "for integers at 9007199254740993; got output 'out' is 540431955284460"),
        (lambda x: x.prod(1), whole(0, 20), r"for integers at .* for a row with \[16777217, 16777220, "),
        (lambda x: torch.div(x, 3, rounding_mode="floor"), whole(0, 20), "for integers at .*, for an input with 1677"),
    ],
)
def test_numbers_that_the_examples_do_not_hold_are_tried(function, example, text, tmp_path) -> None:
    mod = tracepack.trace(function, example)
    with pytest.raises(tracepack.LoweringError, match=f"the ONNX model answers otherwise {text}"):
        mod.to_onnx(tmp_path / "no.onnx", [{"x": example}])
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_the_function_bounds_need_not_be_right_beyond(tmp_path) -> None:
    mod = tracepack.trace(lambda x: x.clamp(0, 100).sum(1), whole(0, 20))
    mod.to_onnx(tmp_path / "sum.onnx", [{"x": whole(0, 20)}])
    session = onnxruntime.InferenceSession(tmp_path / "sum.onnx", providers=["CPUExecutionProvider"])
    for x in (whole(-9, 9), whole(-(2**62), 2**62)):
        assert session.run(None, {"x": x.numpy()})[0].tolist() == x.clamp(0, 100).sum(1).tolist()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x.amax(1), r"for NaN: output 'out' is 0\.\d+, expected nan, for a row with \[.*nan"),
        (lambda x: x.mean(0), "for no rows: output 'out' is 0.0, expected nan"),
        (lambda x: x.sign(), "for NaN: output 'out' is nan, expected 0.0, for an input with nan"),
    ],
)
def test_of_missing_numbers_a_warning_says_what_is_otherwise(function, said, tmp_path) -> None:
    mod = tracepack.trace(function, torch.rand(4, 6))
    with pytest.warns(UserWarning, match=f"the ONNX model answers otherwise {said}"):
        mod.to_onnx(tmp_path / "most.onnx", [{"x": torch.rand(4, 6)}])
    assert (tmp_path / "most.onnx").exists()
