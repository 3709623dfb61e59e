"""Converters of steps that skl2onnx converts to something else, or for float32 alone.

A `Normalizer` leaves rows alone whose norm is next to nothing. An `OrdinalEncoder` or a `LabelEncoder` refuses
categories that it does not know, and skl2onnx gives them -1: here such a one becomes an index behind a table, which
ONNX Runtime refuses. Imputers, powers and products are computed in the dtype that they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ...ports import UNKNOWN
from .onnx_nodes import Nodes, guess_kind, is_wide, nodes_of, taken, takes_floats
from .other_operator import OtherOperator

Converter = Callable[[Any, Any, Any], Any]
"""What skl2onnx calls with a scope, an operator and a container."""


def exact_step(name: str, known: Converter) -> Converter | None:
    """The converter of a step; None for one that skl2onnx converts well.

    Args:
        name: of its class.
        known: the converter of skl2onnx.
    """
    if name in ("OrdinalEncoder", "LabelEncoder"):
        return lambda scope, operator, container: _encoder(scope, operator, container, known)
    if name == "KBinsDiscretizer":
        return lambda scope, operator, container: _bins(scope, operator, container, known)
    if name == "SimpleImputer":
        return lambda scope, operator, container: _imputer(scope, operator, container, known)
    if name == "PolynomialFeatures":
        return lambda scope, operator, container: _products(scope, operator, container, known)
    own = {"Normalizer": _normalizer, "Binarizer": _binarizer, "PowerTransformer": _powers}
    return own.get(name)


def exact_type(name: str, known: Callable[[Any], None]) -> Callable[[Any], None] | None:
    """What tells skl2onnx the type that a step gives; None for one of which it knows that itself."""

    def calculated(operator: Any) -> None:
        known(operator)
        given, step = operator.outputs[0], operator.raw_operator
        if name == "PowerTransformer" and is_wide(operator):
            given.set_type(type(operator.inputs[0].type)(given.type.shape))
        elif name == "SimpleImputer" and _fills(operator):
            flags = 0 if step.indicator_ is None else len(step.indicator_.features_)
            given.type.shape = [given.type.shape[0], len(_kept(step)) + flags]

    return calculated if name in ("PowerTransformer", "SimpleImputer") else None


def _normalizer(scope: Any, operator: Any, container: Any) -> None:
    nodes = nodes_of(scope, operator, container)
    rows = taken(nodes, operator)
    size = nodes.add("Abs", rows)
    axis = nodes.constant([1], np.int64)
    if operator.raw_operator.norm == "max":
        norm = nodes.add("ReduceMax", size, axis, keepdims=1)
    elif operator.raw_operator.norm == "l1":
        norm = nodes.add("ReduceSum", size, axis, keepdims=1)
    else:
        squares = nodes.add("Mul", rows, rows)
        norm = nodes.add("Sqrt", nodes.add("ReduceSum", squares, axis, keepdims=1))
    least = nodes.constant([10 * np.finfo(nodes.dtype).eps])
    whole = nodes.add("Where", nodes.add("Less", norm, least), nodes.constant([1]), norm)
    nodes.add("Div", rows, whole, result=operator.outputs[0].full_name)


def _binarizer(scope: Any, operator: Any, container: Any) -> None:
    nodes = nodes_of(scope, operator, container)
    rows = taken(nodes, operator)
    above = nodes.add("Greater", rows, nodes.constant([operator.raw_operator.threshold]))
    nodes.add("Cast", above, to=nodes.kind, result=operator.outputs[0].full_name)


def _powers(scope: Any, operator: Any, container: Any) -> None:
    """A `PowerTransformer`: both sides of each rule are computed, and one is chosen for each number."""
    nodes, step = nodes_of(scope, operator, container), operator.raw_operator
    rows = taken(nodes, operator)
    if step.method == "box-cox":
        powered = _power(nodes, rows, step.lambdas_)
    else:
        one, zero = nodes.constant([1]), nodes.constant([0])
        above = _power(nodes, nodes.add("Add", rows, one), step.lambdas_)
        below = _power(nodes, nodes.add("Sub", one, rows), 2 - step.lambdas_)
        powered = nodes.add("Where", nodes.add("Less", rows, zero), nodes.add("Neg", below), above)
    if step.standardize:
        powered = nodes.add("Sub", powered, nodes.constant(step._scaler.mean_))
        powered = nodes.add("Div", powered, nodes.constant(step._scaler.scale_))
    nodes.add("Identity", powered, result=operator.outputs[0].full_name)


def _power(nodes: Nodes, rows: str, exponents: Any) -> str:
    """``(rows ** exponents - 1) / exponents``, and the logarithm for columns whose exponent is 0."""
    flat = exponents == 0
    one, safe = nodes.constant([1]), nodes.constant(np.where(flat, 1, exponents))
    powered = nodes.add("Div", nodes.add("Sub", nodes.add("Pow", rows, safe), one), safe)
    return nodes.add("Where", nodes.constant(flat, bool), nodes.add("Log", rows), powered) if flat.any() else powered


def _products(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A `PolynomialFeatures`: each product is a shorter one times a column, in the order of scikit-learn."""
    if not takes_floats(operator):
        return known(scope, operator, container)
    nodes = nodes_of(scope, operator, container)
    rows = taken(nodes, operator)
    wanted = [tuple(np.repeat(np.arange(len(powers)), powers)) for powers in operator.raw_operator.powers_]
    needed = {each[start:] for each in wanted for start in range(len(each))}
    blocks: dict[int, tuple[dict[Any, int], str]] = {}
    for size in sorted({len(each) for each in needed}):
        group = sorted(each for each in needed if len(each) == size)
        product = nodes.add("Gather", rows, nodes.constant([each[0] for each in group], np.int64), axis=1)
        if size > 1:
            places, shorter = blocks[size - 1]
            rest = nodes.constant([places[each[1:]] for each in group], np.int64)
            product = nodes.add("Mul", nodes.add("Gather", shorter, rest, axis=1), product)
        blocks[size] = {each: place for place, each in enumerate(group)}, product
    parts = []
    for size in dict.fromkeys(len(each) for each in wanted):  # scikit-learn gives them by size
        chosen = [each for each in wanted if len(each) == size]
        parts.append(_ones(nodes, rows) if not size else _chosen(nodes, *blocks[size], chosen))
    return nodes.add("Concat", *parts, axis=1, result=operator.outputs[0].full_name)


