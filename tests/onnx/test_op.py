"""ONNX models as ops, against ONNX Runtime fed directly, torch and numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper

import tracepack
from tests.onnx.models import (
    DOUBLE,
    EMPTY,
    FLOAT,
    INT64,
    STRING,
    classifier,
    linear,
    lookup,
    model,
    port,
    unary,
    weights,
)

WEIGHT = weights(4, 3)
LABELS = ["cat", "dog", "fox"]


def directly(made: onnx.ModelProto, **feed: Any) -> list[Any]:
    """The answers of ONNX Runtime by itself."""
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


@pytest.fixture
def op() -> tracepack.InferenceOp:
    return tracepack.script(linear(WEIGHT), name="net")


def test_a_path_bytes_and_a_proto_are_one_model(tmp_path: Path) -> None:
    made = linear(WEIGHT)
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    x = torch.randn(5, 4)
    wanted = torch.relu(x @ torch.from_numpy(WEIGHT))
    for given, name in ((path, "net"), (str(path), "net"), (made, "onnx"), (made.SerializeToString(), "onnx")):
        op = tracepack.script(given)
        assert op.name == name
        torch.testing.assert_close(op(x), wanted)
        assert torch.equal(op(x=x), op(x))


def test_sizes_stay_free_and_are_named(op: Any, reloaded: Any) -> None:
    mod = tracepack.trace(lambda x: op(x), torch.randn(2, 4))
    loaded = reloaded(mod, trust=True)
    for pipeline in (mod, loaded):
        assert str(pipeline.signature) == "(x: f32[N,4]) -> f32[N,3]"
        for rows in (0, 1, 2, 7) if EMPTY else (1, 2, 7):
            x = torch.randn(rows, 4)
            assert np.array_equal(pipeline(x).numpy(), directly(linear(WEIGHT), x=x.numpy())[0])


def test_two_sizes_of_one_name_are_equal(reloaded: Any) -> None:
    made = model(
        [helper.make_node("Add", ["a", "b"], ["c"])],
        [port("a", FLOAT, ["rows", "width of b"]), port("b", FLOAT, ["rows", "width of b"])],
        [port("c", FLOAT, ["rows", "width of b"])],
    )
    op = tracepack.script(made, name="add")
    mod = tracepack.trace(lambda a, b: op(b=b, a=a), torch.randn(2, 3), torch.randn(2, 3))
    assert str(mod.signature).startswith("(a: f32[N,M], b: f32[N,M]) -> f32[N,")
    a, b = torch.randn(5, 6), torch.randn(5, 6)
    assert torch.equal(reloaded(mod, trust=True)(a, b), a + b)
    with pytest.raises(tracepack.SignatureError) as got:
        op(a, torch.randn(5, 1))
    assert str(got.value) == (
        "op 'add', input 'b': dimension 1 must equal dimension 1 of 'a'; got 1 in shape (5, 1); expected 6"
    )


TO = "Pass .to(torch.float32) of a tensor, .astype('float32') of an array."
NOT_THESE = "these are not the inputs of the model; got"


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((torch.randn(2, 4).double(),), {}, f", input 'x': wrong dtype; got float64; expected float32. {TO}"),
        ((torch.ones(2, 4).long(),), {}, f", input 'x': wrong dtype; got int64; expected float32. {TO}"),
        ((torch.randn(2, 5),), {}, ", input 'x': dimension 1 has a wrong size; got 5 in shape (2, 5); expected 4"),
        ((torch.randn(4),), {}, ", input 'x': wrong rank; got shape (4,); expected 2 dimensions, f32[N,4]"),
        (([1.0],), {}, ", input 'x': not a tensor; got list; expected f32[N,4]"),
        ((), {}, f": {NOT_THESE} []; expected ['x']"),
        ((), {"y": 1}, f": {NOT_THESE} ['y']; expected ['x']"),
        ((1, 2), {}, f": {NOT_THESE} ['x', 'argument 2']; expected ['x']"),
        ((1,), {"x": 2}, f": {NOT_THESE} ['x', 'x']; expected ['x']"),
    ],
)
def test_what_does_not_fit_is_named(op: Any, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(tracepack.SignatureError) as got:
        op(*args, **kwargs)
    assert str(got.value) == f"op 'net'{message}"


def test_the_example_is_tried_at_once() -> None:
    with pytest.raises(tracepack.SignatureError, match="expected float32"):
        tracepack.script(linear(WEIGHT), example=torch.randn(2, 4).double())
    assert tracepack.script(linear(WEIGHT), example={"x": torch.randn(2, 4)}).name == "onnx"


def test_a_pipeline_checks_its_inputs_like_the_op(op: Any, reloaded: Any) -> None:
    loaded = reloaded(tracepack.trace(lambda x: op(x), torch.randn(2, 4)), trust=True)
    with pytest.raises(tracepack.SignatureError, match="input 'x': wrong dtype; got float64; expected float32"):
        loaded(torch.randn(2, 4).double())
    with pytest.raises(tracepack.SignatureError, match="input 'x': dimension 1 has a wrong size"):
        loaded(torch.randn(2, 5))


def test_several_outputs_have_their_names_and_labels_are_strings(reloaded: Any) -> None:
    made = classifier(WEIGHT, LABELS)
    op = tracepack.script(made, name="animals")

    def process(x: torch.Tensor) -> dict[str, Any]:
        found = op(x * 2)
        labels = found["label"]
        return {
            "labels": labels, "first": labels[0].upper(), "count": len(labels), "all": [f"a {each}" for each in labels],
            "probs": found["scores"].softmax(-1),
        }  # fmt: skip

    mod = tracepack.trace(process, torch.randn(2, 4))
    for pipeline in (mod, reloaded(mod, trust=True)):
        for rows in (1, 2, 6):
            x = torch.randn(rows, 4)
            label, scores = directly(made, x=(x * 2).numpy())
            got = pipeline(x)
            assert got["labels"] == label.tolist() == [LABELS[i] for i in scores.argmax(1)]
            assert (got["first"], got["count"]) == (label[0].upper(), rows)
            assert got["all"] == [f"a {each}" for each in label]
            assert torch.equal(got["probs"], torch.from_numpy(scores).softmax(-1))


def test_strings_go_in(reloaded: Any) -> None:
    op = tracepack.script(lookup({"hello": 5, "world": 7}), name="words")
    assert op("hello").tolist() == [5]

    def process(text: str) -> torch.Tensor:
        return op(text.lower().split())

    mod = tracepack.trace(process, "Hello you")
    for pipeline in (mod, reloaded(mod, trust=True)):
        assert pipeline("hello my World né").tolist() == [5, -1, 7, -1]
        if EMPTY:
            assert pipeline("").tolist() == []
    with pytest.raises(
        tracepack.SignatureError, match="op 'words', input 'words': wrong type; got Tensor; expected strings"
    ):
        op(torch.ones(2))


def test_the_length_of_a_list_of_strings_is_checked() -> None:
    """ONNX Runtime itself joined columns of other lengths, and answered."""
    node = helper.make_node("StringConcat", ["a", "b"], ["c"])
    made = model([node], [port("a", STRING, ["N"]), port("b", STRING, ["N"])], [port("c", STRING, ["N"])])
    op = tracepack.script(_at_opset(made, 20), name="join")
    assert op(["x", "y"], ["1", "2"]) == ["x1", "y2"]
    with pytest.raises(tracepack.SignatureError) as got:
        op(["x", "y"], ["1"])
    assert str(got.value) == (
        "op 'join', input 'b': the list has a wrong length; got 1; expected 2, as dimension 0 of 'a'"
    )
    fixed = tracepack.script(unary("Identity", STRING, [3]), name="three")
    with pytest.raises(tracepack.SignatureError, match="op 'three', input 'x': the list has .* got 2; expected 3"):
        fixed(["a", "b"])


def _at_opset(made: onnx.ModelProto, version: int) -> onnx.ModelProto:
    made.opset_import[0].version = version
    return made


def test_a_scaler_a_model_and_a_look_up(tmp_path: Path) -> None:
    """Two ops of ONNX and torch code between them, in one file with golden examples."""
    scale = tracepack.script(unary("Softsign", FLOAT, ["N", 4]), name="scale")
    net = tracepack.script(linear(WEIGHT), name="net")

    def process(x: torch.Tensor) -> Any:
        scores = net(scale(x) + 1)
        return [LABELS[i] for i in scores.argmax(-1).tolist()], scores

    mod = tracepack.trace(process, torch.randn(2, 4))
    mod.save(tmp_path / "animals.tpk", examples=[{"x": torch.randn(3, 4)}])
    loaded = tracepack.load(tmp_path / "animals.tpk", trust=True, verify="golden")
    x = torch.randn(9, 4)
    wanted = torch.relu((torch.nn.functional.softsign(x) + 1) @ torch.from_numpy(WEIGHT))
    labels, scores = loaded(x)
    torch.testing.assert_close(scores, wanted)
    assert labels == [LABELS[i] for i in wanted.argmax(-1).tolist()]
    assert loaded.placement == {"scale": "cpu", "net": "cpu"}
    mod.save(tmp_path / "again.tpk", examples=[{"x": torch.randn(3, 4)}])
    assert abs((tmp_path / "again.tpk").stat().st_size - (tmp_path / "animals.tpk").stat().st_size) < 200


def test_saving_twice_gives_the_same_file(op: Any, tmp_path: Path) -> None:
    mod = tracepack.trace(lambda x: op(x), torch.randn(2, 4))
    for name in ("a", "b"):
        mod.save(tmp_path / name)
    tracepack.load(tmp_path / "a", trust=True).save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
    assert (tmp_path / "a").stat().st_size < len(linear(WEIGHT).SerializeToString()) + 4000  # one copy of the model


def test_no_shapes_in_the_model(reloaded: Any) -> None:
    op = tracepack.script(unary("Relu", FLOAT, None), name="relu")
    assert op(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert op(torch.tensor(-1.0)).shape == ()
    loaded = reloaded(tracepack.trace(lambda x: op(x), torch.randn(2, 3)), trust=True)
    assert loaded(torch.full((5, 4), -1.0)).tolist() == [[0.0] * 4] * 5
    with pytest.raises(tracepack.SignatureError, match="wrong rank"):
        loaded(torch.ones(3))


def test_sizes_that_data_decides(reloaded: Any) -> None:
    made = model(
        [helper.make_node("NonZero", ["x"], ["places"])], [port("x", FLOAT, ["N"])], [port("places", INT64, [1, None])]
    )
    op = tracepack.script(made)
    mod = reloaded(tracepack.trace(lambda x: (op(x), op(x).shape[1] + 1), torch.tensor([0.0, 1.0, 1.0])), trust=True)
    for data in ([0.0, 0.0, 3.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        places, count = mod(torch.tensor(data))
        assert places[0].tolist() == np.flatnonzero(data).tolist()
        assert count == len(places[0]) + 1


def test_gradients_are_refused(op: Any, tmp_path: Path) -> None:
    x = torch.randn(2, 4, requires_grad=True)
    assert not op(x).requires_grad  # as every op answers
    tracepack.trace(lambda x: op(x * 2), torch.randn(2, 4)).save(tmp_path / "a.tpk")
    trained = tracepack.load(tmp_path / "a.tpk", trust=True, grad=True)
    with pytest.raises(
        tracepack.LoweringError, match=r"op 'net': no gradient passes through an ONNX model\. Call \.detach"
    ):
        trained(x)
    assert trained(x.detach()).shape == (2, 3)


def test_inside_of_a_model_it_is_refused(op: Any) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return op(x) + 1

    with pytest.raises(tracepack.LoweringError, match="an ONNX model is called inside of a model that is exported"):
        tracepack.script(Model(), example=torch.randn(2, 4))


def test_branches_and_loops(op: Any, reloaded: Any) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return tracepack.cond(x.sum() > 0, lambda x: op(x), lambda x: op(-x) + 1, x)

    mod = reloaded(tracepack.trace(process, torch.ones(2, 4)), trust=True)
    for x in (torch.ones(3, 4), -torch.ones(3, 4)):
        assert torch.equal(mod(x), process(x))


def test_outputs_that_no_op_has() -> None:
    sequence = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    made = model([helper.make_node("SequenceConstruct", ["x"], ["y"])], [port("x", FLOAT, ["N"])], [sequence])
    with pytest.raises(
        tracepack.GraphError, match=r"op 'onnx', 'y': no tensor, or of a dtype .* got seq\(tensor\(float\)\)"
    ):
        tracepack.script(made)
    columns = model(
        [helper.make_node("Identity", ["x"], ["y"])], [port("x", STRING, ["N", 2])], [port("y", STRING, ["N", 2])]
    )
    with pytest.raises(tracepack.GraphError, match="ONNX Runtime fails|strings in more than one dimension"):
        tracepack.script(columns)(["a", "b"])


def test_a_model_that_the_runtime_refuses() -> None:
    made = model([helper.make_node("Nonsense", ["x"], ["y"])], [port("x", DOUBLE, ["N"])], [port("y", DOUBLE, ["N"])])
    with pytest.raises(tracepack.GraphError, match="op 'onnx': ONNX Runtime cannot load the model; got .*Nonsense"):
        tracepack.script(made)


def test_a_run_that_fails(reloaded: Any) -> None:
    made = model(
        [helper.make_node("Gather", ["table", "index"], ["y"])],
        [port("index", INT64, ["N"])],
        [port("y", FLOAT, ["N"])],
        [numpy_helper.from_array(np.arange(3, dtype=np.float32), "table")],
    )  # fmt: skip
    op = tracepack.script(made, name="pick")
    mod = reloaded(tracepack.trace(lambda i: op(i), torch.tensor([1, 2])), trust=True)
    for each in (op, mod):
        with pytest.raises(tracepack.GraphError, match="op 'pick': ONNX Runtime fails; got .*idx=7 must be within"):
            each(torch.tensor([7]))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(tracepack.ScriptError) as got:
        tracepack.script(tmp_path / "none.onnx")
    assert str(got.value) == f"'{tmp_path}/none.onnx': cannot read an ONNX file; got No such file or directory"
