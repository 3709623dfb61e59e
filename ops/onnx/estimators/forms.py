"""Gives a converted estimator the inputs and outputs that its users know.

skl2onnx makes columns and matrices of everything. An op takes a column as one dimension, a list of strings as a list,
and gives labels and predictions in one dimension; its outputs have telling names, and as many rows as its inputs. The
nodes for that stand around the converted graph, so that nothing but the model has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ports import TEXT
from .agreement import Answers
from .rows import Rows

_PREFIX = "estimator."  # of every name inside of the converted graph
_ROWS = "N"


@dataclass(frozen=True)
class Form:
    """What becomes of the results of a converted graph.

    Attributes:
        narrow: whether floating results are rounded to float32: ensembles of trees in ONNX have no others.
        column: the column of the scores that an estimator with two classes gives; None: all of them.
    """

    narrow: bool
    column: int | None


def forms(wanted: Answers, narrow_only: bool) -> Iterator[Form]:
    """The forms to try, those first that lose nothing: converters differ in what they give for two classes.

    Args:
        wanted: the answers of the estimator to the example.
        narrow_only: whether its numbers are float32 anyway, so that some of them are not float64 by chance.
    """
    one_score = wanted.names[-1] == "scores" and wanted.values[-1].ndim == 1
    for narrow in (True,) if narrow_only else (False, True):
        yield from (Form(narrow, column) for column in ((1, 0, None) if one_score else (None,)))


def finished(proto: Any, rows: Rows, wanted: Answers, form: Form) -> Any:
    """The model with new inputs and outputs around it.

    Args:
        proto: what skl2onnx made.
        rows: the example; it says what the inputs are.
        wanted: the answers of the estimator to it; they say what the outputs are.
        form: of its results.

    Raises:
        ValueError: the model has fewer outputs than the estimator has answers.
    """
    from onnx import compose

    graph = compose.add_prefix(proto, _PREFIX)
    _finish(graph.graph, rows, wanted, form)
    return graph


def _finish(graph: Any, rows: Rows, wanted: Answers, form: Form) -> None:
    from onnx import helper

    inputs, outputs = list(graph.input), list(graph.output)
    if len(outputs) < len(wanted.names):
        raise ValueError(f"the model has the outputs {[each.name for each in outputs]}")
    nodes = list(graph.node)
    for field in ("input", "output", "node", "value_info"):
        graph.ClearField(field)
    if len(inputs) == 1 < len(rows.columns):
        columns = [_take(graph, name, rows, f"{name}.number", inputs[0]) for name in rows.columns]
        graph.node.append(helper.make_node("Concat", columns, [inputs[0].name], axis=1))
    else:
        for name, inner in zip(rows.columns, inputs, strict=True):
            _take(graph, name, rows, inner.name, inner)
    graph.node.extend(nodes)
    for name, value, inner in zip(wanted.names, wanted.values, outputs, strict=False):
        _give(graph, name, value, inner, form)


def _take(graph: Any, name: str, rows: Rows, result: str, inner: Any) -> str:
    """Adds an input, and the nodes that turn it into one of the kind that the converted graph takes."""
    from onnx import TensorProto, helper

    dtype, column = rows.dtypes()[name], rows.columns[name]
    shape = [_ROWS] if dtype == TEXT or column.ndim == 1 else [_ROWS, column.shape[1]]
    kind = TensorProto.STRING if dtype == TEXT else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    last = name
    if len(shape) == 1:
        last = _reshaped(graph, last, f"{name}.column", [-1, 1])
    graph.node.append(_converted(last, result, kind, inner.type.tensor_type.elem_type))
    return result


def _give(graph: Any, name: str, value: Any, inner: Any, form: Form) -> None:
    """Adds an output, and the nodes that make it of the one that the converted graph gives."""
    from onnx import TensorProto, helper, numpy_helper

    kind = inner.type.tensor_type.elem_type
    wide = kind in (TensorProto.DOUBLE, TensorProto.FLOAT)
    target = TensorProto.FLOAT if form.narrow and wide else kind
    last = inner.name
    if form.column is not None and name == "scores":
        graph.initializer.append(numpy_helper.from_array(np.array(form.column), f"{name}.column"))
        graph.node.append(helper.make_node("Gather", [last, f"{name}.column"], [f"{name}.chosen"], axis=1))
        last = f"{name}.chosen"
    last = _reshaped(graph, last, f"{name}.shaped", [-1, *value.shape[1:]])
    graph.node.append(_converted(last, name, kind if target == kind else None, target))
    graph.output.append(helper.make_tensor_value_info(name, target, [_ROWS, *value.shape[1:]]))


def _converted(source: str, result: str, given: int | None, wanted: int) -> Any:
    from onnx import helper

    if given == wanted:
        return helper.make_node("Identity", [source], [result])
    return helper.make_node("Cast", [source], [result], to=wanted)


def _reshaped(graph: Any, source: str, result: str, shape: list[int]) -> str:
    from onnx import helper, numpy_helper

    graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), f"{result}.shape"))
    graph.node.append(helper.make_node("Reshape", [source, f"{result}.shape"], [result]))
    return result
