"""Tells what a user gives: an ONNX model, as a path, bytes or a ModelProto, or an estimator. It needs no package."""

from __future__ import annotations

import os
from typing import Any

from ..graph.errors import ScriptError

_LIBRARIES = ("sklearn", "xgboost", "lightgbm")


def is_estimator(model: Any) -> bool:
    """Whether an object is an estimator of one of these libraries, none of which is imported."""
    ours = any(each.__module__.partition(".")[0] in _LIBRARIES for each in type(model).__mro__)
    return ours and hasattr(model, "get_params")


def estimator_form(model: Any) -> str:
    """How a booster of XGBoost or LightGBM, which is no estimator, becomes one; empty for anything else."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in _LIBRARIES:
        return ""
    if library == "lightgbm":
        return "Fit a lightgbm.LGBMClassifier or LGBMRegressor in its place, and pass that with example=X."
    return (
        "Make an estimator of it: booster.save_model('m.json'); model = xgboost.XGBClassifier() (or XGBRegressor()); "
        "model.load_model('m.json'); script(model, example=X)."
    )


def is_onnx(model: Any) -> bool:
    """Whether a model is the path of a file, bytes, or a ModelProto, whose package is not imported."""
    kind = type(model)
    is_proto = kind.__name__ == "ModelProto" and kind.__module__.startswith("onnx")
    return is_proto or isinstance(model, str | os.PathLike | bytes)


def read_onnx(model: Any) -> tuple[bytes, str]:
    """The bytes of a model, and a name for its op.

    Args:
        model: a path, bytes, or an `onnx.ModelProto`.

    Raises:
        ScriptError: the file cannot be read, or the model is larger than protobuf allows.
    """
    if isinstance(model, bytes):
        return model, "onnx"
    if not isinstance(model, str | os.PathLike):
        return _serialized(model), "onnx"
    path = os.fspath(model)
    try:
        with open(path, "rb") as file:
            return file.read(), os.path.splitext(os.path.basename(path))[0]
    except OSError as error:
        raise ScriptError("cannot read an ONNX file", where=repr(path), got=error.strerror or str(error)) from error


def _serialized(model: Any) -> bytes:
    try:
        return bytes(model.SerializeToString())
    except Exception as error:  # protobuf has a class of its own for it in each of its implementations
        raise ScriptError("cannot write the ONNX model as bytes", got=str(error).split("\n")[0]) from error
