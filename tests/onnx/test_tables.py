"""Tables of several dtypes: columns that a step of scikit-learn takes together are computed in their common type."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import compose, ensemble, impute, linear_model, pipeline, preprocessing, svm, tree

import tracepack
from tests.onnx.test_estimators import check, expected

RANDOM = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 80, 60),
        "income": RANDOM.normal(50, 10, 60),
        "owner": RANDOM.integers(0, 2, 60).astype(bool),
        "city": RANDOM.choice(["Oslo", "Rome", "Ulm"], 60),
        "plan": RANDOM.choice(["basic", "full"], 60),
    }
)
ANSWER = np.where(TABLE["income"] + TABLE["age"] * 0.2 > 60, "yes", "no")
NUMBERS, TEXTS = ["age", "income"], ["city", "plan"]


def columns(*steps: Any) -> Any:
    named = [(str(number), step, where) for number, (step, where) in enumerate(steps)]
    flags = preprocessing.OneHotEncoder(handle_unknown="ignore")
    return compose.ColumnTransformer([*named, ("texts", flags, TEXTS)])


def cases() -> Iterator[Any]:
    for step in (
        preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.RobustScaler(), "passthrough",
        preprocessing.PowerTransformer(), preprocessing.PolynomialFeatures(2), preprocessing.KBinsDiscretizer(4),
        impute.SimpleImputer(strategy="median"), impute.SimpleImputer(),
        pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()),
    ):  # fmt: skip
        yield columns((step, NUMBERS)), linear_model.LogisticRegression(), "probabilities"
    scaler = preprocessing.StandardScaler()
    for where in ([0, 1], slice(0, 2), [*NUMBERS, "owner"], ["age"]):
        yield columns((scaler, where)), svm.LinearSVC(), "scores"
    yield columns((scaler, NUMBERS), ("passthrough", ["owner", "age"])), svm.LinearSVC(), "scores"
    yield columns((scaler, NUMBERS)), ensemble.RandomForestClassifier(5), "probabilities"
    words = pipeline.make_pipeline(impute.SimpleImputer(strategy="most_frequent"), preprocessing.OrdinalEncoder())
    both = compose.ColumnTransformer([("n", impute.SimpleImputer(), NUMBERS), ("t", words, TEXTS)])
    yield both, linear_model.LogisticRegression(), "probabilities"
    selected = (scaler, compose.make_column_selector(dtype_include=np.number))
    yield columns(selected), linear_model.LogisticRegression(), "probabilities"


def arguments(table: Any) -> list[Any]:
    kinds = [(name, table[name].to_numpy()) for name in table]
    return [torch.from_numpy(held.copy()) if held.dtype.kind in "fiub" else list(table[name]) for name, held in kinds]


CASES = [*cases()]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize(
    ("steps", "model", "second", "wide"), [(*each, True) for each in CASES] + [(*each, False) for each in CASES[::4]]
)
def test_integers_beside_floating_numbers(steps: Any, model: Any, second: str, wide: bool) -> None:
    table = TABLE if wide else TABLE.astype({"income": "float32"})
    whole = pipeline.make_pipeline(steps, model).fit(table, ANSWER)
    op = tracepack.script(whole, example=table.head(25))
    assert [each.dtype for each in op.inputs] == ["int64", "float64" if wide else "float32", "bool", "str", "str"]
    new = table.assign(age=table["age"] + 7, income=table["income"][::-1].to_numpy())
    for rows in (table, new, new.head(1)):
        check(op(*arguments(rows)), expected(whole, rows), f"label {second}", 1e-6)


MODELS = (
    linear_model.LogisticRegression(),
    pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    tree.DecisionTreeClassifier(max_depth=3),
    ensemble.HistGradientBoostingClassifier(max_iter=2),
)


OTHERS = (["income", "rate"], ["age", "visits"], ["age"])


@pytest.mark.parametrize(
    ("model", "names"), [(each, [*NUMBERS, "owner"]) for each in MODELS] + [(MODELS[1], each) for each in OTHERS]
)
def test_tables_of_numbers_alone(model: Any, names: list[str], reloaded: Any) -> None:
    table = TABLE.assign(rate=RANDOM.random(60), visits=RANDOM.integers(0, 9, 60))[names]
    model.fit(table, ANSWER)
    op = tracepack.script(model, example=table.head(20))
    assert [each.name for each in op.inputs] == names
    mod = reloaded(tracepack.trace(lambda *given: op(*given), *arguments(table.head(3))), trust=True)
    for rows in (table, table.head(1)):
        check(mod(*arguments(rows)), expected(model, rows), "label probabilities", 1e-6)


@pytest.mark.parametrize(
    ("kinds", "by_columns"),
    [(("int64", "float32"), False), (("int64", "float32"), True), (("float64", "float64"), True)],
)
def test_large_numbers_take_the_branch_that_they_take_in_boosted_trees(kinds: Any, by_columns: bool) -> None:
    """Seconds since 1970, many of which are one number in float32."""
    seconds = 1_700_000_000 + np.arange(300)
    table = pd.DataFrame({"seconds": seconds.astype(kinds[0]), "size": RANDOM.normal(size=300).astype(kinds[1])})
    model = ensemble.HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=2)
    if by_columns:
        chosen = compose.ColumnTransformer([("all", "passthrough", ["seconds", "size"])])
        model = pipeline.make_pipeline(chosen, model)
    model.fit(table, seconds % 7 + table["size"])
    found = tracepack.script(model, example=table.head(5))(*arguments(table))
    np.testing.assert_allclose(found.numpy(), model.predict(table), atol=1e-5)


def test_whole_numbers_alone() -> None:
    rows = RANDOM.integers(-9, 9, (40, 3))
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()).fit(rows, rows.sum(1))
    op = tracepack.script(model, example=rows[:9])
    check(op(torch.from_numpy(rows)), expected(model, rows), "prediction", 1e-9)


def test_a_text_that_is_missing() -> None:
    table = pd.DataFrame({"city": ["a", None, "b"]}, dtype=object)
    words = pipeline.make_pipeline(impute.SimpleImputer(missing_values=None, strategy="most_frequent"))
    with pytest.raises(tracepack.ScriptError) as caught:
        tracepack.script(words.fit(table), example=table)
    assert str(caught.value) == (
        "column 'city': a column holds neither numbers nor strings alone; got None. "
        "Pass rows without missing texts: an op takes strings alone."
    )


@pytest.mark.parametrize("rows", [1, 4])
def test_columns_may_be_arrays_by_position_and_by_name(rows: int, reloaded: Any) -> None:
    table = TABLE[NUMBERS]
    model = linear_model.LinearRegression().fit(table, TABLE["income"] * 2 + TABLE["age"])
    op = tracepack.script(model, example=table)
    given = {name: table[name].to_numpy()[:rows] for name in NUMBERS}  # pandas gives arrays that are read-only
    wanted = model.predict(table[:rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (op(*given.values()), op(**given)):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)
        mod = tracepack.trace(lambda age, income: op(age=age, income=income), *(table[n].to_numpy() for n in NUMBERS))
    np.testing.assert_allclose(reloaded(mod, trust=True)(**given).numpy(), wanted, rtol=1e-9)


def test_a_whole_table_is_refused_with_its_columns() -> None:
    table = TABLE[[*NUMBERS, "city"]]
    made = columns(("passthrough", NUMBERS))
    made.transformers[-1] = (*made.transformers[-1][:2], ["city"])
    op = tracepack.script(pipeline.make_pipeline(made, linear_model.Ridge()).fit(table, TABLE["age"]), example=table)
    with pytest.raises(tracepack.SignatureError) as caught:
        op(table)
    form = "op(df['age'].to_numpy(), df['income'].to_numpy(), df['city'].tolist())"
    assert str(caught.value).endswith(
        "the op takes each column by itself; got DataFrame; expected ['age', 'income', 'city']. "
        f"Write {form} for a table df."
    )
    assert eval(form, {"op": op, "df": table}).shape[0] == len(table)


def test_columns_may_have_numbers_for_names() -> None:
    table = pd.DataFrame(TABLE[NUMBERS].to_numpy())  # its columns are 0 and 1
    scaled = compose.ColumnTransformer([("scaled", preprocessing.StandardScaler(), [1])], remainder="passthrough")
    for fitted_with in (table, table.to_numpy()):
        model = pipeline.make_pipeline(scaled, linear_model.LogisticRegression()).fit(fitted_with, TABLE["owner"])
        op = tracepack.script(model, example=table)
        mod = tracepack.trace(lambda age, income, op=op: op(age, income), *torch.tensor(table.to_numpy()).T)
        found = mod(*torch.tensor(table[:7].to_numpy()).T)["probabilities"]
        assert np.allclose(found, model.predict_proba(table[:7])), found
