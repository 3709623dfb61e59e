"""Estimators as ops, each against the estimator itself, traced and loaded again, on rows that it never saw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch
import xgboost
from sklearn import (
    cluster,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)  # fmt: skip

import tracepack

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(60, 5)
NUMBERS = RANDOM.randint(0, 3, 60)
NAMES = np.array(["ant", "bee", "cow"])[NUMBERS]
BOTH = NUMBERS % 2
REAL = X @ RANDOM.randn(5)
NEW = np.random.RandomState(1).randn(25, 5)
SMALL = {"n_estimators": 5, "n_jobs": 1}
LIGHT = {**SMALL, "min_child_samples": 5, "verbose": -1}
CATEGORIES = RANDOM.randint(0, 3, (40, 2))


@dataclass
class Case:
    """An estimator, what it learns, and what its op gives.

    Attributes:
        narrow: whether results for float64 are float32, as those of trees in ONNX are.
    """

    estimator: Any
    target: Any
    outputs: str
    narrow: bool = False


def cases() -> Iterator[Case]:
    for each in (
        preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.RobustScaler(),
        preprocessing.Normalizer(), decomposition.PCA(3), feature_selection.SelectKBest(k=2),
    ):  # fmt: skip
        yield Case(each, NUMBERS, "transformed")
    for each in (
        linear_model.LinearRegression(),
        linear_model.Ridge(),
        linear_model.Lasso(),
        neighbors.KNeighborsRegressor(),
    ):
        yield Case(each, REAL, "prediction")
    yield Case(linear_model.LinearRegression(), np.stack([REAL, -REAL], 1), "prediction")
    for each in (
        tree.DecisionTreeRegressor(), ensemble.RandomForestRegressor(8), ensemble.BaggingRegressor(),
        ensemble.GradientBoostingRegressor(n_estimators=5), ensemble.HistGradientBoostingRegressor(max_iter=5),
        lightgbm.LGBMRegressor(**LIGHT), xgboost.XGBRegressor(**SMALL),
        pipeline.make_pipeline(preprocessing.StandardScaler(), tree.DecisionTreeRegressor()),
    ):  # fmt: skip
        yield Case(each, REAL, "prediction", narrow=True)
    for target in (NAMES, NUMBERS, BOTH):
        yield Case(linear_model.LogisticRegression(), target, "label probabilities")
        yield Case(ensemble.HistGradientBoostingClassifier(max_iter=5), target, "label probabilities", narrow=True)
        yield Case(ensemble.RandomForestClassifier(10), target, "label probabilities", narrow=True)
        yield Case(lightgbm.LGBMClassifier(**LIGHT), target, "label probabilities", narrow=True)
        yield Case(linear_model.SGDClassifier(), target, "label scores")
        yield Case(svm.SVC(), target, "label scores", narrow=True)
    for each in (
        naive_bayes.GaussianNB(), neighbors.KNeighborsClassifier(), discriminant_analysis.LinearDiscriminantAnalysis(),
        neural_network.MLPClassifier(max_iter=20),
    ):  # fmt: skip
        yield Case(each, NAMES, "label probabilities")
    for each in (
        tree.DecisionTreeClassifier(), ensemble.ExtraTreesClassifier(8),
        ensemble.GradientBoostingClassifier(n_estimators=5),
        pipeline.make_pipeline(preprocessing.StandardScaler(), ensemble.RandomForestClassifier(8)),
    ):  # fmt: skip
        yield Case(each, NAMES, "label probabilities", narrow=True)
    yield Case(xgboost.XGBClassifier(**SMALL), NUMBERS, "label probabilities", narrow=True)
    yield Case(cluster.KMeans(3, n_init=1), None, "label distances")
    yield Case(ensemble.IsolationForest(n_estimators=5), None, "label scores", narrow=True)


def title(case: Case) -> str:
    kind = (
        ""
        if case.target is None
        else f"-{case.target.dtype.kind}{len(np.unique(case.target)) if case.target.ndim == 1 else 2}"
    )
    return type(case.estimator).__name__ + kind


def expected(estimator: Any, rows: Any) -> dict[str, Any]:
    """What the estimator itself answers."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not hasattr(estimator, "predict"):
            transformed = estimator.transform(rows)
            return {"transformed": transformed.toarray() if hasattr(transformed, "toarray") else transformed}
        predicted = estimator.predict(rows)
        found["label"] = found["prediction"] = predicted
        if hasattr(estimator, "predict_proba"):
            found["probabilities"] = estimator.predict_proba(rows)
        elif hasattr(estimator, "decision_function"):
            found["scores"] = estimator.decision_function(rows)
        elif hasattr(estimator, "transform"):
            found["distances"] = estimator.transform(rows)
    return found


