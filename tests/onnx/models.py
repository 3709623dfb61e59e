"""Small ONNX models, whose answers the tests know from torch and numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import FunctionProto, ModelProto, TensorProto, helper, numpy_helper

FLOAT, DOUBLE, INT64, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
EMPTY = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 31)
"""Whether this release of ONNX Runtime is given empty inputs: some earlier ones do not survive them."""
_OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("local", 1)]


def port(name: str, kind: int, shape: Sequence[int | str | None] | None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    initializers: Sequence[Any] = (),
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=_OPSETS, ir_version=10, functions=functions)


def linear(weight: Any, rows: int | str | None = "N") -> ModelProto:
    """`relu(x @ weight)`."""
    held = numpy_helper.from_array(weight, "weight")
    kind = held.data_type
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["product"]), helper.make_node("Relu", ["product"], ["y"])]
    inner, outer = weight.shape
    return model(nodes, [port("x", kind, [rows, inner])], [port("y", kind, [rows, outer])], [held])


def classifier(weight: Any, labels: Sequence[str]) -> ModelProto:
    """The label of the largest of `x @ weight`, and all of them."""
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["index"], axis=1, keepdims=0),
        helper.make_node(
            "LabelEncoder", ["index"], ["label"], domain="ai.onnx.ml",
            keys_int64s=list(range(len(labels))), values_strings=list(labels), default_string="?",
        ),
    ]  # fmt: skip
    inner, outer = weight.shape
    outputs = [port("label", STRING, ["N"]), port("scores", FLOAT, ["N", outer])]
    return model(nodes, [port("x", FLOAT, ["N", inner])], outputs, [numpy_helper.from_array(weight, "weight")])


def lookup(table: dict[str, int]) -> ModelProto:
    """The number of each string of a list; -1 for others."""
    node = helper.make_node(
        "LabelEncoder", ["words"], ["ids"], domain="ai.onnx.ml",
        keys_strings=list(table), values_int64s=list(table.values()), default_int64=-1,
    )  # fmt: skip
    return model([node], [port("words", STRING, ["N"])], [port("ids", INT64, ["N"])])


def unary(operator: str, kind: int, shape: Sequence[int | str | None] | None, **attributes: Any) -> ModelProto:
    """One operator on `x`."""
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    return model([node], [port("x", kind, shape)], [port("y", kind, shape)])


def weights(rows: int, columns: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(0).standard_normal((rows, columns)).astype(dtype)
