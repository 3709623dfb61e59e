"""Reads archives with a reader written from docs/format.md alone, and runs a small graph with numpy."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from itertools import pairwise
from typing import Any

import msgpack
import numpy as np
import torch

import tracepack

DTYPES = {
    "float32": "<f4",
    "float64": "<f8",
    "int64": "<i8",
    "int32": "<i4",
    "uint8": "u1",
    "bool": "?",
    "complex64": "<c8",
}


class Reader:
    """A reader of format 1.0: zipfile for the container, msgpack, and numpy."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.zip = zipfile.ZipFile(io.BytesIO(data))
        self.manifest = msgpack.unpackb(self.zip.read("manifest.msgpack"))
        self.spans = self.header("weights.safetensors")

    def offset(self, name: str) -> int:
        start = self.zip.getinfo(name).header_offset
        length_of_name, length_of_extra = struct.unpack("<HH", self.data[start + 26 : start + 30])
        return start + 30 + length_of_name + length_of_extra

    def header(self, name: str) -> dict[str, tuple[int, int]]:
        start = self.offset(name)
        (length,) = struct.unpack("<Q", self.data[start : start + 8])
        entries = json.loads(self.data[start + 8 : start + 8 + length])
        base = start + 8 + length
        return {key: tuple(base + at for at in entry["data_offsets"]) for key, entry in entries.items()}

    def constant(self, row: dict[str, Any]) -> np.ndarray[Any, Any]:
        begin, end = self.spans[row["tensor"]]
        array = np.frombuffer(self.data[begin:end], DTYPES[row["dtype"]])
        if row["strides"] is None:
            return array.reshape(row["shape"])
        steps = [step * array.itemsize for step in row["strides"]]
        return np.lib.stride_tricks.as_strided(array, row["shape"], steps)

    def graph(self, member: str) -> dict[str, Any]:
        return msgpack.unpackb(self.zip.read(member))


OPERATORS = {
    "aten.linear.default": lambda x, w, b: x @ w.T + b,
    "aten.tanh.default": np.tanh,
    "aten.add.Tensor": np.add,
    "torch.Tensor.mul": np.multiply,
    "torch.Tensor.add": np.add,
    "torch.Tensor.__mul__": np.multiply,
    "torch.Tensor.__add__": np.add,
}


