"""Steps before boosted trees: their thresholds are numbers of the training rows, which have to take the same branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
import torch
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

import tracepack

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
MODELS = (lambda: xgboost.XGBClassifier(n_estimators=8), lambda: HistGradientBoostingClassifier(max_iter=8))


EXACT = [(StandardScaler, "float64"), (MinMaxScaler, "float64"), (MinMaxScaler, "float32")]
if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):  # before, it subtracted float64 from float32
    EXACT.append((StandardScaler, "float32"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("scaler", "dtype"), EXACT)
def test_every_training_row_takes_the_branch_that_it_takes_in_the_pipeline(scaler: Any, dtype: str, model: Any) -> None:
    data = X.astype(dtype)
    pipeline = make_pipeline(scaler(), model()).fit(data, Y)
    found = tracepack.script(pipeline, example=data[:4])(torch.from_numpy(data))  # few rows show nothing by themselves
    np.testing.assert_allclose(found["probabilities"].numpy(), pipeline.predict_proba(data), atol=1e-5)
    assert found["label"].tolist() == pipeline.predict(data).tolist()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", [Normalizer, MaxAbsScaler])
def test_steps_that_round_otherwise_are_refused(step: Any, model: Any) -> None:
    data = X.astype("float32")
    pipeline = make_pipeline(step(), model()).fit(data, Y)
    with pytest.raises(tracepack.ScriptError) as caught:
        tracepack.script(pipeline, example=data[:4], name="op")
    name = type(pipeline[-1]).__name__
    assert f"op 'op': the steps before the {name} round otherwise in ONNX Runtime, and its thresholds" in str(
        caught.value
    )
    assert f"Or fit the {name} to what the other steps give as an op" in str(caught.value)


def test_the_advice_holds() -> None:
    data = X.astype("float32")
    pipeline = make_pipeline(Normalizer(), MODELS[0]()).fit(data, Y)
    steps = tracepack.script(pipeline[:-1], example=data[:4])
    given = steps(torch.from_numpy(data))
    model = MODELS[0]().fit(given.numpy(), Y)
    found = tracepack.script(model, example=given[:4])(given)
    np.testing.assert_allclose(found["probabilities"].numpy(), model.predict_proba(given.numpy()), atol=1e-5)
