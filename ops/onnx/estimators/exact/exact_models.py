"""Converters of models that skl2onnx converts to something else, or for float32 alone.

Two classes of a `LinearDiscriminantAnalysis` get the logistic of the one score, not the softmax of it and its negative.
Linear classifiers and support vector machines are computed in float64 where they are given it: the operators that ONNX
has for them are of float32. Of several classes that are scored one by one, a label is that of the best score: where
their probabilities are all 0 or 1, the best of those is no answer.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from .exact_steps import Converter
from .onnx_nodes import Nodes, guess_kind, is_wide, nodes_of, taken
from .other_operator import OtherOperator

_LINEAR = ("RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "LinearDiscriminantAnalysis")
_BY_SCORE = ("SGDClassifier", "OneVsRestClassifier")
_NEIGHBORS = ("KNeighborsClassifier", "KNeighborsRegressor")
_MACHINES = ("SVR", "NuSVR", "OneClassSVM")
_KERNELS = ("linear", "poly", "rbf", "sigmoid")


def exact_model(name: str, known: Converter) -> Converter | None:
    """The converter of a model; None for one that skl2onnx converts well.

    Args:
        name: of its class.
        known: the converter of skl2onnx.
    """
    if name in _LINEAR:
        return lambda scope, operator, container: _linear(scope, operator, container, known)
    if name in _BY_SCORE:
        return lambda scope, operator, container: _by_score(scope, operator, container, known)
    if name in _NEIGHBORS:
        return lambda scope, operator, container: _neighbors(scope, operator, container, known)
    if name in _MACHINES:
        return lambda scope, operator, container: _machine(scope, operator, container, known)
    if name == "VotingClassifier":
        return lambda scope, operator, container: _votes(scope, operator, container, known)
    if name in ("GaussianMixture", "BayesianGaussianMixture"):
        return lambda scope, operator, container: _mixture(scope, operator, container, known)
    return None


def _linear(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    model = operator.raw_operator
    logistic = type(model).__name__ == "LinearDiscriminantAnalysis"
    mends = len(model.classes_) == 2 if logistic else is_wide(operator)
    raw = container.get_options(model, {"raw_scores": False})["raw_scores"]
    several = getattr(getattr(model, "_label_binarizer", None), "y_type_", "").startswith("multilabel")
    if raw or several or not mends:
        return known(scope, operator, container)
    nodes = nodes_of(scope, operator, container)
    rows = nodes.add("Cast", operator.inputs[0].full_name, to=nodes.kind)
    coefficients = np.reshape(model.coef_, (-1, np.shape(model.coef_)[-1]))
    scores = nodes.add("MatMul", rows, nodes.constant(coefficients.T))
    label, second = (each.full_name for each in operator.outputs)
    scores = nodes.add("Add", scores, nodes.constant(np.ravel(model.intercept_)), result="" if logistic else second)
    if logistic:
        sure = nodes.add("Sigmoid", scores)
        nodes.add("Concat", nodes.add("Sub", nodes.constant([1]), sure), sure, axis=1, result=second)
    return _named(nodes, _best(nodes, scores, len(coefficients)), model.classes_, label)


def _best(nodes: Nodes, scores: str, count: int) -> str:
    """The number of the class of each row: the one of two whose score is above 0, or the best."""
    if count > 1:
        return nodes.add("ArgMax", scores, axis=1, keepdims=0)
    from onnx import TensorProto

    above = nodes.add("Cast", nodes.add("Greater", scores, nodes.constant([0])), to=TensorProto.INT64)
    return nodes.add("Reshape", above, nodes.constant([-1], np.int64))


def _named(nodes: Nodes, numbers: str, classes: Any, result: str) -> str:
    """The classes of these numbers, texts or integers."""
    names = nodes.texts(classes) if classes.dtype.kind in "UO" else nodes.constant(classes, np.int64)
    return nodes.add("Gather", names, numbers, result=result)


def _by_score(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A classifier with a linear score for each of its classes; what skl2onnx makes of it gives the probabilities."""
    model = operator.raw_operator
    scored = [model] if hasattr(model, "coef_") else getattr(model, "estimators_", [])
    if len(model.classes_) < 3 or getattr(model, "multilabel_", False) or not all(map(_is_linear, scored)):
        return known(scope, operator, container)
    label, second = operator.outputs
    nodes = nodes_of(scope, operator, container)
    weights = np.concatenate([_dense(each.coef_) for each in scored])
    scores = nodes.add("MatMul", taken(nodes, operator), nodes.constant(weights.T))
    scores = nodes.add("Add", scores, nodes.constant(np.concatenate([np.ravel(each.intercept_) for each in scored])))
    if scored != [model] and all(map(_is_logistic, scored)):
        _shares(nodes, _logistic(nodes, scores), second.full_name)
    else:
        other = scope.declare_local_variable("label", label.type)
        other.init_status(is_fed=True)
        known(scope, OtherOperator(operator, outputs=[other, second]), container)
    return _named(nodes, _best(nodes, scores, len(weights)), model.classes_, label.full_name)


