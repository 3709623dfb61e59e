"""Converters of trees and boosting, registered with skl2onnx at their first use.

onnxmltools has those of XGBoost and LightGBM. What goes into the graph is mended, so that a number at a threshold takes
the branch that it takes in the estimator: trees of scikit-learn compare float32, also where they are given float64;
thresholds of LightGBM and of histogram-based boosting are float64, and stay so where their inputs are. And flags are
integers, which newer versions of protobuf insist on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...graph.errors import MissingExtraError
from .exact.exact_models import exact_model
from .exact.exact_steps import exact_step, exact_type
from .exact.other_operator import OtherOperator

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
            elif library == "sklearn":
                _register_own(part)
            else:
                continue
            _registered.add(kind)


def parts(estimator: Any) -> Iterator[Any]:
    """An estimator and all that it holds, at any depth: fitted where it keeps them fitted."""
    yield estimator
    for field in ("steps", "transformer_list", "transformers_", "estimators_", "calibrated_classifiers_"):
        held = getattr(estimator, field, None)
        for each in held if isinstance(held, list) else ():
            yield from parts(each[1] if isinstance(each, tuple) else each)
    for field in ("best_estimator_", "final_estimator_", "estimator_", "estimator", "base_estimator"):
        if hasattr(getattr(estimator, field, None), "get_params"):
            yield from parts(getattr(estimator, field))


def gives_float32(estimator: Any) -> bool:
    """Whether the last step of an estimator is an ensemble of trees, whose results are float32 in ONNX."""
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        estimator = estimator.best_estimator_ if hasattr(estimator, "best_estimator_") else estimator.steps[-1][1]
    foreign = _is_of(estimator, "xgboost") or _is_of(estimator, "lightgbm")
    return foreign or _is_tree(estimator) or _is_histogram(estimator)


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


def _register_own(part: Any) -> None:
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import (
        get_converter,
        get_shape_calculator,
        register_converter,
        register_shape_calculator,
    )

    alias = sklearn_operator_name_map.get(type(part))
    if alias is None:  # skl2onnx says so itself
        return
    known = get_converter(alias)
    made = _mended(known) if _is_tree(part) or _is_histogram(part) else _exact(type(part).__name__, known)
    if made is None:
        return
    options = known.get_allowed_options()
    if type(part).__name__ == "LinearSVC":  # pipelines hand the option on to whatever classifier is their last
        options = {**options, "zipmap": [True, False, "columns"]}
    register_converter(alias, made, overwrite=True, options=options)
    if calculated := exact_type(type(part).__name__, get_shape_calculator(alias)):
        register_shape_calculator(alias, calculated, overwrite=True)


def takes_maps(estimator: Any) -> bool:
    """Whether skl2onnx makes dicts of the probabilities of a classifier, and has the option to leave them alone."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import get_converter

    if hasattr(estimator, "best_estimator_"):
        return takes_maps(estimator.best_estimator_)
    alias = sklearn_operator_name_map.get(type(estimator))
    return alias is not None and "zipmap" in (get_converter(alias).get_allowed_options() or ())


def _exact(name: str, known: Callable[..., Any]) -> Callable[..., Any] | None:
    """A converter of our own for one kind, where others share the converter that skl2onnx has for it."""
    own = exact_step(name, known) or exact_model(name, known)
    if own is None:
        return None

    def converter(scope: Any, operator: Any, container: Any) -> Any:
        chosen = own if type(operator.raw_operator).__name__ == name else known
        return chosen(scope, operator, container)

    return converter


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
            narrow = _with_narrow_results(scope, _rounded(scope, operator, container, "FLOAT"), container)
            return convert(scope, narrow, _Mending(container, False))
        if not wide and (_is_histogram(estimator) or _is_of(estimator, "lightgbm")):
            operator, wide = _rounded(scope, operator, container, "DOUBLE"), True
        if wide:
            operator = _with_narrow_results(scope, operator, container)
        exact = _thresholds(estimator) if _is_histogram(estimator) else ()
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
    return OtherOperator(operator, inputs=[other])


def _with_narrow_results(scope: Any, operator: Any, container: Any) -> Any:
    """The operator with float32 in place of its float64 results, which are cast: what takes them counts on float64."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    found = list(operator.outputs)
    for number, given in enumerate(found):
        if isinstance(given.type, DoubleTensorType):
            found[number] = scope.declare_local_variable("narrow", FloatTensorType(given.type.shape))
            found[number].init_status(is_fed=True)
            name, both = scope.get_unique_operator_name("Cast"), (found[number].full_name, given.full_name)
            container.add_node("Cast", [both[0]], [both[1]], name=name, to=TensorProto.DOUBLE)
    return OtherOperator(operator, outputs=found)


def _thresholds(estimator: Any) -> list[float]:
    """The thresholds of histogram-based boosting, node by node, in the order in which skl2onnx writes its trees."""
    trees = [tree for trees in estimator._predictors for tree in trees]
    if any(node["is_categorical"] for tree in trees for node in tree.nodes):
        raise NotImplementedError("trees that split by categories have no form in ONNX")
    return [0.0 if node["is_leaf"] else float(node["num_threshold"]) for tree in trees for node in tree.nodes]


class _Mending:
    """Stands for the container of skl2onnx, and mends the attributes of the nodes that are added.

    Args:
        container: that of skl2onnx.
        wide: whether the numbers of ensembles stay float64.
        exact: the thresholds of all nodes, which the converter has rounded; none: it rounds none.
    """

    def __init__(self, container: Any, wide: bool, exact: Sequence[float] = ()) -> None:
        self._container, self._wide, self._exact = container, wide, exact

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, op_type: str, *args: Any, **attributes: Any) -> Any:
        """Adds a node."""
        found = {name: _integers(value) for name, value in attributes.items()}
        if self._wide and op_type.startswith("TreeEnsemble"):
            found = _in_float64(self._restored(found)) | {"op_version": 3}
        return self._container.add_node(op_type, *args, **found)

    def _restored(self, attributes: dict[str, Any]) -> dict[str, Any]:
        exact, rounded = np.asarray(self._exact, np.float64), np.asarray(attributes["nodes_values"], np.float32)
        if not len(exact):
            return attributes
        if exact.shape != rounded.shape or not np.array_equal(exact.astype(np.float32), rounded):
            raise NotImplementedError("skl2onnx writes the nodes of these trees in another order")
        return attributes | {"nodes_values": exact.tolist()}


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
