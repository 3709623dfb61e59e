"""Converts estimators of scikit-learn, XGBoost and LightGBM to ONNX models that answer as they do.

skl2onnx and onnxmltools convert; here the right precision is chosen, and inputs and outputs get the form that users of
the estimator know. What is computed is computed in the dtype of the example; but XGBoost and the trees of scikit-learn
compare float32 with their thresholds whatever they are given, LightGBM and histogram-based boosting float64, and so
do their models. What comes out is held against the estimator, see `agreement`.
"""

from __future__ import annotations

from typing import Any

from ...graph.errors import MissingExtraError, ScriptError
from ...runtime.interrupts.unheard import Unheard
from ..value_guards import ValueGuard
from .advice import working_fix
from .agreement import Answers, answers, checked
from .converters import gives_float32, parts, register_converters, takes_maps
from .forms import finished, forms
from .input_types import InputTypes, input_types
from .rows import Rows, rows_of
from .tried_guards import TriedGuards

_OPSETS = {"": 18, "ai.onnx.ml": 3}  # those that every converter knows
_LOCALE = "C.UTF-8"  # of the machines that load; skl2onnx asks for an American one, which few servers have


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
    try:
        return _tried(estimator, rows, wanted, name, where)
    except ScriptError as error:
        if error.fix:
            raise
        fix = working_fix(
            parts(estimator),
            rows,
            lambda other: _tried(estimator, other, _answers(estimator, other, where), name, where),
        )
        raise ScriptError(error.what, where=error.where, got=error.got, expected=error.expected, fix=fix) from error


def _tried(estimator: Any, rows: Rows, wanted: Answers, name: str, where: str) -> tuple[bytes, tuple[ValueGuard, ...]]:
    """The first model that answers as the estimator does.

    Raises:
        ScriptError: none does; why the first of them does not.
    """
    first: Exception | None = None
    for types in input_types(estimator, rows):
        try:
            return _of_types(estimator, rows, types, wanted, name, where)
        except ScriptError as error:
            first = first or error
    assert first is not None  # there is one type at least
    raise first


def _of_types(
    estimator: Any, rows: Rows, types: InputTypes, wanted: Answers, name: str, where: str
) -> tuple[bytes, tuple[ValueGuard, ...]]:
    proto = _converted(estimator, types, wanted, where)
    refusals: list[Exception] = []
    for form in forms(wanted, gives_float32(estimator)):
        try:
            model = checked(finished(proto, rows, wanted, form), estimator, rows, name)
            return model, TriedGuards(model, estimator, rows, where).tried()
        except Exception as error:  # ONNX Runtime may lack an operator for float64, or compute it in float32
            refusals.append(error)
    raise _worst(refusals, estimator, where)


def _worst(refusals: list[Exception], estimator: Any, where: str) -> ScriptError:
    """The error to raise where neither form of the model will do."""
    for error in reversed(refusals):
        if isinstance(error, ScriptError):
            return error
    return ScriptError(
        f"ONNX Runtime cannot run this {type(estimator).__name__}",
        where=where,
        got=str(getattr(refusals[-1], "got", None) or refusals[-1]).split("\n")[0][:300].rstrip("."),
    )


_FIT = "Fit it, and pass example=X, some rows that it takes."
_EACH = (
    "Its outputs have other numbers of classes, which no one array holds: make an op of each, "
    "ops = [tracepack.script(each, example=X) for each in estimator.estimators_]."
)


def _answers(estimator: Any, rows: Rows, where: str) -> Answers:
    try:
        return answers(estimator, rows)
    except ScriptError:
        raise
    except Exception as error:
        raise ScriptError(
            f"the {type(estimator).__name__} does not take the example",
            where=where,
            got=_said(error),
            fix=_EACH if "inhomogeneous" in str(error) and hasattr(estimator, "estimators_") else _FIT,
        ) from error


def _converted(estimator: Any, types: InputTypes, wanted: Answers, where: str) -> Any:
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
    inputs = types.of_skl2onnx()
    options: dict[int, Any] = {id(each): {"locale": _LOCALE} for each in parts(estimator) if hasattr(each, "tokenizer")}
    options |= {id(each): {"div": "div"} for each in parts(estimator) if type(each).__name__ == "StandardScaler"}
    register_converters(estimator, where)
    if "label" in wanted.names and hasattr(estimator, "classes_") and takes_maps(estimator):
        options[id(estimator)] = {"zipmap": False}
    with Unheard():
        try:
            return skl2onnx.convert_sklearn(estimator, "estimator", inputs, target_opset=_OPSETS, options=options)
        except Exception as error:
            raise ScriptError(
                f"skl2onnx cannot convert this {type(estimator).__name__}",
                where=where,
                got=_said(error),
            ) from error


def _said(error: Exception) -> str:
    """The kind and the first line of an error of other packages."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first[:300].rstrip('.')}"
