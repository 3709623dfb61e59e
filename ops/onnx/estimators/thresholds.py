"""The thresholds of tree ensembles: rows at them, and steps before them that have to give the same numbers bit for bit.

A model that rounds otherwise takes the other branch there. The thresholds of XGBoost and of histogram-based boosting
are numbers of the rows that they were fitted to: where the steps before them round otherwise, some percent of these
rows get another answer, which a few rows of an example need not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...graph.errors import ScriptError
from ..session import Session
from .rows import Rows, rows_of

_MOST = 500  # thresholds, chosen at random where an ensemble has more
_ZERO = 1e-30  # LightGBM takes what is nearer to 0 for 0
_ROWS = 200  # rows that are made of the example
_KEPT = ("Cast", "Identity", "Reshape")  # operators that leave the columns where they are


def at_thresholds(proto: Any, rows: Rows) -> Iterator[Rows]:
    """Rows of the example with one number at a threshold, and just below and above it.

    Args:
        proto: the ONNX model; ensembles count that take the input of the model itself.
        rows: the example; rows with texts give none.
    """
    held = _columns(rows)
    found = sorted(set(_thresholds(proto, held))) if held else []
    if not found:
        return
    random = np.random.default_rng(0)
    chosen = [found[i] for i in random.permutation(len(found))[:_MOST]]
    near = [_beside(value, held[feature].dtype) for feature, value in chosen]
    base = [column[np.arange(len(chosen)) % len(rows)] for column in held]
    for number in range(max(map(len, near))):
        other = [column.copy() for column in base]
        for row, (feature, _) in enumerate(chosen):
            other[feature][row] = near[row][number % len(near[row])]
        yield _of_columns(rows, other)


def _columns(rows: Rows) -> list[Any]:
    """The columns of a matrix, or of a table of numbers; none of other rows."""
    if isinstance(rows.data, np.ndarray):
        return list(rows.data.T) if rows.data.dtype.kind in "fiu" else []
    columns = list(rows.columns.values())
    return columns if all(isinstance(each, np.ndarray) and each.dtype.kind in "fiub" for each in columns) else []


def _of_columns(rows: Rows, columns: list[Any]) -> Rows:
    """Rows like others, with other columns."""
    if isinstance(rows.data, np.ndarray):
        return rows_of(np.stack(columns, axis=1))
    return rows_of(type(rows.data)(dict(zip(rows.data, columns, strict=True))))


def _beside(value: float, dtype: Any) -> list[Any]:
    """Numbers at a threshold: it and its neighbours in float32 and in the dtype; the whole ones beside it."""
    if dtype.kind != "f":
        ends = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return [min(max(int(np.floor(value)) + step, ends[0]), ends[1]) for step in (0, 1)]
    found: list[Any] = []
    for step in {np.float32, dtype.type}:
        rounded = step(value)
        found += [rounded, np.nextafter(rounded, step(-np.inf)), np.nextafter(rounded, step(np.inf))]
    return found


def _thresholds(proto: Any, held: list[Any]) -> Iterator[tuple[int, float]]:
    """The column and the threshold of every node of the ensembles that take the columns as they are given."""
    from onnx import helper, numpy_helper

    one = len(proto.graph.input) == 1
    known = {each.name: list(range(len(held))) if one else [number] for number, each in enumerate(proto.graph.input)}
    for node in proto.graph.node:
        if node.op_type in _KEPT and node.input[0] in known:
            known[node.output[0]] = known[node.input[0]]
        if node.op_type == "Concat" and all(name in known for name in node.input):
            known[node.output[0]] = [column for name in node.input for column in known[name]]
        if not node.op_type.startswith("TreeEnsemble") or node.input[0] not in known:
            continue
        columns = known[node.input[0]]
        found: dict[str, Any] = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        tensor = found.get("nodes_values_as_tensor")
        values = found["nodes_values"] if tensor is None else numpy_helper.to_array(tensor).tolist()
        for feature, value, mode in zip(found["nodes_featureids"], values, found["nodes_modes"], strict=True):
            if mode != b"LEAF" and abs(value) > _ZERO:
                yield columns[int(feature)], float(value)


def refuse_other_steps(proto: Any, estimator: Any, rows: Rows, where: str) -> None:
    """Refuses a pipeline of boosted trees whose trees are given other numbers than in the estimator.

    Args:
        proto: the ONNX model.
        estimator: what it was made from.
        rows: the example.
        where: the op, for messages.

    Raises:
        ScriptError: the steps before the trees round otherwise.
    """
    steps = getattr(estimator, "steps", [])
    if len(steps) < 2 or not _has_numbers_of_the_data(steps[-1][1]):
        return
    given = next((node.input[0] for node in proto.graph.node if node.op_type.startswith("TreeEnsemble")), None)
    if given is None:
        return
    session = Session(_with_output(proto, given), "cpu", where)
    for other in (rows, *rows.many(_ROWS).others()):
        found = session(*other.values())[-1].numpy()
        try:
            wanted = estimator[:-1].transform(other.data)
        except Exception:  # an unknown category, for example
            continue
        wanted = np.asarray(wanted.toarray() if hasattr(wanted, "toarray") else wanted).astype(found.dtype)
        if not np.array_equal(wanted, found, equal_nan=True):
            _refuse(type(steps[-1][1]).__name__, rows, where, wanted, found)


def _has_numbers_of_the_data(last: Any) -> bool:
    kind = type(last)
    return kind.__module__.startswith("xgboost") or kind.__name__.startswith("HistGradientBoosting")


def _with_output(proto: Any, name: str) -> bytes:
    """The model with an inner value as one more output."""
    from onnx import ModelProto, ValueInfoProto

    made = ModelProto()
    made.CopyFrom(proto)
    made.graph.output.append(ValueInfoProto(name=name))
    return bytes(made.SerializeToString())


def _refuse(model: str, rows: Rows, where: str, wanted: Any, found: Any) -> None:
    place = tuple(np.argwhere((wanted != found) & ~(np.isnan(wanted) & np.isnan(found)))[0])
    wide = "float32" in rows.dtypes().values()
    raise ScriptError(
        f"the steps before the {model} round otherwise in ONNX Runtime, and its thresholds are numbers of its training "
        "rows, which would take the other branch",
        where=where,
        got=repr(found[place].item()),
        expected=repr(wanted[place].item()),
        fix=f"{'Fit the pipeline to float64, and pass such an example. Or ' if wide else ''}"
        f"{'f' if wide else 'F'}it the {model} to what the other steps give as an op: "
        "steps = script(pipeline[:-1], example=X); model.fit(steps(X).numpy(), y).",
    )
