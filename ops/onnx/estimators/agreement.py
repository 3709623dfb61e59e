"""Holds the ONNX model of an estimator against the estimator, on the example and on rows around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...graph.errors import GuardError, ScriptError
from ...runtime.interrupts.unheard import Unheard
from ..session import Session
from .rows import Rows
from .thresholds import at_thresholds, refuse_other_steps

ROUNDING = {"float64": 1e-9, "float32": 1e-4}
"""By how much an answer may differ, in proportion to the largest of its column, and be called rounding."""


@dataclass(frozen=True)
class Answers:
    """What an estimator answers.

    Attributes:
        names: a name for each.
        values: an array for each, one row for each row of the input.
        deciding: the scores that decide a label; None where what comes beside it does.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    deciding: Any = None


_SECOND = {"predict_proba": "probabilities", "decision_function": "scores", "transform": "distances"}
"""What comes beside a label: the first of these that an estimator has."""


def answers(estimator: Any, rows: Rows) -> Answers:
    """What users of an estimator expect of it.

    A classifier gives labels, and probabilities where it has them, else the scores that decide; a regressor its
    prediction; what only transforms, the transformed rows; a clustering labels and distances; an outlier detector
    labels and scores.
    """
    with Unheard():
        return _answers(estimator, rows.data)


def _answers(estimator: Any, data: Any) -> Answers:
    if not hasattr(estimator, "predict") and not hasattr(estimator, "transform"):
        raise ScriptError(f"a {type(estimator).__name__} can neither predict nor transform other rows")
    if not hasattr(estimator, "predict"):
        return Answers(("transformed",), (_dense(estimator.transform(data)),))
    predicted = np.asarray(estimator.predict(data))
    for method, name in _SECOND.items():
        if hasattr(estimator, method) and (method != "transform" or not _learns(estimator)):
            found = predicted, _dense(getattr(estimator, method)(data))
            return Answers(("label", name), found, _deciding(estimator, data) if name == "probabilities" else None)
    if hasattr(estimator, "classes_"):
        return Answers(("label",), (predicted,))
    return Answers(("prediction",), (predicted,))


def _deciding(estimator: Any, data: Any) -> Any:
    """The scores of an estimator that also has probabilities, which are equal where they are all 0 or 1."""
    found = estimator.decision_function(data) if hasattr(estimator, "decision_function") else None
    pairs = getattr(estimator, "decision_function_shape", "") == "ovo"
    return None if found is None or pairs else _dense(found)


def _learns(estimator: Any) -> bool:
    """Whether an estimator learns targets, so that what its `transform` gives is no distance to clusters."""
    from sklearn.base import is_classifier, is_regressor

    return bool(is_classifier(estimator) or is_regressor(estimator))


def _dense(values: Any) -> Any:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def checked(proto: Any, estimator: Any, rows: Rows, name: str) -> bytes:
    """The bytes of a model that answers as the estimator does.

    Raises:
        ScriptError: it answers otherwise, beyond rounding; or numbers that its trees compare differ at all.
        GraphError: ONNX Runtime cannot run it.
    """
    where = f"op {name!r}"
    model: bytes = proto.SerializeToString()
    session = Session(model, "cpu", where)
    refuse_other_steps(proto, estimator, rows, where)
    example = answers(estimator, rows)
    compare(session(*rows.values()), example, estimator, rows, example, where)
    for other in _others(estimator, rows, proto):
        try:
            found = session(*other.values())
        except GuardError:  # a label encoder of scikit-learn cuts texts off, and knows some that are new
            continue
        compare(found, answers(estimator, other), estimator, other, example, where)
    return model


def _others(estimator: Any, rows: Rows, proto: Any) -> Iterator[Rows]:
    """Other rows that the estimator takes."""
    for other in (*rows.others(), *at_thresholds(proto, rows)):
        try:
            answers(estimator, other)
        except Exception:  # an unknown category, for example
            continue
        yield other