class Runner:
    """Runs graphs of the few operators that the tests use."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def run(self, graph: dict[str, Any], inputs: list[Any]) -> Any:
        values = list(inputs)
        for node in graph["nodes"]:
            args = [self.tree(arg, values) for arg in node["args"]]
            self.define(node.get("output"), self.apply(node["target"], args), values)
        return self.tree(graph["output"], values)

    def apply(self, target: list[Any], args: list[Any]) -> Any:
        match target:
            case ["operator", name]:
                return OPERATORS[name](*args)
            case ["body", number]:
                return self.run(self.reader.graph(self.reader.manifest["bodies"][number]["graph"]), args)
        raise AssertionError(target)

    def define(self, output: Any, result: Any, values: list[Any]) -> None:
        match output:
            case {"o": _}:
                values.append(result)
            case {"t": items}:
                for item, part in zip(items, result, strict=True):
                    self.define(item, part, values)

    def tree(self, tree: Any, values: list[Any]) -> Any:
        match tree:
            case {"v": number}:
                return values[number]
            case {"c": number}:
                return self.reader.constant(self.reader.manifest["constants"][number])
            case {"t": items}:
                return tuple(self.tree(item, values) for item in items)
            case {"d": pairs}:
                return {key: self.tree(item, values) for key, item in pairs}
        return tree


def saved(mod: tracepack.Pipeline, **options: Any) -> bytes:
    file = io.BytesIO()
    mod.save(file, **options)
    return file.getvalue()


def pipeline() -> tracepack.Pipeline:
    torch.manual_seed(0)
    op = tracepack.script(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()), name="net")
    offset = torch.rand(2, 3).T.contiguous().T  # column-major
    return tracepack.trace(lambda x: {"y": (op(x) * 2.0, op(x) + offset)}, torch.rand(2, 4))


def test_another_reader_gets_the_same_numbers() -> None:
    mod = pipeline()
    reader = Reader(saved(mod))
    x = torch.rand(2, 4)
    got = Runner(reader).run(reader.graph("graphs/main.msgpack"), [x.numpy()])
    wanted = mod.run({"x": x})
    assert got.keys() == wanted.keys() == {"y"}
    for a, b in zip(got["y"], wanted["y"], strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-4)  # what the page promises of float32


def test_strides_are_as_written() -> None:
    reader = Reader(saved(pipeline()))
    rows = [row for row in reader.manifest["constants"] if row["strides"] is not None]
    assert [(row["shape"], row["strides"]) for row in rows] == [([2, 3], [1, 2])]


def test_the_container_keeps_its_rules() -> None:
    data = saved(pipeline(), examples=[{"x": torch.rand(2, 4)}])
    reader = Reader(data)
    infos = reader.zip.infolist()
    assert infos[-1].filename == "manifest.msgpack"
    assert all(info.compress_type == zipfile.ZIP_STORED for info in infos)
    assert all(info.date_time == (1980, 1, 1, 0, 0, 0) for info in infos)
    names = {info.filename for info in infos}
    assert names == {*reader.manifest["members"], "manifest.msgpack"}
    assert names >= {"graphs/main.msgpack", "graphs/op0.msgpack", "weights.safetensors", "examples.safetensors"}
    for name, row in reader.manifest["members"].items():
        content = reader.zip.read(name)
        assert (len(content), hashlib.sha256(content).hexdigest()) == (row["size"], row["sha256"])


def test_tensors_are_aligned_without_holes() -> None:
    reader = Reader(saved(pipeline()))
    assert reader.offset("weights.safetensors") % 64 == 0
    spans = sorted(reader.spans.values())
    assert all(begin % 64 == 0 for name, (begin, _) in reader.spans.items() if name.startswith("t"))
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    info = reader.zip.getinfo("weights.safetensors")
    assert spans[-1][1] == reader.offset("weights.safetensors") + info.file_size


def test_safetensors_itself_reads_the_weights() -> None:
    from safetensors.numpy import load

    reader = Reader(saved(pipeline()))
    tensors = load(reader.zip.read("weights.safetensors"))
    row = next(row for row in reader.manifest["constants"] if row["strides"] is None)
    np.testing.assert_array_equal(tensors[row["tensor"]], reader.constant(row))


def test_examples_hold_inputs_and_outputs() -> None:
    mod = pipeline()
    x = torch.rand(2, 4)
    reader = Reader(saved(mod, examples=[{"x": x}]))
    reader.spans = reader.header("examples.safetensors")
    (example,) = reader.manifest["examples"]
    rows = reader.manifest["example_tensors"]
    np.testing.assert_array_equal(reader.constant(rows[example["inputs"]["x"]["c"]]), x.numpy())
    (key, outputs), *_ = example["output"]["d"]
    assert (key, len(outputs["t"])) == ("y", 2)


def test_saving_twice_gives_the_same_bytes() -> None:
    mod = pipeline()
    x = torch.rand(2, 4)
    assert saved(mod, examples=[{"x": x}]) == saved(mod, examples=[{"x": x}])


def test_the_page_names_every_operator_of_python_and_every_limit() -> None:
    from pathlib import Path

    from tracepack.ops.graph.operators.names import PYTHON
    from tracepack.ops.graph.types import DTYPES
    from tracepack.serialization.container.schema import FIELDS, VERSION

    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    words = set(page.replace("`", " ").split())
    assert {name for name in PYTHON if name not in words} == set()
    assert {name for name in DTYPES if name not in words} == set()
    assert {name for name in FIELDS if f"| `{name}` |" not in page} == set()
    assert page.startswith(f"# The archive format, version {VERSION[0]}.{VERSION[1]}")