def _chosen(nodes: Nodes, places: dict[Any, int], block: str, wanted: list[Any]) -> str:
    return nodes.add("Gather", block, nodes.constant([places[each] for each in wanted], np.int64), axis=1)


def _ones(nodes: Nodes, rows: str) -> str:
    """A column of ones, as long as the rows."""
    first = nodes.add("Shape", rows, start=0, end=1)
    shape = nodes.add("Concat", first, nodes.constant([1], np.int64), axis=0)
    return nodes.add("Expand", nodes.constant([[1]]), shape)


def _imputer(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A `SimpleImputer` of floating numbers; of texts, of which none can be missing in an op."""
    step, kind = operator.raw_operator, type(operator.inputs[0].type).__name__
    missing = step.missing_values
    if kind == "StringTensorType" and not isinstance(missing, str):
        names = [each.full_name for each in operator.inputs]
        nodes = nodes_of(scope, operator, container)
        return nodes.add("Concat", *names, axis=1, result=operator.outputs[0].full_name)
    if not _fills(operator):
        return known(scope, operator, container)
    nodes = nodes_of(scope, operator, container)
    rows = taken(nodes, operator)
    absent = nodes.add("IsNaN", rows) if np.isnan(missing) else nodes.add("Equal", rows, nodes.constant([missing]))
    filled, kept = nodes.add("Where", absent, nodes.constant(_statistics(step)), rows), _kept(step)
    if len(kept) < len(step.statistics_):
        filled = nodes.add("Gather", filled, nodes.constant(kept, np.int64), axis=1)
    if step.indicator_ is not None:
        flags = nodes.add("Gather", absent, nodes.constant(step.indicator_.features_, np.int64), axis=1)
        filled = nodes.add("Concat", filled, nodes.add("Cast", flags, to=nodes.kind), axis=1)
    return nodes.add("Identity", filled, result=operator.outputs[0].full_name)


def _fills(operator: Any) -> bool:
    """Whether a `SimpleImputer` takes floating numbers, and one of them stands for what is missing."""
    missing = operator.raw_operator.missing_values
    return takes_floats(operator) and isinstance(missing, int | float)


def _statistics(step: Any) -> Any:
    return np.asarray(step.statistics_, np.float64)


def _kept(step: Any) -> Any:
    """The columns that stay: one that had no number at all is dropped."""
    return np.flatnonzero(~np.isnan(_statistics(step)))


def _bins(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A `KBinsDiscretizer`, whose flags are dense: ops give no others. What skl2onnx computes of it is float32."""
    from skl2onnx.common.data_types import FloatTensorType

    step, given = copy(operator.raw_operator), operator.outputs[0]
    step.encode = "onehot-dense" if step.encode == "onehot" else step.encode
    narrow = scope.declare_local_variable("bins", FloatTensorType(given.type.shape))
    narrow.init_status(is_fed=True)
    known(scope, OtherOperator(operator, raw_operator=step, outputs=[narrow]), container)
    nodes = nodes_of(scope, operator, container)
    return nodes.add("Cast", narrow.full_name, to=guess_kind(given), result=given.full_name)


def _encoder(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    refuses = getattr(operator.raw_operator, "handle_unknown", "error") == "error"
    return known(scope, operator, _CategoryTable(scope, container) if refuses else container)


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
        nodes = Nodes(self._scope, self._container, np.int64)
        name = self._scope.get_unique_operator_name(UNKNOWN)
        table = nodes.constant(codes)
        return self._container.add_node("Gather", [table, place], outputs, name=name)
