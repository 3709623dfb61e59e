"""Converters of our own: in float64 and float32, with values that few rows hold, each against scikit-learn itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import (
    discriminant_analysis,
    ensemble,
    feature_extraction,
    impute,
    linear_model,
    mixture,
    model_selection,
    multiclass,
    pipeline,
    preprocessing,
    svm,
)

import tracepack
from tests.onnx.test_estimators import check, expected

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(60, 4))
X[::9, 0] = 0
NEW = np.concatenate([RANDOM.normal(size=(20, 4)) * 3, np.zeros((1, 4)), X[:5]])
BOTH = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
REAL = X @ [1.0, 2, 3, 4]
HOLES = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
TEXTS = ["good film", "bad film", "great fun", "awful bore", "good great", "bad awful"] * 3


def named(target: Any) -> Any:
    return np.array(["ant", "bee", "cow"])[target]


def vote(**options: Any) -> Any:
    members = [
        ("a", linear_model.LogisticRegression()),
        ("b", discriminant_analysis.LinearDiscriminantAnalysis()),
        ("c", ensemble.RandomForestClassifier(5, random_state=0)),
    ]
    return ensemble.VotingClassifier(members, **options)


def models() -> Iterator[tuple[Any, Any, str]]:
    for each in (linear_model.RidgeClassifier(), linear_model.RidgeClassifierCV(), svm.LinearSVC()):
        yield from ((each, target, "label scores") for target in (BOTH, THREE, named(BOTH), named(THREE), BOTH > 0))
    yield svm.LinearSVC(fit_intercept=False), named(BOTH), "label scores"
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), svm.LinearSVC())
    yield from ((scaled, target, "label scores") for target in (BOTH, named(THREE)))
    yield model_selection.GridSearchCV(scaled, {"linearsvc__C": [0.1, 1]}), named(BOTH), "label scores"
    yield model_selection.GridSearchCV(svm.LinearSVC(), {"C": [0.1, 1]}), BOTH, "label scores"
    lda = discriminant_analysis.LinearDiscriminantAnalysis()
    yield from ((lda, target, "label probabilities") for target in (BOTH, named(BOTH), THREE))
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        yield svm.SVR(kernel=kernel, coef0=0.5, gamma=0.1), REAL, "prediction"
        yield svm.OneClassSVM(kernel=kernel, coef0=0.5, gamma=0.1, nu=0.2), None, "label scores"
    yield svm.NuSVR(), REAL, "prediction"
    yield from ((mixture.GaussianMixture(2, covariance_type=kind), None, "label probabilities") for kind in MIXED)
    members = [("a", linear_model.LinearRegression()), ("b", svm.SVR())]
    yield ensemble.VotingRegressor(members), REAL, "prediction"
    yield ensemble.StackingRegressor(members), REAL, "prediction"


MIXED = ("full", "tied", "diag", "spherical")


def title(value: Any) -> str | None:
    return type(value).__name__ if hasattr(value, "get_params") else None


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("model", "target", "outputs"), [*models()], ids=title)
def test_models(model: Any, target: Any, outputs: str, dtype: str, reloaded: Any) -> None:
    data = X.astype(dtype)
    model.fit(data, target)
    op = tracepack.script(model, example=data)
    assert {each.dtype for each in op.outputs if each.name != "label"} == {dtype}
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(data[:2])), trust=True)
    for rows in (NEW.astype(dtype), data, data[:1]):
        check(mod(torch.from_numpy(rows)), expected(model, rows), outputs, 1e-9 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", [THREE * 10, named(THREE)])
@pytest.mark.parametrize(
    "model",
    [
        linear_model.SGDClassifier(loss="log_loss", random_state=0),
        linear_model.SGDClassifier(loss="modified_huber", random_state=0),
        multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.SGDClassifier(loss="log_loss", random_state=1)
        ),
    ],
    ids=title,
)
def test_labels_where_probabilities_are_all_0_or_1(model: Any, target: Any, dtype: str) -> None:
    data = X.astype(dtype)
    op = tracepack.script(model.fit(data, target), example=data)
    for scale in (1, 10, 1e3, 1e6):
        rows = (RANDOM.normal(size=(200, 4)) * scale).astype(dtype)
        found = op(torch.from_numpy(rows))
        labels = found["label"] if isinstance(found["label"], list) else found["label"].tolist()
        assert labels == model.predict(rows).tolist()
        np.testing.assert_allclose(found["probabilities"].numpy(), model.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize("model", [linear_model.RidgeClassifier(), svm.LinearSVC(), svm.OneClassSVM()], ids=title)
def test_no_rows(model: Any) -> None:
    found = tracepack.script(model.fit(X, BOTH), example=X)(torch.from_numpy(X[:0]))
    assert {name: tuple(each.shape) for name, each in found.items()} == {"label": (0,), "scores": (0,)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", [BOTH, named(THREE)])
@pytest.mark.parametrize("options", [{"voting": "soft"}, {"voting": "soft", "weights": [2, 1, 3]}, {}], ids=str)
def test_votes(options: dict[str, Any], target: Any, dtype: str) -> None:
    data, new = X.astype(dtype), NEW.astype(dtype)
    model = vote(**options).fit(data, target)
    found = tracepack.script(model, example=data)(torch.from_numpy(new))
    labels = found["label"] if options else found
    assert (labels if isinstance(labels, list) else labels.tolist()) == model.predict(new).tolist()
    if options:
        np.testing.assert_allclose(found["probabilities"].numpy(), model.predict_proba(new), atol=1e-5)


def machine_of_large_numbers() -> Any:
    return svm.SVR(gamma=1e-9).fit(X * 1e4 + 1e6, REAL)


def test_a_machine_far_from_zero() -> None:
    """Squares of a million, of which the distances are small differences."""
    model, rows = machine_of_large_numbers(), NEW * 1e4 + 1e6
    found = tracepack.script(model, example=X * 1e4 + 1e6)(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-8, atol=1e-8)


def steps() -> Iterator[Any]:
    for options in ({}, {"interaction_only": True}, {"include_bias": False}, {"degree": (2, 3)}, {"degree": 4}):
        yield preprocessing.PolynomialFeatures(**options)
    yield from (preprocessing.PowerTransformer(standardize=each) for each in (True, False))
    yield from (preprocessing.Binarizer(threshold=each) for each in (0.0, 0.25))
    yield from (preprocessing.KBinsDiscretizer(4, encode=each) for each in ("onehot", "onehot-dense", "ordinal"))
    yield from (preprocessing.Normalizer(each) for each in ("l1", "l2", "max"))
    yield impute.SimpleImputer(missing_values=0.0, strategy="median")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("step", [*steps()], ids=str)
def test_steps(step: Any, dtype: str, reloaded: Any) -> None:
    data = X.astype(dtype)
    step.fit(data)
    op = tracepack.script(step, example=data)
    assert [each.dtype for each in op.outputs] == [dtype]
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(data[:2])), trust=True)
    for rows in (NEW.astype(dtype), data, data[:1]):
        check(mod(torch.from_numpy(rows)), expected(step, rows), "transformed", 1e-9 if dtype == "float64" else 1e-4)
    assert mod(torch.from_numpy(data[:0])).shape[0] == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_have_every_bit_of_scikit_learn(dtype: str) -> None:
    step = preprocessing.PolynomialFeatures(4).fit(X.astype(dtype))
    rows = NEW.astype(dtype)
    found = tracepack.script(step, example=X.astype(dtype))(torch.from_numpy(rows))
    assert found.numpy().tobytes() == step.transform(rows).tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "exponents"), [("yeo-johnson", [0, 2, 1, -0.5]), ("box-cox", [0, 2, 1, -0.5])])
def test_exponents_at_which_a_power_is_a_logarithm(method: str, exponents: list[float], dtype: str) -> None:
    rows = (np.abs(X) + 0.1 if method == "box-cox" else X).astype(dtype)
    step = preprocessing.PowerTransformer(method=method, standardize=False).fit(rows)
    step.lambdas_[:] = exponents
    op = tracepack.script(step, example=rows)
    new = np.concatenate([rows * 2, rows[:3] / 1000])
    new[0, :] = np.nan
    check(op(torch.from_numpy(new)), expected(step, new), "transformed", 1e-9 if dtype == "float64" else 1e-4)
    if method == "box-cox":
        with pytest.raises(tracepack.GuardError, match="row 0 holds zero, which the PowerTransformer refuses"):
            op(torch.zeros(1, 4, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "options",
    [
        {}, {"strategy": "median"}, {"strategy": "most_frequent"}, {"strategy": "constant", "fill_value": 2.5},
        {"add_indicator": True},
    ],
    ids=str,
)  # fmt: skip
def test_missing_numbers(options: dict[str, Any], dtype: str) -> None:
    data = HOLES.astype(dtype)
    for more in ([], [preprocessing.StandardScaler(), linear_model.Ridge()]):
        model = pipeline.make_pipeline(impute.SimpleImputer(**options), *more).fit(data, REAL)
        op = tracepack.script(model, example=data)
        name = "prediction" if more else "transformed"
        for rows in (data, np.full((1, 4), np.nan, dtype), NEW.astype(dtype)):
            check(op(torch.from_numpy(rows)), expected(model, rows), name, 1e-9 if dtype == "float64" else 1e-4)
    with pytest.raises(tracepack.GuardError, match="row 0 holds infinity, which the Pipeline refuses"):
        op(torch.full((1, 4), torch.inf, dtype=getattr(torch, dtype)))


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_a_column_without_any_number_is_dropped() -> None:
    data = HOLES.copy()
    data[:, 1] = np.nan
    step = impute.SimpleImputer().fit(data)
    found = tracepack.script(step, example=data)(torch.from_numpy(NEW))
    np.testing.assert_array_equal(found.numpy(), step.transform(NEW))
    assert found.shape == (26, 3)


@pytest.mark.parametrize("target", [[1, 0] * 9, ["yes", "no"] * 9, ["a", "b", "c"] * 6])
def test_a_linear_machine_after_texts(target: list[Any], reloaded: Any) -> None:
    vectors = feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), token_pattern="[a-zA-Z]+")
    model = pipeline.make_pipeline(vectors, svm.LinearSVC()).fit(TEXTS, target)
    op = tracepack.script(model, example=TEXTS[:5])
    mod = reloaded(tracepack.trace(lambda texts: op([each.strip() for each in texts]), TEXTS[:2]), trust=True)
    for given in (["good bore"], ["BAD film", "", "unknown words"], TEXTS):
        check(mod(given), expected(model, given), "label scores", 1e-5)


def test_a_label_encoder_refuses_labels_that_are_new() -> None:
    op = tracepack.script(preprocessing.LabelEncoder().fit(["pos", "neg"]), example=["neg", "pos"])
    assert op(["pos", "neg", "pos"]).tolist() == [1, 0, 1]
    with pytest.raises(tracepack.TracepackError):
        op(["pos", "never"])
