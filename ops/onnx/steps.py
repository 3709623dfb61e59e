"""Holds what the steps before boosted trees give against the estimator, bit for bit.

The thresholds of XGBoost and of histogram-based boosting are numbers of the rows that they were fitted to. Where the
steps before them round otherwise, rows of the training data take the other branch: some percent of them, and another
answer for each, which a few rows of an example need not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.errors import ScriptError
from .rows import Rows
from .session import Session

_ROWS = 200  # rows that are made of the example


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
