"""Converters of steps that skl2onnx converts to something else: rows of zeros, and categories that are new.

A `Normalizer` leaves rows alone whose norm is next to nothing. An `OrdinalEncoder` refuses categories that it does not
know, and skl2onnx gives them -1: here such a one becomes an index behind a table, which ONNX Runtime refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ports import UNKNOWN


def exact_converter(estimator: Any) -> Callable[..., Any] | None:
    """The converter of a step; None for one that skl2onnx converts well."""
    if not type(estimator).__module__.startswith("sklearn.preprocessing"):
        return None
    return {"Normalizer": _normalizer, "OrdinalEncoder": _ordinal_encoder}.get(type(estimator).__name__)


def _normalizer(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType
    from skl2onnx.operator_converters.common import concatenate_variables

    given = operator.inputs[0].full_name
    if len(operator.inputs) > 1:
        given = concatenate_variables(scope, operator.inputs, container)
    wide = isinstance(operator.outputs[0].type, DoubleTensorType)
    steps = _Steps(scope, container, np.float64 if wide else np.float32)
    rows = steps.add("Cast", given, to=steps.kind)
    size = steps.add("Abs", rows)
    if operator.raw_operator.norm == "max":
        norm = steps.add("ReduceMax", size, steps.constant([1], np.int64), keepdims=1)
    elif operator.raw_operator.norm == "l1":
        norm = steps.add("ReduceSum", size, steps.constant([1], np.int64), keepdims=1)
    else:
        squares = steps.add("Mul", rows, rows)
        norm = steps.add("Sqrt", steps.add("ReduceSum", squares, steps.constant([1], np.int64), keepdims=1))
    least = steps.constant([10 * np.finfo(steps.dtype).eps], steps.dtype)
    whole = steps.add("Where", steps.add("Less", norm, least), steps.constant([1], steps.dtype), norm)
    steps.add("Div", rows, whole, result=operator.outputs[0].full_name)


class _Steps:
    """Adds nodes of one dtype to a graph of skl2onnx."""

    def __init__(self, scope: Any, container: Any, dtype: Any) -> None:
        from onnx import helper

        self._scope, self._container, self.dtype = scope, container, dtype
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, values: Any, dtype: Any) -> str:
        """The name of a new constant."""
        from onnx import helper

        name, array = str(self._scope.get_unique_variable_name("constant")), np.array(values, dtype)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._container.add_initializer(name, kind, list(array.shape), array.tolist())
        return name

    def add(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Adds a node, and gives the name of its result."""
        result = result or str(self._scope.get_unique_variable_name(kind.lower()))
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), [result], name=name, **attributes)
        return result


def _ordinal_encoder(scope: Any, operator: Any, container: Any) -> Any:
    from skl2onnx.operator_converters.ordinal_encoder import convert_sklearn_ordinal_encoder

    refuses = operator.raw_operator.handle_unknown == "error"
    return convert_sklearn_ordinal_encoder(scope, operator, _CategoryTable(scope, container) if refuses else container)


class _CategoryTable:
    """Stands for the container of skl2onnx: what looks a category up gives its place in a table of the codes."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, op_type: str, inputs: Any, outputs: Any, **attributes: Any) -> Any:
        """Adds a node; one that looks categories up gives the index behind the table for a new one."""
        codes = attributes.get("values_int64s")
        if op_type != "LabelEncoder" or codes is None:
            return self._container.add_node(op_type, inputs, outputs, **attributes)
        place = str(self._scope.get_unique_variable_name("place"))
        found = attributes | {"values_int64s": np.arange(len(codes)), "default_int64": len(codes)}
        self._container.add_node(op_type, inputs, place, **found)
        steps = _Steps(self._scope, self._container, np.int64)
        name = self._scope.get_unique_operator_name(UNKNOWN)
        table = steps.constant(codes, np.int64)
        return self._container.add_node("Gather", [table, place], outputs, name=name)