def _logistic(nodes: Nodes, scores: str) -> str:
    """The logistic function, which ONNX Runtime's own rounds to 0 where its shares of a row still count."""
    below = nodes.add("Exp", nodes.add("Min", scores, nodes.constant([0])))
    return nodes.add(
        "Div",
        below,
        nodes.add("Add", nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", scores))), nodes.constant([1])),
    )


def _shares(nodes: Nodes, sure: str, result: str) -> None:
    """Divides each row by its sum, unless that is 0."""
    total = nodes.add("ReduceSum", sure, nodes.constant([1], np.int64), keepdims=1)
    whole = nodes.add("Where", nodes.add("Equal", total, nodes.constant([0])), nodes.constant([1]), total)
    nodes.add("Div", sure, whole, result=result)


def _is_logistic(model: Any) -> bool:
    return type(model).__name__ == "LogisticRegression" or getattr(model, "loss", "") == "log_loss"


def _is_linear(model: Any) -> bool:
    from sklearn.linear_model._base import LinearClassifierMixin

    return isinstance(model, LinearClassifierMixin) and hasattr(model, "coef_")


def _neighbors(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """What is near, by distances of float64, as scikit-learn computes whatever it is given."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    if not isinstance(operator.inputs[0].type, FloatTensorType):
        return known(scope, operator, container)
    nodes = Nodes(scope, container, np.float64)
    rows = scope.declare_local_variable("wide", DoubleTensorType(operator.inputs[0].type.shape))
    rows.init_status(is_fed=True)
    nodes.add("Cast", operator.inputs[0].full_name, to=nodes.kind, result=rows.full_name)
    found = list(operator.outputs)
    for number, given in enumerate(found):
        if isinstance(given.type, FloatTensorType):
            found[number] = scope.declare_local_variable("wide", DoubleTensorType(given.type.shape))
            found[number].init_status(is_fed=True)
            nodes.add("Cast", found[number].full_name, to=guess_kind(given), result=given.full_name)
    return known(scope, OtherOperator(operator, inputs=[rows], outputs=found), container)


def _machine(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A support vector machine with one score, in float64, as libsvm computes whatever it is given."""
    model = operator.raw_operator
    if model.kernel not in _KERNELS:
        return known(scope, operator, container)
    nodes = Nodes(scope, container, np.float64)
    weights, vectors = _dense(model.dual_coef_), _dense(model.support_vectors_)
    near = _kernel(nodes, model, nodes.add("Cast", operator.inputs[0].full_name, to=nodes.kind), vectors)
    scores = nodes.add("Add", nodes.add("MatMul", near, nodes.constant(weights.T)), nodes.constant(model.intercept_))
    given = operator.outputs[-1]
    nodes.add("Cast", scores, to=guess_kind(given), result=given.full_name)
    if len(operator.outputs) > 1:
        labels = nodes.constant([-1, 1], np.int64)
        nodes.add("Gather", labels, _best(nodes, scores, 1), result=operator.outputs[0].full_name)
    return None


def _kernel(nodes: Nodes, model: Any, rows: str, vectors: Any) -> str:
    """How near rows are to each of the support vectors."""
    if model.kernel == "rbf":  # around the mean, so that little is lost where squares are subtracted
        middle = vectors.mean(0)
        rows, vectors = nodes.add("Sub", rows, nodes.constant(middle)), vectors - middle
        axis = nodes.constant([1], np.int64)
        squares = nodes.add("ReduceSum", nodes.add("Mul", rows, rows), axis, keepdims=1)
        squares = nodes.add("Add", squares, nodes.constant((vectors**2).sum(1)))
        far = nodes.add("Sub", squares, nodes.add("MatMul", rows, nodes.constant(2 * vectors.T)))
        far = nodes.add("Max", far, nodes.constant([0]))
        return nodes.add("Exp", nodes.add("Mul", far, nodes.constant([-model._gamma])))
    product = nodes.add("MatMul", rows, nodes.constant(vectors.T))
    if model.kernel == "linear":
        return product
    product = nodes.add("Add", nodes.add("Mul", product, nodes.constant([model._gamma])), nodes.constant([model.coef0]))
    if model.kernel == "sigmoid":
        return nodes.add("Tanh", product)
    return nodes.add("Pow", product, nodes.constant([model.degree]))


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def _votes(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A `VotingClassifier`: how `transform` lays out its votes says nothing of what it predicts."""
    model = copy(operator.raw_operator)
    model.flatten_transform = False
    if model.weights is not None:
        model.weights = np.asarray(model._weights_not_none)
    return known(scope, OtherOperator(operator, raw_operator=model), container)


def _mixture(scope: Any, operator: Any, container: Any, known: Converter) -> Any:
    """A mixture, whose converter takes the opset for a number where it is given one for each domain."""
    opset = operator.target_opset
    number = opset.get("", 0) if isinstance(opset, dict) else opset
    return known(scope, OtherOperator(operator, target_opset=number), container)
