"""Functions of scikit-learn that are no estimators: what is said of them is a form that is recorded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics
from sklearn.metrics.pairwise import cosine_distances, cosine_similarity, euclidean_distances, linear_kernel
from sklearn.preprocessing import StandardScaler

import tracepack
from tests.everyday.case import loaded

FUNCTIONS = {
    cosine_similarity: "torch.nn.functional.normalize(x) @ torch.nn.functional.normalize(y).T",
    cosine_distances: "1 - torch.nn.functional.normalize(x) @ torch.nn.functional.normalize(y).T",
    euclidean_distances: "torch.cdist(x, y)",
    linear_kernel: "x @ y.T",
}


def _cosine_similarity(x, y):
    return cosine_similarity(x.numpy(), y.numpy())


def _cosine_distances(x, y):
    return cosine_distances(x, y)


def _euclidean_distances(x, y):
    return euclidean_distances(x.numpy(), y.numpy())


def _linear_kernel(x, y):
    return linear_kernel(x.numpy(), y.numpy())


CALLS = [_cosine_similarity, _cosine_distances, _euclidean_distances, _linear_kernel]


@pytest.mark.parametrize(("function", "call"), [*zip(FUNCTIONS, CALLS, strict=True)])
def test_a_function_of_two_tables_has_a_form_in_torch(function, call) -> None:
    form = FUNCTIONS[function]
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(call, torch.rand(2, 3), torch.rand(4, 3))
    assert str(caught.value).endswith(f"Write {form}, of tensors x and y.")
    mod = loaded(eval(f"lambda x, y: {form}", {"torch": torch}), torch.rand(2, 3), torch.rand(4, 3))
    for rows, others in ((1, 6), (5, 2)):
        x, y = torch.rand(rows, 3), torch.rand(others, 3)
        np.testing.assert_allclose(mod(x, y).numpy(), function(x.numpy(), y.numpy()), atol=1e-5)


def test_estimators_alone_are_spoken_of_where_one_is_called() -> None:
    scaler = StandardScaler().fit(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(tracepack.RecordError, match=r"op = tracepack.script\(estimator, example=X\)"):
        tracepack.trace(lambda x: scaler.transform(x.numpy()), torch.rand(2, 3))
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(lambda x, y: metrics.accuracy_score(x.numpy(), y.numpy()), torch.ones(3), torch.ones(3))
    assert str(caught.value).endswith(
        "Use functions of torch or numpy in place of sklearn, or do it before, and pass what it gives."
    )
