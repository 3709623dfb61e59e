"""Converters of trees and boosting, registered with skl2onnx at their first use.

onnxmltools has those of XGBoost and LightGBM. What goes into the graph is mended, so that a number at a threshold takes
the branch that it takes in the estimator: trees of scikit-learn compare float32, also where they are given float64;
thresholds of LightGBM and of histogram-based boosting are float64, and stay so where their inputs are. And flags are
integers, which newer versions of protobuf insist on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...graph.errors import MissingExtraError
from .exact_steps import exact_converter

_NUMBERS = ("nodes_values", "nodes_hitrates", "class_weights", "target_weights", "base_values")
_registered: set[type] = set()
_lock = threading.Lock()


def register_converters(estimator: Any, where: str) -> None:
    """Makes the converters known that an estimator needs besides those of skl2onnx.

    Args:
        estimator: it, or a pipeline with it.
        where: the op, for messages.

    Raises:
        MissingExtraError: onnxmltools is not installed.
    """
    for part in parts(estimator):
        kind = type(part)
        library = kind.__module__.partition(".")[0]
        with _lock:
            if kind in _registered:
                continue
            if library in ("xgboost", "lightgbm"):
                _register_foreign(kind, library, where)
            elif exact := exact_converter(part):
                _register_own(kind, exact)
            elif _is_tree(part) or _is_histogram(part):
                _register_own(kind)
            else:
                continue
            _registered.add(kind)


def parts(estimator: Any) -> Iterator[Any]:
    """An estimator and all that it holds, at any depth."""
    yield estimator
    for field in ("steps", "transformer_list", "transformers", "estimators"):
        held = getattr(estimator, field, None)
        for each in held if isinstance(held, list) else ():
            if isinstance(each, tuple):
                yield from parts(each[1])
    for field in ("estimator", "base_estimator"):
        if hasattr(getattr(estimator, field, None), "get_params"):
            yield from parts(getattr(estimator, field))


def _register_foreign(kind: type, library: str, where: str) -> None:
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
        calculate_linear_regressor_output_shapes,
    )

    classifies = kind.__name__.endswith("Classifier")
    shape = calculate_linear_classifier_output_shapes if classifies else calculate_linear_regressor_output_shapes
    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]} if classifies else None
    convert = _mended(_converter(library, kind.__name__, where))
    update_registered_converter(kind, f"{library}{kind.__name__}", shape, convert, options=options)


def _converter(library: str, name: str, where: str) -> Callable[..., Any]:
    try:
        if library == "lightgbm":
            from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm

            return convert_lightgbm  # type: ignore[no-any-return]  # onnxmltools has no types
        from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost

        return convert_xgboost  # type: ignore[no-any-return]  # onnxmltools has no types
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"converting a {name} needs the package {error.name!r}",
            where=where,
            fix="Install it: pip install onnxmltools.",
        ) from error


def _register_own(kind: type, exact: Callable[..., Any] | None = None) -> None:
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import get_converter, register_converter

    alias = sklearn_operator_name_map.get(kind)
    if alias is not None:  # else skl2onnx says so itself
        known = get_converter(alias)
        register_converter(alias, exact or _mended(known), overwrite=True, options=known.get_allowed_options())


def _is_histogram(estimator: Any) -> bool:
    return type(estimator).__name__.startswith("HistGradientBoosting")


def _is_tree(estimator: Any) -> bool:
    """Whether an estimator is a tree of scikit-learn, or an ensemble of such trees."""
    if type(estimator).__module__.startswith("sklearn.tree"):
        return True
    held = np.ravel(np.array(getattr(estimator, "estimators_", []), dtype=object)).tolist()
    return bool(held) and all(type(each).__module__.startswith("sklearn.tree") for each in held)


def _mended(convert: Callable[..., Any]) -> Callable[..., Any]:
    """A converter whose nodes are mended."""

    def converter(scope: Any, operator: Any, container: Any) -> Any:
        estimator = operator.raw_operator
        wide = type(operator.inputs[0].type).__name__ == "DoubleTensorType"
        if wide and (_is_tree(estimator) or _is_of(estimator, "xgboost")):
            return convert(scope, _rounded(scope, operator, container, "FLOAT"), _Mending(container, False))
        if not wide and (_is_histogram(estimator) or _is_of(estimator, "lightgbm")):
            operator, wide = _rounded(scope, operator, container, "DOUBLE"), True
        exact = _thresholds(estimator) if _is_histogram(estimator) else {}
        return convert(scope, operator, _Mending(container, wide, exact))

    return converter


def _is_of(estimator: Any, library: str) -> bool:
    return type(estimator).__module__.partition(".")[0] == library


def _rounded(scope: Any, operator: Any, container: Any, kind: str) -> Any:
    """The operator with its input in the dtype in which the ensemble compares numbers with its thresholds."""
    from onnx import TensorProto
    from skl2onnx.common import data_types

    given = operator.inputs[0]
    shape = given.type.shape
    other = scope.declare_local_variable("compared", getattr(data_types, f"{kind.title()}TensorType")(shape))
    name = scope.get_unique_operator_name("Cast")
    container.add_node("Cast", [given.full_name], [other.full_name], name=name, to=getattr(TensorProto, kind))
    other.init_status(is_fed=True)
    return _Fed(operator, other)


class _Fed:
    """Stands for an operator of skl2onnx, with another input."""

    def __init__(self, operator: Any, variable: Any) -> None:
        self._operator, self.inputs, self.input_full_names = operator, [variable], [variable.full_name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)


def _thresholds(estimator: Any) -> dict[tuple[int, float], float]:
    """The thresholds of histogram-based boosting by their column, and what they are in float32."""
    return {
        (int(node["feature_idx"]), float(np.float32(node["num_threshold"]))): float(node["num_threshold"])
        for trees in estimator._predictors
        for tree in trees
        for node in tree.nodes
        if not node["is_leaf"]
    }


class _Mending:
    """Stands for the container of skl2onnx, and mends the attributes of the nodes that are added.

    Args:
        container: that of skl2onnx.
        wide: whether the numbers of ensembles stay float64.
        exact: thresholds that the converter has rounded; see `_thresholds`.
    """

    def __init__(self, container: Any, wide: bool, exact: Mapping[tuple[int, float], float] | None = None) -> None:
        self._container, self._wide, self._exact = container, wide, exact or {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, op_type: str, *args: Any, **attributes: Any) -> Any:
        """Adds a node."""
        found = {name: _integers(value) for name, value in attributes.items()}
        if self._wide and op_type.startswith("TreeEnsemble"):
            found = _in_float64(self._restored(found)) | {"op_version": 3}
        return self._container.add_node(op_type, *args, **found)

    def _restored(self, attributes: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(attributes["nodes_featureids"], attributes["nodes_values"], strict=True)
        return attributes | {"nodes_values": [self._exact.get((int(f), float(v)), v) for f, v in pairs]}


def _integers(value: Any) -> Any:
    """Flags as integers."""
    if isinstance(value, list | np.ndarray) and any(isinstance(each, bool | np.bool_) for each in value):
        return [int(each) for each in value]
    return value


def _in_float64(attributes: dict[str, Any]) -> dict[str, Any]:
    """The numbers of an ensemble as tensors, which keep float64."""
    from onnx import numpy_helper

    return {
        **{name: value for name, value in attributes.items() if name not in _NUMBERS},
        **{
            f"{name}_as_tensor": numpy_helper.from_array(np.asarray(value, np.float64), f"{name}_as_tensor")
            for name, value in attributes.items()
            if name in _NUMBERS
        },
    }
