"""What `script` refuses of estimators, trust, and a process that has neither scikit-learn nor the converters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnx
import onnxruntime
import pandas
import pytest
import skl2onnx
import torch
import xgboost
from sklearn.cluster import DBSCAN
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import SplineTransformer, StandardScaler
from torch.fx.experimental.proxy_tensor import make_fx

import tracepack
from tests.onnx.models import linear, weights

X = np.random.RandomState(0).randn(20, 3)
ELSE = "Compute the same in the function that you trace, in numpy or torch."
TAKES = "a matrix of numbers, a table of columns (pandas), or a list of strings"


def message(model: Any, example: Any) -> str:
    with pytest.raises(tracepack.ScriptError) as got:
        tracepack.script(model, example=example)
    return str(got.value)


def test_an_estimator_needs_an_example() -> None:
    assert message(StandardScaler().fit(X), None) == (
        "op 'StandardScaler': an estimator is converted with an example. Pass example=X, some rows that it takes."
    )


@pytest.mark.parametrize("example", [3, X[0], np.array([[None]]), X[:0]])
def test_examples_that_are_no_rows(example: Any) -> None:
    found = message(StandardScaler().fit(X), example)
    assert found.startswith("an estimator cannot be converted with this example; got ")
    assert found.endswith(f"; expected {TAKES}")


def test_an_estimator_that_is_not_fitted() -> None:
    found = message(StandardScaler(), X)
    assert found.startswith("op 'StandardScaler': the StandardScaler does not take the example; got NotFittedError: ")
    assert found.endswith("Fit it, and pass example=X, some rows that it takes.")


def test_an_estimator_that_takes_other_rows() -> None:
    found = message(StandardScaler().fit(X), X[:, :2])
    assert "got ValueError: X has 2 features, but StandardScaler is expecting 3 features as input" in found


def test_an_estimator_that_only_knows_its_own_rows() -> None:
    assert message(DBSCAN().fit(X), X) == "a DBSCAN can neither predict nor transform other rows"


@pytest.fixture
def no_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter that refuses float64."""
    original = skl2onnx.convert_sklearn

    def convert(model: Any, name: str, types: Any, **options: Any) -> Any:
        if any(type(kind).__name__ == "DoubleTensorType" for _, kind in types):
            raise RuntimeError("not in float64.")
        return original(model, name, types, **options)

    monkeypatch.setattr(skl2onnx, "convert_sklearn", convert)


def test_a_form_is_shown_where_it_works(no_float64: None) -> None:
    estimator = LinearRegression().fit(X, X[:, 0])
    assert message(estimator, X) == (
        "op 'LinearRegression': skl2onnx cannot convert this LinearRegression; got RuntimeError: not in float64. "
        "It runs in float32: pass example=X.astype('float32'); the op then takes float32."
    )
    op = tracepack.script(estimator, example=X.astype("float32"))
    np.testing.assert_allclose(op(torch.from_numpy(X).float()).numpy(), estimator.predict(X), rtol=1e-4, atol=1e-5)


def test_the_form_for_a_table_names_its_columns(no_float64: None) -> None:
    table = pandas.DataFrame({"rate": X[:, 0], "income": X[:, 1]})
    estimator = LinearRegression().fit(table, X[:, 0])
    assert "pass example=X.astype({'rate': 'float32', 'income': 'float32'}); the op" in message(estimator, table)
    op = tracepack.script(estimator, example=table.astype({"rate": "float32", "income": "float32"}))
    assert [each.dtype for each in op.inputs] == ["float32", "float32"]


def test_no_form_is_shown_where_none_works() -> None:
    spline = SplineTransformer().fit(X)
    assert message(spline, X).endswith(f"._polynomial.SplineTransformer'>'. {ELSE}")