def check(got: Any, wanted: dict[str, Any], names: str, tolerance: float) -> None:
    """Compares the answers of an op, a value or a dict, with those of an estimator."""
    given = got if isinstance(got, dict) else {names: got}
    assert list(given) == names.split()
    for name, value in given.items():
        if name == "label":
            assert (value if isinstance(value, list) else value.tolist()) == wanted[name].tolist()
        else:
            assert value.shape == wanted[name].shape
            np.testing.assert_allclose(value.numpy(), wanted[name], rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", [*cases()], ids=title)
def test_an_estimator_answers_as_it_does(case: Case, dtype: str, reloaded: Any) -> None:
    data, new = X.astype(dtype), NEW.astype(dtype)
    estimator = case.estimator.fit(data, case.target)
    op = tracepack.script(estimator, example=data)
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(data[:2])), trust=True)
    assert str(mod.signature).startswith(f"(rows: f{dtype[-2:]}[N,5]) -> ")
    precise = dtype == "float64" and not case.narrow
    for rows in (new, new[:1], data):
        check(mod(torch.from_numpy(rows)), expected(estimator, rows), case.outputs, 1e-9 if precise else 2e-5)
    numbers = [each for each in op.outputs if each.name not in ("label",)]
    assert {each.dtype for each in numbers} == {"float64" if precise else "float32"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeRegressor(),
        ensemble.GradientBoostingRegressor(n_estimators=5),
        ensemble.RandomForestRegressor(5),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_number_at_a_threshold_takes_the_same_branch(estimator: Any, dtype: str) -> None:
    """Thresholds are float64, and what is compared with them is rounded to float32, by scikit-learn itself."""
    data = X.astype(dtype)
    estimator.fit(data, REAL)
    op = tracepack.script(estimator, example=data)
    trees = np.ravel(getattr(estimator, "estimators_", [estimator])).tolist()
    rows = []
    for each in trees:
        for feature, threshold in zip(each.tree_.feature, each.tree_.threshold, strict=True):
            for value in (threshold, np.float32(threshold), np.nextafter(np.float32(threshold), np.float32(9))):
                if feature >= 0:
                    row = data[len(rows) % len(data)].copy()
                    row[feature] = value
                    rows.append(row)
    found = np.array(rows, dtype)
    np.testing.assert_allclose(op(torch.from_numpy(found)).numpy(), estimator.predict(found), rtol=1e-5, atol=1e-5)


def test_a_table_of_columns(reloaded: Any) -> None:
    """Columns are inputs by their names: numbers of several dtypes, and strings."""
    table = pd.DataFrame(
        {
            "age": RANDOM.rand(40) * 60,
            "net income": RANDOM.rand(40).astype("float32"),
            "visits": RANDOM.randint(0, 5, 40),
            "city": np.array(["Oslo", "Rome", "Ulm"])[RANDOM.randint(0, 3, 40)],
        }
    )
    answer = np.where(RANDOM.rand(40) > 0.5, "yes", "no")
    columns = compose.ColumnTransformer(
        [
            ("numbers", preprocessing.StandardScaler(), ["age", "net income", "visits"]),
            ("city", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ]
    )
    estimator = pipeline.make_pipeline(columns, linear_model.LogisticRegression()).fit(table, answer)
    op = tracepack.script(estimator, example=table, name="stays")

    def process(age: torch.Tensor, visits: torch.Tensor, city: list[str]) -> Any:
        return op(
            age=age, visits=visits, city=[each.strip() for each in city], **{"net income": age.to(torch.float32) / 60}
        )

    def given(rows: slice) -> tuple[Any, ...]:
        part = table[rows]
        return torch.tensor(part["age"].values), torch.tensor(part["visits"].values), [f" {c} " for c in part["city"]]

    mod = reloaded(tracepack.trace(process, *given(slice(0, 2))), trust=True)
    assert str(mod.signature).startswith("(age: f64[N], visits: i64[")
    for rows in (slice(3, 4), slice(0, 40)):
        part = table[rows].assign(**{"net income": (table["age"][rows].astype("float32") / 60)})
        check(mod(*given(rows)), expected(estimator, part), "label probabilities", 1e-6)
    with pytest.raises(tracepack.SignatureError, match="op 'stays', input 'visits': wrong dtype; got int32"):
        op(torch.ones(1).double(), torch.ones(1), torch.ones(1).int(), ["Ulm"])


def test_texts(reloaded: Any) -> None:
    texts = ["the cat sat on a mat", "dogs bark loudly", "a cat and a dog", "birds sing"] * 3
    vectors = feature_extraction.text.TfidfVectorizer()
    estimator = pipeline.make_pipeline(vectors, linear_model.LogisticRegression()).fit(
        texts, ["cat", "dog", "cat", "bird"] * 3
    )
    op = tracepack.script(estimator, example=texts)
    mod = reloaded(tracepack.trace(lambda texts: op([each.strip() for each in texts]), texts[:2]), trust=True)
    for given in (["a dog"], ["THE CAT", "loudly birds", "", "unknown"]):
        check(mod(given), expected(estimator, given), "label probabilities", 1e-5)


@pytest.mark.parametrize("kind", ["CountVectorizer", "TfidfVectorizer"])
def test_neighbours_of_words_that_are_dropped(kind: str) -> None:
    texts, make = (
        ["the cat sat on the mat", "big dog ran to the cat", "fast red car 12"],
        getattr(feature_extraction.text, kind),
    )
    with pytest.raises(tracepack.ScriptError) as caught:
        tracepack.script(make(ngram_range=(1, 2)).fit(texts), example=texts)
    assert "fit it with token_pattern='[a-zA-Z0-9]+', or ngram_range=(1, 1)." in str(caught.value)
    for form in ({"ngram_range": (1, 2), "token_pattern": "[a-zA-Z0-9]+"}, {"ngram_range": (1, 1)}):
        estimator = make(**form).fit(texts)
        op = tracepack.script(estimator, example=texts)
        for given in ("red a car", "to x the", "cat's sat on", "a b c the cat 12"):
            wanted = estimator.transform([given]).toarray()
            np.testing.assert_allclose(np.asarray(op([given])[0]).reshape(wanted.shape), wanted, atol=1e-6)


@pytest.mark.parametrize(
    "estimator", [preprocessing.OneHotEncoder(), preprocessing.OrdinalEncoder(), tree.DecisionTreeClassifier()]
)
def test_integers(estimator: Any, reloaded: Any) -> None:
    estimator.fit(CATEGORIES, CATEGORIES[:, 0])
    op = tracepack.script(estimator, example=CATEGORIES)
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(CATEGORIES[:2])), trust=True)
    check(
        mod(torch.from_numpy(CATEGORIES[5:9])),
        expected(estimator, CATEGORIES[5:9]),
        " ".join(each.name for each in op.outputs),
        1e-6,
    )
    with pytest.raises(tracepack.SignatureError, match="wrong dtype; got float32; expected int64"):
        mod(torch.ones(2, 2))


