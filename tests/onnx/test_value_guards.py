"""Rows that few examples hold: an op of an estimator answers them as it does, or refuses them, as it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import cluster, ensemble, linear_model, naive_bayes, neighbors, pipeline, preprocessing, tree
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import tracepack
from tracepack.ops.onnx.kernel import OnnxKernel
from tracepack.ops.onnx.value_guards import ValueGuard

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(60, 4)
LABELS, REAL = RANDOM.randint(0, 3, 60), X.sum(1)
TEXTS = ["the cat sat on the mat", "a dog ate my homework", "foo bar", "cat dog"]
TABLE = pd.DataFrame({"c": ["a", "b", "c", "a", "B"] * 4, "d": ["x", "y", "x", "y", "x"] * 4})


def held(op: Any, estimator: Any, rows: Any) -> None:
    """Checks that an op answers rows as an estimator does, or refuses them; and refuses what that refuses."""
    method = getattr(estimator, "predict_proba", getattr(estimator, "predict", None)) or estimator.transform
    try:
        wanted = method(rows)
    except (ValueError, IndexError):
        with pytest.raises(tracepack.TracepackError):  # a guard's, or ONNX Runtime's own
            op(torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows)
        return
    try:
        got = op(torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows)
    except tracepack.TracepackError:
        return
    got = got["probabilities"] if isinstance(got, dict) and "probabilities" in got else got
    got = got["label"] if isinstance(got, dict) else got
    wanted = wanted.toarray() if hasattr(wanted, "toarray") else wanted
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "estimator",
    [
        preprocessing.StandardScaler(), preprocessing.PowerTransformer(), preprocessing.Normalizer("l1"),
        preprocessing.KBinsDiscretizer(3, encode="ordinal"), preprocessing.Binarizer(),
        linear_model.LogisticRegression(), linear_model.Ridge(), naive_bayes.GaussianNB(),
        neighbors.KNeighborsClassifier(), tree.DecisionTreeClassifier(), ensemble.RandomForestClassifier(8),
        ensemble.RandomForestRegressor(8), ensemble.BaggingRegressor(n_estimators=5),
        ensemble.IsolationForest(n_estimators=5), ensemble.HistGradientBoostingClassifier(max_iter=5),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_numbers_that_the_example_does_not_hold(estimator: Any, dtype: str) -> None:
    rows = X.astype(dtype)
    estimator.fit(rows, LABELS if not hasattr(estimator, "alpha") else REAL)
    op = tracepack.script(estimator, example=rows)
    for value in (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e39 if dtype == "float64" else 1e30):
        for column in (0, 2, slice(None)):
            other = rows[5:9].copy()
            other[1, column] = value
            held(op, estimator, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "model", [cluster.KMeans(3, random_state=0), neighbors.KNeighborsRegressor()], ids=lambda each: type(each).__name__
)
def test_numbers_so_far_away_that_distances_are_rounding(model: Any, dtype: str, reloaded: Any) -> None:
    rows = X.astype(dtype)
    op = tracepack.script(model.fit(rows, REAL.astype(dtype)), example=rows)
    mod = reloaded(tracepack.trace(lambda x: op(x), torch.from_numpy(rows)), trust=True)
    for scale in (1, 10, 100):
        mod(torch.from_numpy(rows * scale))  # is not refused yet
    for scale in (1, 10, 100, 1e4, 1e8, 1e12, 1e16, 1e30):
        held(mod, model, (rows * scale).astype(dtype))
    with pytest.raises(tracepack.GuardError, match=r"row 2 holds a number beyond 1e\d+, which the K"):
        mod(torch.from_numpy(np.concatenate([rows[:2], rows[:1] * 1e30])))


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_without_a_norm_are_left_alone(norm: str, dtype: str, reloaded: Any) -> None:
    rows = X.astype(dtype)
    op = tracepack.script(preprocessing.Normalizer(norm).fit(rows), example=rows)
    mod = reloaded(tracepack.trace(lambda rows: op(rows), torch.from_numpy(rows[:2])), trust=True)
    for factor in (0.0, 1e-31, 1e-17, 1e-7, 1.0, 1e6):
        given = (rows[:5] * factor).astype(dtype)
        wanted = preprocessing.Normalizer(norm).transform(given)
        np.testing.assert_allclose(mod(torch.from_numpy(given)).numpy(), wanted, rtol=1e-5, atol=0)


def test_the_error_says_the_row_and_is_in_the_file(reloaded: Any) -> None:
    op = tracepack.script(ensemble.RandomForestClassifier(8).fit(X, LABELS), example=X, name="forest")
    mod = reloaded(tracepack.trace(lambda rows: op(rows)["label"], torch.from_numpy(X[:2])), trust=True)
    rows = torch.from_numpy(X[:3].copy())
    rows[2, 1] = torch.nan
    with pytest.raises(tracepack.TracepackError) as got:
        mod(rows)
    assert (
        "op 'forest', input 'X': row 2 holds NaN, which the RandomForestClassifier answers otherwise than its "
        in str(got.value)
    )
    rows[2, 1] = torch.inf
    with pytest.raises(
        tracepack.TracepackError, match="row 2 holds infinity, which the RandomForestClassifier refuses"
    ):
        mod(rows)


def test_a_column_that_may_be_missing_beside_one_that_may_not() -> None:
    table = pd.DataFrame({"age": X[:, 0].astype("float32"), "pay": X[:, 1].astype("float32")})
    steps = [("age", preprocessing.StandardScaler(), ["age"]), ("pay", preprocessing.Normalizer(), ["pay"])]
    estimator = ColumnTransformer(steps).fit(table)
    op = tracepack.script(estimator, example=table)
    good, bad = torch.tensor([1.0, 2.0]), torch.tensor([torch.nan, 2.0])
    assert op(age=bad, pay=good).isnan().tolist() == [[True, False], [False, False]]
    with pytest.raises(tracepack.GuardError, match="input 'pay': row 0 holds NaN, which the ColumnTransformer refuses"):
        op(age=good, pay=bad)


@pytest.mark.parametrize("encoder", [preprocessing.OrdinalEncoder, preprocessing.OneHotEncoder])
def test_a_new_category_is_refused_as_the_encoder_does(encoder: Any, reloaded: Any) -> None:
    op = tracepack.script(encoder().fit(TABLE), example=TABLE)
    mod = reloaded(tracepack.trace(lambda c, d: op(c=c, d=d), ["a", "b"], ["x", "y"]), trust=True)
    found = encoder().fit(TABLE).transform(TABLE[1:5])
    wanted = found.toarray() if hasattr(found, "toarray") else found
    assert mod(list(TABLE.c[1:5]), list(TABLE.d[1:5])).tolist() == wanted.tolist()
    for c, d in (("a", "z"), ("A", "x"), ("", "y"), ("a ", "x")):
        with pytest.raises(tracepack.TracepackError, match="a category that the encoder was not fitted with"):
            mod(["b", c], ["x", d])
    numbers = np.array([[3, 1], [4, 1], [7, 2]])
    op = tracepack.script(encoder().fit(numbers), example=numbers)
    for row in ([9, 1], [3, 0], [-1, 2]):
        with pytest.raises(tracepack.GuardError, match="a category that the encoder was not fitted with"):
            op(torch.tensor([row]))


def test_floating_categories_that_are_cut_are_refused() -> None:
    rows = RANDOM.randint(0, 4, (40, 2)).astype("float64")
    with pytest.raises(tracepack.ScriptError, match="refuses rows that its ONNX model answers; got ValueError: Found"):
        tracepack.script(preprocessing.OneHotEncoder().fit(rows), example=rows)


@pytest.mark.parametrize(
    "estimator",
    [
        CountVectorizer(), TfidfVectorizer(ngram_range=(1, 2), token_pattern="[a-zA-Z]+"),
        CountVectorizer(lowercase=False),
        CountVectorizer(token_pattern=r"\b\w+\b"), CountVectorizer(token_pattern=r"\S+"),
        TfidfVectorizer(analyzer="char"), CountVectorizer(token_pattern="[a-zA-Z]+", lowercase=False),
        pipeline.make_pipeline(TfidfVectorizer(), linear_model.LogisticRegression()),
    ],
)  # fmt: skip
def test_texts_that_the_example_does_not_hold(estimator: Any) -> None:
    op = tracepack.script(estimator.fit(TEXTS, [0, 1, 0, 1]), example=TEXTS)
    for text in (
        "éthe cat", "catß dog", "日本語cat", "İstanbul cat", "cat\xa0dog", "cat\x0bdog", "cat\u2028dog", "CAT\u0130",
        "cat\x1cdog", "cat  dog", "cat\t\ndog", "", " ", "cat-dog", "don't cat_dog 3.14", "\x00cat", "\u212aat cat",
    ):  # fmt: skip
        held(op, estimator, [text])
    plain = ["the CAT", "a dog's foo-bar, 3.5!"]
    wanted = getattr(estimator, "predict_proba", None) or (lambda rows: estimator.transform(rows).toarray())
    got = op(plain)
    np.testing.assert_allclose(
        (got["probabilities"] if isinstance(got, dict) else got).numpy(), wanted(plain), rtol=1e-5
    )


def test_texts_beyond_ascii_pass_where_they_are_split_alike() -> None:
    estimator = CountVectorizer(token_pattern="[a-zA-Z]+", lowercase=False).fit(TEXTS)
    op = tracepack.script(estimator, example=TEXTS)
    for text in ("éthe cat", "日本語cat", "cat\u2028dog"):
        assert op([text]).tolist() == estimator.transform([text]).toarray().tolist()


@pytest.mark.parametrize(
    "guards", [3, [3], [["nan", 0, None, "A"]], [["odd", 0, None, "A", True]], [["nan", -1, None, "A", True]],
               [["nan", 0, ["a"], "A", True]], [["nan", True, None, "A", True]]]
)  # fmt: skip
def test_guards_of_a_file_that_are_none(guards: Any) -> None:
    op = tracepack.script(preprocessing.StandardScaler().fit(X), example=X)
    with pytest.raises(tracepack.TracepackError, match="op 'a': the guards of an ONNX op are none"):
        OnnxKernel.build({"name": "a", "guards": guards}, {"model.onnx": op.kernel.data})


@pytest.mark.parametrize(
    "guard", [ValueGuard("nan", 1, None, "A", True), ValueGuard("nan", 0, (4,), "A", True),
              ValueGuard("control", 0, None, "A", True)]
)  # fmt: skip
def test_guards_of_other_inputs_than_the_models(guard: ValueGuard) -> None:
    op = tracepack.script(preprocessing.StandardScaler().fit(X), example=X)
    with pytest.raises(tracepack.GraphError, match="op 'a': a guard is of another input than the model has"):
        OnnxKernel(op.kernel.data, "a", [guard])(torch.from_numpy(X))