def test_a_booster_is_no_estimator(tmp_path: Path) -> None:
    booster = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, label=X[:, 0] > 0), 3)
    assert message(booster, X) == (
        "this object cannot become an op; got Booster; expected an estimator. Make an estimator of it: "
        "booster.save_model('m.json'); model = xgboost.XGBClassifier() (or XGBRegressor()); "
        "model.load_model('m.json'); script(model, example=X)."
    )
    booster.save_model(tmp_path / "m.json")
    model = xgboost.XGBClassifier()
    model.load_model(tmp_path / "m.json")
    found = tracepack.script(model, example=X)(torch.from_numpy(X))["probabilities"][:, 1]
    np.testing.assert_allclose(found.numpy(), booster.predict(xgboost.DMatrix(X)), atol=1e-6)
    data = lightgbm.Dataset(X, label=X[:, 0] > 0)
    found = message(lightgbm.train({"objective": "binary", "verbose": -1}, data, 2), X)
    assert found.endswith("Fit a lightgbm.LGBMClassifier or LGBMRegressor in its place, and pass that with example=X.")


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_conversion_that_answers_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    """The converter is made to convert another model than it is given."""
    estimator = LinearRegression().fit(X, X[:, 0])
    other = LinearRegression().fit(X, X[:, 0] + shift)
    original = skl2onnx.convert_sklearn
    monkeypatch.setattr(
        skl2onnx, "convert_sklearn", lambda model, *args, **kwargs: original(other, *args, **kwargs | {"options": None})
    )
    if not shift:
        assert tracepack.script(estimator, example=X).name == "LinearRegression"
        return
    found = message(estimator, X)
    assert found.startswith(
        "op 'LinearRegression': the ONNX model answers otherwise than the LinearRegression: prediction of the row "
        f"{X[0].tolist()!r}; got "
    )
    assert found.endswith(ELSE)


def test_the_rows_around_the_example_are_tried_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference that no row of the example shows, but one beside it."""
    estimator = LinearRegression().fit(X, X[:, 0])
    original = LinearRegression.predict

    def predict(self: Any, rows: Any) -> Any:
        found = original(self, rows)
        return found + (np.abs(rows).max() > 2 * np.abs(X).max())

    monkeypatch.setattr(LinearRegression, "predict", predict)
    assert "answers otherwise than the LinearRegression" in message(estimator, X)


def test_what_skl2onnx_does_not_know() -> None:
    class Own(LinearRegression):
        """A class of the user's, whose rule no converter knows."""

    found = message(Own().fit(X, X[:, 0]), X)
    assert found.startswith("op 'Own': skl2onnx cannot convert this Own; got ")
    assert found.endswith(f"'>'. {ELSE}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A pipeline of a scaler and a classifier, saved."""
    scaler = StandardScaler().fit(X)
    model = LogisticRegression().fit(scaler.transform(X), np.where(X[:, 0] > 0, "yes", "no"))
    scale, classify = tracepack.script(scaler, example=X), tracepack.script(model, example=X, name="verdict")
    mod = tracepack.trace(lambda rows: classify(scale(rows)), torch.from_numpy(X[:2]))
    mod.save(tmp_path / "verdict.tpk", examples=[{"rows": torch.from_numpy(X[:4])}])
    return tmp_path / "verdict.tpk"


def test_a_file_needs_trust(file: Path) -> None:
    with pytest.raises(tracepack.TrustError) as got:
        tracepack.load(file)
    assert str(got.value) == (
        f"'{file}': op 'StandardScaler' is kept as onnx, which can run code. "
        "Pass trust=True (a command: --trust) if you trust where the file comes from."
    )
    assert len(tracepack.load(file, trust=True).run({"rows": X})["label"]) == len(X)


def test_inspect_says_so(file: Path) -> None:
    command = [sys.executable, "-m", "tracepack", "inspect", str(file), "--json"]
    data = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert data["needs_trust"] is True
    found = [(op["name"], op["device"], op["kernels"], op["runs_code"]) for op in data["ops"]]
    assert found == [(name, "cpu", [name], True) for name in ("StandardScaler", "verdict")]


def test_nothing_of_the_users_objects_is_in_the_file(file: Path) -> None:
    data = file.read_bytes()
    for word in (b"sklearn", b"pickle", b"joblib", b"_logistic", b"coef_", str(Path.cwd()).encode()):
        assert word not in data


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sklearn", "skl2onnx", "onnxmltools", "onnx", "lightgbm", "xgboost", "scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Absent())
import torch, tracepack
mod = tracepack.load(sys.argv[1], trust=True, verify="golden")
found = mod.run({"rows": torch.tensor([[2.0, 0, 0], [-2.0, 0, 0]], dtype=torch.float64)})
print(found["label"], found["probabilities"].shape)
"""


def test_a_process_without_scikit_learn_and_converters(file: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == "['yes', 'no'] torch.Size([2, 2])\n", done.stderr


NO_RUNTIME = """
import sys
sys.modules["onnxruntime"] = None
import tracepack
for call in (lambda: tracepack.load(sys.argv[1], trust=True), lambda: tracepack.script(sys.argv[2])):
    try:
        call()
    except tracepack.MissingExtraError as error:
        print(error)
