"""Converts estimators of scikit-learn, XGBoost and LightGBM to ONNX models that answer as they do.

skl2onnx and onnxmltools convert; here the right precision is chosen, and inputs and outputs get the form that users of
the estimator know. What is computed is computed in the dtype of the example; but XGBoost and the trees of scikit-learn
compare float32 with their thresholds whatever they are given, LightGBM and histogram-based boosting float64, and so
do their models. What comes out is held against the estimator, see `agreement`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.errors import MissingExtraError, ScriptError
from ...runtime.interrupts.unheard import Unheard
from ..ports import TEXT
from ..value_guards import ValueGuard
from .agreement import Answers, answers, checked
from .converters import parts, register_converters
from .forms import finished, forms
from .rows import Rows, rows_of
from .tried_guards import TriedGuards

_OPSETS = {"": 18, "ai.onnx.ml": 3}  # those that every converter knows
_LOCALE = "C.UTF-8"  # of the machines that load; skl2onnx asks for an American one, which few servers have
_SKL_TYPES = {
    "float32": "FloatTensorType", "float64": "DoubleTensorType", "int64": "Int64TensorType", "int32": "Int32TensorType",
    "int16": "Int16TensorType", "int8": "Int8TensorType", "uint8": "UInt8TensorType", "bool": "BooleanTensorType",
    TEXT: "StringTensorType",
}  # fmt: skip


def convert_estimator(estimator: Any, example: Any, name: str) -> tuple[bytes, tuple[ValueGuard, ...]]:
    """The ONNX model of a fitted estimator, and the values that its op refuses.

    Args:
        estimator: what to convert.
        example: rows that it takes.
        name: the op's name, for messages.

    Raises:
        ScriptError: there is no example, the estimator is not fitted, it cannot be converted, or the model answers
            otherwise than the estimator.
        MissingExtraError: a package that converts is not installed.
    """
    where = f"op {name!r}"
    if example is None:
        raise ScriptError(
            "an estimator is converted with an example", where=where, fix="Pass example=X, some rows that it takes."
        )
    rows = rows_of(example)
    wanted = _answers(estimator, rows, where)
    proto = _converted(estimator, rows, wanted, where)
    refusals: list[Exception] = []
    for form in forms(wanted):
        try:
            model = checked(finished(proto, rows, wanted, form), estimator, rows, name)
            return model, TriedGuards(model, estimator, rows, where).tried()
        except Exception as error:  # ONNX Runtime may lack an operator for float64, or compute it in float32
            refusals.append(error)
    raise _worst(refusals, estimator, rows, where)


def _worst(refusals: list[Exception], estimator: Any, rows: Rows, where: str) -> Exception:
    """The error to raise where neither form of the model will do."""
    for error in reversed(refusals):
        if isinstance(error, ScriptError):
            return error
    return ScriptError(
        f"ONNX Runtime cannot run this {type(estimator).__name__}",
        where=where,
        got=str(getattr(refusals[-1], "got", None) or refusals[-1]).split("\n")[0][:300],
        fix=_narrower(rows),
    )


def _narrower(rows: Rows) -> str:
    """The advice to try float32, where the example has float64."""
    wide = [column for column, dtype in rows.dtypes().items() if dtype == "float64"]
    if not wide:
        return ""
    what = repr(dict.fromkeys(wide, "float32")) if hasattr(rows.data, "iloc") else "'float32'"
    return f"It may run in float32: pass example=X.astype({what}); the op then takes float32."


def _answers(estimator: Any, rows: Rows, where: str) -> Answers:
    try:
        return answers(estimator, rows)
    except ScriptError:
        raise
    except Exception as error:
        raise ScriptError(
            f"the {type(estimator).__name__} does not take the example",
            where=where,
            got=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}",
            fix="Fit it, and pass example=X, some rows that it takes.",
        ) from error


def _converted(estimator: Any, rows: Rows, wanted: Answers, where: str) -> Any:
    """The model that skl2onnx makes.

    Raises:
        ScriptError: it cannot.
        MissingExtraError: it is not installed.
    """
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"converting a {type(estimator).__name__} needs the package {error.name!r}",
            where=where,
            fix="Install it: pip install 'tracepack[onnx]'.",
        ) from error
    types = _initial_types(rows)
    options: dict[int, Any] = {id(each): {"locale": _LOCALE} for each in parts(estimator) if hasattr(each, "tokenizer")}
    if len(wanted.names) > 1 and "label" in wanted.names:
        options[id(estimator)] = {"zipmap": False}
    options |= {id(each): {"div": "div"} for each in parts(estimator) if type(each).__name__ == "StandardScaler"}
    register_converters(estimator, where)
    with Unheard():
        try:
            try:
                return skl2onnx.convert_sklearn(estimator, "estimator", types, target_opset=_OPSETS, options=options)
            except NameError:  # the converter knows no such option
                options.pop(id(estimator), None)
                return skl2onnx.convert_sklearn(estimator, "estimator", types, target_opset=_OPSETS, options=options)
        except Exception as error:
            raise ScriptError(
                f"skl2onnx cannot convert this {type(estimator).__name__}",
                where=where,
                got=f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}",
                fix=_narrower(rows),
            ) from error


def _initial_types(rows: Rows) -> list[tuple[str, Any]]:
    from skl2onnx.common import data_types

    found = []
    for name, dtype in rows.dtypes().items():
        kind = _SKL_TYPES.get(dtype)
        if kind is None:
            raise ScriptError("skl2onnx takes no input of this dtype", where=f"input {name!r}", got=dtype)
        width = rows.data.shape[1] if isinstance(rows.data, np.ndarray) else 1
        found.append((name, getattr(data_types, kind)([None, width])))
    return found
