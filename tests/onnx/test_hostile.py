"""Models that name other files are refused wherever they do, when they are scripted and when a file holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

import tracepack
from tests.onnx.models import FLOAT, linear, model, port, unary, weights
from tests.security.forge import archive_of
from tracepack.ops.graph.graph import Graph, KernelCall, Node, Value
from tracepack.ops.graph.types import TensorType
from tracepack.ops.onnx import external_data
from tracepack.ops.onnx.external_data import refuse_external_data
from tracepack.ops.onnx.kernel import OnnxKernel

SECRET = np.arange(4, dtype=np.float32) + 41
REFUSED = "the ONNX model takes a tensor from another file, which an archive cannot hold"
Save = Callable[[ModelProto], Path]


def external(
    shape: tuple[int, ...] = (4,), kind: int = FLOAT, name: str = "w", file: str = "secret.bin"
) -> TensorProto:
    """A tensor whose data lie in another file."""
    tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=file)
    return tensor


def sparse(values: TensorProto, indices: TensorProto | None = None, size: int = 4) -> Any:
    indices = indices or numpy_helper.from_array(np.arange(4), "indices")
    return helper.make_sparse_tensor(values, indices, [size])


def adding(held: Any = (), nodes: Any = (), **changes: Any) -> ModelProto:
    """`x + w`, with `w` from somewhere."""
    found = model(
        [*nodes, helper.make_node("Add", ["x", "w"], ["y"])],
        [port("x", FLOAT, [4])],
        [port("y", FLOAT, [4])],
        held,
        **changes,
    )
    return found


def in_an_initializer() -> ModelProto:
    return adding([external()])


def in_a_sparse_initializer() -> ModelProto:
    found = adding()
    found.graph.sparse_initializer.append(sparse(external()))
    return found


def in_the_indices_of_a_sparse_initializer() -> ModelProto:
    found = adding()
    values = numpy_helper.from_array(SECRET, "w")
    found.graph.sparse_initializer.append(sparse(values, external(kind=TensorProto.INT64, name="indices")))
    return found


def in_an_attribute() -> ModelProto:
    return adding(nodes=[helper.make_node("Constant", [], ["w"], value=external())])


def in_a_sparse_attribute() -> ModelProto:
    return adding(nodes=[helper.make_node("Constant", [], ["w"], sparse_value=sparse(external()))])


def branch(node: Any, held: Any = ()) -> Any:
    return helper.make_graph([node], "branch", [], [port("w", FLOAT, [4])], held)


def choosing(chosen: Any) -> ModelProto:
    """An If, both of whose branches give `w`."""
    condition = numpy_helper.from_array(np.array(True), "condition")
    node = helper.make_node("If", ["condition"], ["w"], then_branch=chosen, else_branch=chosen)
    return adding([condition], [node])


def in_a_branch() -> ModelProto:
    return choosing(branch(helper.make_node("Identity", ["held"], ["w"]), [external(name="held")]))


def in_an_attribute_in_a_branch() -> ModelProto:
    return choosing(branch(helper.make_node("Constant", [], ["w"], value=external())))


def in_a_branch_in_a_branch() -> ModelProto:
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["v"], value=external())], "inner", [], [port("v", FLOAT, [4])]
    )
    condition = helper.make_node("Constant", [], ["flag"], value=numpy_helper.from_array(np.array(True)))
    node = helper.make_node("If", ["flag"], ["w"], then_branch=inner, else_branch=inner)
    return choosing(helper.make_graph([condition, node], "branch", [], [port("w", FLOAT, [4])]))


def in_a_function() -> ModelProto:
    body = [helper.make_node("Constant", [], ["out"], value=external())]
    function = helper.make_function("local", "Secret", [], ["out"], body, [helper.make_opsetid("", 18)])
    return adding(nodes=[helper.make_node("Secret", [], ["w"], domain="local")], functions=[function])


def in_the_default_of_a_functions_attribute() -> ModelProto:
    held = helper.make_attribute("held", external())
    constant = helper.make_node("Constant", [], ["out"])
    constant.attribute.append(AttributeProto(name="value", ref_attr_name="held", type=AttributeProto.TENSOR))
    opsets = [helper.make_opsetid("", 18)]
    function = helper.make_function("local", "Secret", [], ["out"], [constant], opsets, attribute_protos=[held])
    return adding(nodes=[helper.make_node("Secret", [], ["w"], domain="local")], functions=[function])


PLACES = [
    in_an_initializer, in_a_sparse_initializer, in_the_indices_of_a_sparse_initializer, in_an_attribute,
    in_a_sparse_attribute, in_a_branch, in_an_attribute_in_a_branch, in_a_branch_in_a_branch, in_a_function,
    in_the_default_of_a_functions_attribute,
]  # fmt: skip


def in_a_list_of_tensors() -> ModelProto:
    return adding([numpy_helper.from_array(SECRET, "w")], [helper.make_node("Custom", [], [], held=[external()])])


def in_a_list_of_graphs() -> ModelProto:
    graphs = [branch(helper.make_node("Constant", [], ["w"], value=external()))]
    return adding([numpy_helper.from_array(SECRET, "w")], [helper.make_node("Custom", [], [], held=graphs)])


def in_training_information() -> ModelProto:
    found = adding([numpy_helper.from_array(SECRET, "w")])
    found.training_info.add().algorithm.CopyFrom(branch(helper.make_node("Constant", [], ["w"], value=external())))
    return found


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a model names, beside the process."""
    (tmp_path / "secret.bin").write_bytes(SECRET.tobytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("make", [in_an_initializer, in_an_attribute, in_a_branch])
def test_the_runtime_itself_would_read_the_file(secret: Path, make: Any) -> None:
    """What the other tests guard against is real."""
    path = secret / "model.onnx"
    path.write_bytes(make().SerializeToString())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.zeros(4, np.float32)})[0].tolist() == SECRET.tolist()