def test_a_classifier_that_is_sure_of_the_first_row() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4))
    estimator = ensemble.HistGradientBoostingClassifier().fit(rows, rows[:, 0] > 0)  # 4e-5 and 0.99996
    op = tracepack.script(estimator, example=rows[:10])
    new = np.random.default_rng(1).normal(size=(20, 4))
    found = op(torch.from_numpy(new))["probabilities"].numpy()
    np.testing.assert_allclose(found, estimator.predict_proba(new), atol=1e-6)


def test_missing_numbers(reloaded: Any) -> None:
    holes = X.astype("float32")
    holes[::7, 2] = np.nan
    estimator = pipeline.make_pipeline(impute.SimpleImputer(), linear_model.Ridge()).fit(holes, REAL)
    op = tracepack.script(estimator, example=holes)
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(holes[:3])), trust=True)
    check(mod(torch.from_numpy(holes)), expected(estimator, holes), "prediction", 1e-5)


def test_an_array_of_numpy_in_the_function(reloaded: Any) -> None:
    scaler = preprocessing.StandardScaler().fit(X)
    model = linear_model.LogisticRegression().fit(scaler.transform(X), NUMBERS)
    scale, classify = tracepack.script(scaler, example=X), tracepack.script(model, example=scaler.transform(X))
    labels = ["ant", "bee", "cow"]

    def process(rows: Any) -> Any:
        found = classify(scale(rows))
        return [labels[i] for i in found["label"].tolist()], found["probabilities"].max(-1).values

    mod = reloaded(tracepack.trace(process, X[:3]), trust=True)
    names, best = mod(NEW)
    wanted = model.predict_proba(scaler.transform(NEW))
    assert names == [labels[i] for i in wanted.argmax(1)]
    np.testing.assert_allclose(best.numpy(), wanted.max(1), rtol=1e-9)
    assert mod.placement == {"StandardScaler": "cpu", "LogisticRegression": "cpu"}


def test_columns_that_cannot_be_written_are_taken_without_a_warning() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "city": ["a", "b", "a", "b"]})
    columns = [("age", preprocessing.StandardScaler(), ["age"]), ("city", preprocessing.OneHotEncoder(), ["city"])]
    estimator = compose.ColumnTransformer(columns).fit(table)
    torch.set_warn_always(True)
    try:
        op = tracepack.script(estimator, example=table)
    finally:
        torch.set_warn_always(False)
    assert np.allclose(op(age=torch.tensor([9.0], dtype=torch.float64), city=["b"]), [[(9 - 2.5) / 1.25**0.5, 0, 1]])


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("predict", r"op\(x\)\['label'\] of a classifier"),
        ("predict_proba", r"op\(x\)\['probabilities'\]"),
        ("transform", r"op\(x\)\."),
        ("inverse_transform", r"y \* scaler\.scale_ \+ scaler\.mean_"),
    ],
)
def test_methods_of_an_estimator_show_the_call_of_its_op(name: str, form: str) -> None:
    op = tracepack.script(preprocessing.StandardScaler().fit(X), example=X)
    with pytest.raises(AttributeError, match=rf"an op of tracepack has no '{name}'\. .*{form}"):
        getattr(op, name)