def compare(
    found: Sequence[Any], wanted: Answers, estimator: Any, rows: Rows, example: Answers, where: str
) -> None:  # fmt: skip
    """Holds the answers of a model against those of the estimator.

    Args:
        found: those of the model.
        wanted: those of the estimator.
        estimator: it.
        rows: the rows that were answered.
        example: the answers to the example, which show how large they usually are.
        where: the op, for messages.

    Raises:
        ScriptError: they differ beyond rounding.
    """
    tied = _tied(wanted)
    for name, value, usual, made in zip(wanted.names, wanted.values, example.values, found, strict=True):
        got = made.numpy() if isinstance(made, torch.Tensor) else np.asarray(made, dtype=object)
        wrong = _wrong(value, got, 1.0 if name == "probabilities" else _largest(usual))
        if name == "label":
            wrong = wrong & ~tied
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ScriptError(
                f"the ONNX model answers otherwise than the {type(estimator).__name__}: {name} of {_row(rows, row)}",
                where=where,
                got=_text(got[row]),
                expected=_text(value[row]),
            )


def _largest(values: Any) -> Any:
    """The largest number of each column; 0 for a column without one."""
    if values.dtype.kind not in "fc":
        return 0.0
    return np.abs(np.where(np.isfinite(values), values, 0)).max(0, initial=0)


def _wrong(wanted: Any, got: Any, scale: Any) -> Any:
    """The rows that differ beyond rounding.

    Args:
        wanted: what the estimator answers.
        got: what the model answers.
        scale: the largest number that each column usually has: one row alone does not show it.
    """
    if wanted.shape != got.shape:
        return np.ones(len(wanted), bool)
    if wanted.dtype.kind not in "fc":
        return (wanted != got).reshape(len(wanted), -1).any(1)
    limit = ROUNDING[got.dtype.name if got.dtype.name in ROUNDING else "float32"]
    least = limit * np.maximum(_largest(wanted), scale) + np.finfo(float).tiny
    near = np.isclose(got.astype(np.float64), wanted, rtol=limit, atol=least, equal_nan=True)
    return ~near.reshape(len(wanted), -1).all(1)


def _tied(wanted: Answers) -> Any:
    """The rows whose label rounding decides: the best two scores are equal but for it."""
    rows = len(wanted.values[0])
    if wanted.names[-1] not in ("probabilities", "scores"):
        return np.zeros(rows, bool)
    scores = wanted.values[1] if wanted.deciding is None else wanted.deciding
    scores = scores.reshape(rows, -1).astype(np.float64)
    scale = np.maximum(1.0, np.abs(scores).max(1, initial=0)) * ROUNDING["float32"]  # of each row by itself
    finite = np.isfinite(scores).all(1)  # infinite ones are no matter of rounding
    if scores.shape[1] < 2:
        return (np.abs(scores[:, 0]) <= scale) & finite
    best = np.sort(scores, axis=1)
    with np.errstate(invalid="ignore"):
        return (best[:, -1] - best[:, -2] <= scale) & finite


def overflows(wanted: Answers, kind: Any) -> bool:
    """Whether the scores that decide a label are beyond the numbers of a dtype, or near to that.

    An estimator itself answers such rows otherwise alone than with others: it sums their terms in another order.
    """
    if wanted.names[-1] not in ("probabilities", "scores"):
        return False
    scores = wanted.values[1] if wanted.deciding is None else wanted.deciding
    return not bool((np.abs(scores.astype(np.float64)) < np.finfo(kind).max * _NEARLY).all())


_NEARLY = 1e-4


def _row(rows: Rows, index: int) -> str:
    data = rows.data.iloc[index].to_dict() if hasattr(rows.data, "iloc") else rows.data[index]
    return f"the row {_text(data)}"


def _text(value: Any) -> str:
    return (repr(value.tolist()) if isinstance(value, np.ndarray | np.generic) else repr(value))[:200]