"""


def test_a_process_without_the_runtime(file: Path, tmp_path: Path) -> None:
    onnx.save(linear(weights(2, 2)), tmp_path / "net.onnx")
    command = [sys.executable, "-c", NO_RUNTIME, str(file), str(tmp_path / "net.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout == 2 * (
        "kernels of kind 'onnx' need the package 'onnxruntime', which is not installed. "
        "Install it: pip install 'tracepack[onnx]'.\n"
    ), done.stderr


def test_without_the_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(tracepack.MissingExtraError) as got:
        tracepack.script(StandardScaler().fit(X), example=X)
    assert str(got.value) == (
        "op 'StandardScaler': converting a StandardScaler needs the package 'skl2onnx'. "
        "Install it: pip install 'tracepack[onnx]'."
    )


def test_a_graph_that_torch_makes_of_the_caller_does_not_hold_one_answer() -> None:
    op = tracepack.script(linear(weights(4, 2)))
    mod, x = tracepack.trace(lambda x: op(x), torch.rand(3, 4)), torch.rand(3, 4)
    mod(x)
    for way in (lambda: make_fx(mod)(x), lambda: torch.func.functionalize(mod)(x)):
        with pytest.raises(tracepack.TracepackError, match="where torch makes a graph of its caller"), torch.no_grad():
            way()
    mod(x)


def test_an_estimator_whose_outputs_have_other_numbers_of_classes_goes_output_by_output() -> None:
    wanted = np.c_[X[:, 0] > 0, np.arange(20) % 3]
    estimator = MultiOutputClassifier(LogisticRegression()).fit(X, wanted)
    found = message(estimator, X)
    assert found.endswith(
        "Its outputs have other numbers of classes, which no one array holds: make an op of each, "
        "ops = [tracepack.script(each, example=X) for each in estimator.estimators_]."
    )
    ops = [tracepack.script(each, example=X) for each in estimator.estimators_]
    mod = tracepack.trace(lambda x: [op(x) for op in ops], X)
    for got, each in zip(mod(X[:7]), estimator.estimators_, strict=True):
        assert np.array_equal(got["label"], each.predict(X[:7]))


def test_a_session_of_onnx_runtime_in_the_function_shows_the_op_of_its_file(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(linear(weights(3, 2)), path)
    session = onnxruntime.InferenceSession(path)
    name = session.get_inputs()[0].name
    given = X.astype(np.float32)
    with pytest.raises(tracepack.RecordError) as got:
        tracepack.trace(lambda x: session.run(None, {name: x})[0], given)
    form = 'Make an op of the file before the function: op = tracepack.script("model.onnx"), and call op(x).'
    assert str(got.value).endswith(form)
    op = tracepack.script(path)
    mod = tracepack.trace(lambda x: op(x), given)
    assert np.allclose(mod(given[:7]), session.run(None, {name: given[:7]})[0])
