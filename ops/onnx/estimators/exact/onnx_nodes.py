"""Nodes: adds nodes of one dtype to a graph that skl2onnx makes."""

from __future__ import annotations

from typing import Any

import numpy as np


class Nodes:
    """Adds the nodes of one operator of skl2onnx.

    Args:
        scope: that of skl2onnx, which gives names.
        container: that of skl2onnx, which keeps the nodes.
        dtype: of the numbers that are computed.
    """

    def __init__(self, scope: Any, container: Any, dtype: Any) -> None:
        from onnx import helper

        self._scope, self._container, self.dtype = scope, container, np.dtype(dtype).type
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, values: Any, dtype: Any = None) -> str:
        """The name of a new constant, of the dtype of the nodes unless another is given."""
        from onnx import helper

        name, array = str(self._scope.get_unique_variable_name("constant")), np.asarray(values, dtype or self.dtype)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._container.add_initializer(name, kind, list(array.shape), array.ravel().tolist())
        return name

    def texts(self, values: Any) -> str:
        """The name of a new constant of texts."""
        from onnx import TensorProto

        name, held = str(self._scope.get_unique_variable_name("constant")), [str(each).encode() for each in values]
        self._container.add_initializer(name, TensorProto.STRING, [len(held)], held)
        return name

    def add(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Adds a node, and gives the name of its result."""
        result = result or str(self._scope.get_unique_variable_name(kind.lower()))
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), [result], name=name, **attributes)
        return result


def is_wide(operator: Any) -> bool:
    """Whether an operator of skl2onnx takes float64."""
    return type(operator.inputs[0].type).__name__ == "DoubleTensorType"


def takes_floats(operator: Any) -> bool:
    """Whether an operator of skl2onnx takes floating numbers."""
    return is_wide(operator) or type(operator.inputs[0].type).__name__ == "FloatTensorType"


def guess_kind(variable: Any) -> int:
    """The kind of number, in ONNX, of a variable of skl2onnx."""
    from skl2onnx.common.data_types import guess_proto_type

    return int(guess_proto_type(variable.type))


def nodes_of(scope: Any, operator: Any, container: Any) -> Nodes:
    """The nodes of an operator, in the dtype that it takes; integers are computed in float32."""
    return Nodes(scope, container, np.float64 if is_wide(operator) else np.float32)


def taken(nodes: Nodes, operator: Any) -> str:
    """The input of an operator as one matrix of the dtype of its nodes."""
    given = [each.full_name for each in operator.inputs]
    if len(given) == 1 and takes_floats(operator):
        return str(given[0])
    cast = [nodes.add("Cast", each, to=nodes.kind) for each in given]
    return cast[0] if len(cast) == 1 else nodes.add("Concat", *cast, axis=1)
