"""Files that lie about the package of an operator."""

from __future__ import annotations

import re

import pytest
import torch

import tracepack
from tests.security.forge import archive_of
from tracepack.ops.graph.graph import Graph, KernelCall, Node, Value
from tracepack.ops.graph.types import TensorType
from tracepack.ops.kernels.package_operator import OperatorKernel


@pytest.mark.parametrize(
    ("operator", "module", "message"),
    [
        ("aten::set_.source_Tensor", "json", "the import of 'json' registers no such operator; expected one of 'json'"),
        ("prims::abs", "json", "the import of 'json' registers no such operator"),
        ("torch::nothing", "json", "the import of 'json' registers no such operator"),
        ("load_library::f", "json", "the import of 'json' registers no such operator"),
        ("aten::add.Tensor", "torch", "the import of 'torch' registers no such operator"),
        (
            "a::b",
            "package_that_is_not_there",
            "needs the package 'package_that_is_not_there' 1.0, which is not installed",
        ),
        ("a.b", "json", "the operator of a package is malformed"),
        ("a::b; import os", "json", "the operator of a package is malformed"),
        ("a::b", 7, "the operator of a package is malformed"),
    ],
)
def test_a_file_that_lies(operator: str, module: str, message: str) -> None:
    """Torch says which operators are those of a package, and not the file."""
    fields = {"operator": operator, "schema": "", "module": module, "version": "1.0"}
    x = Value(TensorType("float32", (4,)))
    node = Node(KernelCall(OperatorKernel(torch.abs, fields)), (x,), {}, Value(TensorType("float32", (4,))))
    with pytest.raises(tracepack.TracepackError, match=re.escape(message)):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)), packages=[str(module)], trust=True)


LIBRARY = torch.library.Library("forged_t", "DEF")
LIBRARY.define("fill(Tensor(a!) x) -> ()")
LIBRARY.define("part(Tensor(a) x) -> Tensor(a)")
LIBRARY.impl("fill", lambda x: x.fill_(7), "CPU")
LIBRARY.impl("part", lambda x: x[1:], "CPU")


@pytest.mark.parametrize(
    ("name", "why"),
    [("fill", "it writes to its arguments"), ("part", "its result may share memory with its arguments")],
)
def test_an_operator_whose_writes_no_graph_follows(name: str, why: str) -> None:
    overload = getattr(torch.ops.forged_t, name).default
    fields = {"operator": f"forged_t::{name}", "schema": str(overload._schema), "module": __name__, "version": ""}
    x, y = Value(TensorType("float32", (4,))), Value(TensorType("float32", (4,)))
    node = Node(KernelCall(OperatorKernel(overload, fields)), (x,), {}, y if name == "part" else None)
    file = archive_of(Graph((x,), (node,), x))
    with pytest.raises(
        tracepack.UnknownOperatorError, match=f"forged_t::{name}: the operator cannot be called .*: {why}"
    ):
        tracepack.load(file, packages=[__name__])
    with pytest.raises(tracepack.RecordError, match=f"forged_t.{name}.default cannot be recorded: {why}"):
        tracepack.trace(lambda x: (overload(x), x)[1], torch.ones(4))


@pytest.mark.parametrize(
    ("operator", "module"),
    [
        ("torchvision::nms", "json"), ("torchvision::nms", "torchvision_"), ("torchvision::nms", ".torchvision"),
        ("torchvision::nms_", "torchvision"), ("torchvision::roi_align", "torchvision"), ("torchvision::nms", ""),
        ("image::read_file", "torchvision"), ("aten::set_.source_Tensor", "torchvision"),
    ],
)  # fmt: skip
def test_a_file_that_names_what_is_not_on_the_list(operator: str, module: str, monkeypatch) -> None:
    """Nothing is imported for it."""
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"imports {name}"))
    fields = {"operator": operator, "schema": "", "module": module, "version": "1.0"}
    x = Value(TensorType("float32", (4,)))
    node = Node(KernelCall(OperatorKernel(torch.abs, fields)), (x,), {}, Value(TensorType("float32", (4,))))
    with pytest.raises(tracepack.TrustError, match=f"the operator {operator} is code of the package"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))