@pytest.mark.parametrize("make", [*PLACES, in_a_list_of_tensors, in_a_list_of_graphs, in_training_information])
def test_a_tensor_in_another_file_is_refused(secret: Path, make: Any) -> None:
    made = make()
    path = secret / "model.onnx"
    path.write_bytes(made.SerializeToString())
    for given in (path, str(path), made, made.SerializeToString()):
        with pytest.raises(tracepack.GraphError) as got:
            tracepack.script(given)
        name = "model" if given in (path, str(path)) else "onnx"
        assert str(got.value) == (
            f"op {name!r}: {REFUSED}. Write it as one file, below 2 GB: {LOADED}; {SAVED}. onnx.load leaves sparse "
            f"tensors where they are; read them between the two, with h = onnx.numpy_helper: {READ}, where folder is "
            "that of the file."
        )


LOADED, SAVED = "model = onnx.load(path)", "onnx.save(model, new_path)"
READ = (
    "for s in model.graph.sparse_initializer: [t.CopyFrom(h.from_array(h.to_array(t, folder), t.name)) for t in "
    "(s.values, s.indices)]"
)


@pytest.mark.parametrize("make", [in_an_initializer, in_a_sparse_initializer])
def test_the_lines_of_the_message_write_it_as_one_file(secret: Path, make: Any) -> None:
    path, new_path = str(secret / "model.onnx"), str(secret / "whole.onnx")
    Path(path).write_bytes(make().SerializeToString())
    known = {"onnx": onnx, "path": path, "new_path": new_path, "folder": str(secret), "h": numpy_helper}
    for line in (LOADED, READ, SAVED):
        exec(line, known)
    assert tracepack.script(new_path)(torch.zeros(4)).tolist() == SECRET.tolist()


class Forged(OnnxKernel):
    """A kernel with any bytes, for writing it to a file."""

    def __init__(self, data: bytes) -> None:
        self.data, self._name, self._guards = data, "forged", ()


def archive(data: bytes) -> bytes:
    x, y = Value(TensorType("float32", (4,))), Value(TensorType("float32", (4,)))
    return archive_of(Graph((x,), (Node(KernelCall(Forged(data)), (x,), {}, (y,)),), y))


