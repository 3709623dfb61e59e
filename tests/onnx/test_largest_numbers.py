"""Rows near the largest numbers of their dtype: an op answers as the estimator does, or refuses them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR, LinearSVC

import tracepack

PARTS = ((1, 0, 0), (1, -1, 0), (1, 1, 1), (-1, -1, -1), (0, 1, -1), (1, 0.5, -0.3))
FACTORS = (1, 0.99, 0.1, 1e-3, 1e-10, 1e-19, 1e-25)
ESTIMATORS = {
    "logistic": LogisticRegression, "linear svc": LinearSVC, "svr": SVR, "bayes": GaussianNB,
    "discriminant": LinearDiscriminantAnalysis, "sgd": lambda: SGDClassifier(random_state=0),
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "components": lambda: make_pipeline(PCA(2), LogisticRegression()),
    "squares": lambda: make_pipeline(PolynomialFeatures(2), LinearRegression()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_near_the_largest_numbers(name, dtype) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 3)).astype(dtype)
    estimator = ESTIMATORS[name]().fit(rows, (rows[:, 0] + rows[:, 1] > 0).astype(int))
    op = tracepack.script(estimator, example=rows)
    with np.errstate(all="ignore"):
        for factor, parts in itertools.product(FACTORS, PARTS):
            row = (np.array([parts]) * (float(np.finfo(dtype).max) * factor)).astype(dtype)
            try:
                found = op(torch.from_numpy(row))
            except tracepack.GuardError:
                continue
            wanted = estimator.predict(row)  # which raises no error where the op answers
            label = found["label"] if isinstance(found, dict) else found
            np.testing.assert_allclose(np.asarray(label).reshape(-1), wanted, rtol=1e-3, err_msg=str((factor, parts)))
    usual = op(torch.from_numpy(rows[:5]))  # which no guard refuses
    assert usual is not None
