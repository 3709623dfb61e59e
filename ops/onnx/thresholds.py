"""Rows at the thresholds of a tree ensemble, where a model that rounds them takes the other branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .rows import Rows, rows_of

_MOST = 500  # thresholds, chosen at random where an ensemble has more
_ZERO = 1e-30  # LightGBM takes what is nearer to 0 for 0
_KEPT = ("Cast", "Identity")  # operators that leave the columns where they are


def at_thresholds(proto: Any, rows: Rows) -> Iterator[Rows]:
    """Rows of the example with one number at a threshold, and just below and above it.

    Args:
        proto: the ONNX model; ensembles count that take the input of the model itself.
        rows: the example, a matrix of floating numbers.
    """
    if not isinstance(rows.data, np.ndarray) or rows.data.dtype.kind != "f":
        return
    found = sorted(set(_thresholds(proto)))
    if not found:
        return
    random = np.random.default_rng(0)
    chosen = [found[i] for i in random.permutation(len(found))[:_MOST]]
    features = np.array([feature for feature, _ in chosen])
    values = np.array([value for _, value in chosen])
    base = rows.data[np.arange(len(chosen)) % len(rows)]
    for near in _beside(values, rows.data.dtype):
        other = base.copy()
        other[np.arange(len(chosen)), features] = near
        yield rows_of(other)


def _beside(values: Any, dtype: Any) -> Iterator[Any]:
    """Numbers at values, and their neighbours in float32 and in the dtype."""
    for step in {np.float32, dtype.type}:
        rounded = values.astype(step)
        yield rounded.astype(dtype)
        yield np.nextafter(rounded, step(-np.inf)).astype(dtype)
        yield np.nextafter(rounded, step(np.inf)).astype(dtype)


def _thresholds(proto: Any) -> Iterator[tuple[int, float]]:
    """The column and the threshold of every node of the ensembles that take the input of the model."""
    from onnx import helper, numpy_helper

    known = {each.name for each in proto.graph.input}
    for node in proto.graph.node:
        if node.op_type in _KEPT and node.input[0] in known:
            known |= {*node.output}
        if not node.op_type.startswith("TreeEnsemble") or node.input[0] not in known:
            continue
        held: dict[str, Any] = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        tensor = held.get("nodes_values_as_tensor")
        values = held["nodes_values"] if tensor is None else numpy_helper.to_array(tensor).tolist()
        for feature, value, mode in zip(held["nodes_featureids"], values, held["nodes_modes"], strict=True):
            if mode != b"LEAF" and abs(value) > _ZERO:
                yield int(feature), float(value)
