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