@pytest.mark.parametrize("make", PLACES)
def test_a_forged_file_is_refused_even_with_trust(secret: Path, make: Any) -> None:
    with pytest.raises(tracepack.GraphError, match=REFUSED):
        tracepack.load(archive(make().SerializeToString()), trust=True)


@pytest.mark.parametrize("location", [1, 2, (1 << 32) + 1, (1 << 63) + 1])
def test_any_other_location_is_refused(location: int) -> None:
    """Also one that a parser cuts to 32 bits."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[4], raw_data=SECRET.tobytes()).SerializeToString()
    data = _field(7, _field(5, tensor + _varint(14 << 3) + _varint(location)))
    with pytest.raises(tracepack.GraphError, match=REFUSED):
        refuse_external_data(data, "op")


def test_a_field_that_is_written_twice_is_judged_twice() -> None:
    """protobuf takes the last of them, and merges nested messages."""
    tensor = external().SerializeToString() + _varint(14 << 3) + _varint(0)
    with pytest.raises(tracepack.GraphError, match=REFUSED):
        refuse_external_data(_field(7, _field(5, tensor)), "op")
    graph = _field(5, external().SerializeToString())
    whole = linear(weights(4, 4)).SerializeToString() + _field(7, graph)
    with pytest.raises(tracepack.GraphError, match=REFUSED):
        refuse_external_data(whole, "op")


def test_the_table_of_messages_is_that_of_onnx() -> None:
    """Every field by which a tensor can be reached, by the descriptors of the onnx package."""
    reaching = {"TensorProto"}
    messages = dict(onnx.onnx_ml_pb2.DESCRIPTOR.message_types_by_name)
    while True:
        more = {
            n for n, m in messages.items() if any(f.message_type and f.message_type.name in reaching for f in m.fields)
        }
        if more <= reaching:
            break
        reaching |= more
    wanted = {
        name: {
            f.number: f.message_type.name
            for f in messages[name].fields
            if f.message_type and f.message_type.name in reaching
        }
        for name in reaching
    }
    assert wanted == external_data._NESTED
    fields = messages["TensorProto"].fields_by_name
    assert (fields["external_data"].number, fields["data_location"].number) == (13, 14)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def damaged() -> Iterator[tuple[str, bytes, str]]:
    whole = linear(weights(4, 4)).SerializeToString()
    yield "cut", whole[:-3], "a field that is longer than its message"
    yield "a tag without a value", b"\x08", "bytes that end too early"
    yield "a group", b"\x0b\x0c", "a field of wire type 3"
    yield "field zero", b"\x02\x00", "a field with the number 0"
    yield "a long integer", b"\x08" + b"\xff" * 11, "an integer of more than ten bytes"
    nested = b""
    for number in reversed([7, *[1, 5, 6] * 40]):  # a graph in an attribute of a node of a graph, and so on
        nested = _field(number, nested)
    yield "nested without end", nested, "messages that are nested more than 100 deep"


@pytest.mark.parametrize(("data", "why"), [pytest.param(d, why, id=title) for title, d, why in damaged()])
def test_bytes_that_are_no_model(data: bytes, why: str) -> None:
    with pytest.raises(tracepack.GraphError, match=f"not an ONNX model; got ({why})"):
        tracepack.script(data)
    with pytest.raises(tracepack.GraphError, match=f"op 'forged': not an ONNX model; got ({why})"):
        tracepack.load(archive(data), trust=True)


def test_the_format_of_the_runtime_itself_is_refused(tmp_path: Path) -> None:
    """It is no protobuf, so nothing of it would have been checked."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(unary("Relu", FLOAT, [4]).SerializeToString(), options, ["CPUExecutionProvider"])
    data = (tmp_path / "model.ort").read_bytes()
    assert onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).get_inputs()[0].name == "x"
    with pytest.raises(tracepack.GraphError, match="not an ONNX model|cannot load the model"):
        tracepack.script(data)
