"""numpy: subclasses, reversed views, errstate, and arrays that a function makes anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

A = np.arange(6, dtype=np.float32).reshape(2, 3)
X, MORE = torch.randn(2, 3), torch.randn(5, 3)


OF_NUMPY = "ignore:the matrix subclass:PendingDeprecationWarning"


@pytest.mark.filterwarnings(OF_NUMPY)
@pytest.mark.parametrize("kind", [lambda a: np.ma.masked_array(a, a > 2), np.matrix, np.rec.array])
def test_arrays_of_other_kinds_are_no_inputs(kind: Any) -> None:
    given = kind(A)
    with pytest.raises(tracepack.SignatureError, match="numpy.*(Masked|matrix|recarray)"):
        tracepack.trace(lambda a: a * 2, given)
    traced = tracepack.trace(lambda a: a * 2, A)
    with pytest.raises(tracepack.SignatureError, match="numpy.*(Masked|matrix|recarray)"):
        traced(given)


def test_a_mapped_array_is_an_array(tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", A)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    traced = tracepack.trace(lambda a: a * 2, mapped)
    assert np.array_equal(traced(mapped), A * 2)


def masks(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(np.ma.masked_array(x.numpy(), x.numpy() > 0).sum(0)))


def with_a_matrix(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x.numpy() * np.matrix(np.eye(3, dtype=np.float32))))


def reverses(x: torch.Tensor) -> torch.Tensor:
    a = x.numpy()
    a[::-1][0] = 7
    return x * 2


def raises(x: torch.Tensor) -> torch.Tensor:
    with np.errstate(divide="raise"):
        return torch.from_numpy(1 / x.numpy())


def ignores(x: torch.Tensor) -> torch.Tensor:
    with np.errstate(all="ignore"):
        return torch.from_numpy(1 / x.numpy())


def sums(x: torch.Tensor) -> Any:
    return x.numpy() * np.sum([x.shape[0], x.shape[1]])


def products(x: torch.Tensor) -> Any:
    return x.numpy() + np.prod(x.shape)


def takes_anew(x: torch.Tensor) -> torch.Tensor:
    kept = torch.from_numpy(np.zeros(3, np.float32))
    return kept


def writes_anew(x: torch.Tensor) -> torch.Tensor:
    made = torch.from_numpy(np.zeros(3, np.float32))
    made += x.sum(0)
    return made


@pytest.mark.filterwarnings(OF_NUMPY)
@pytest.mark.parametrize("process", [masks, with_a_matrix, reverses, raises, ignores, sums, products, writes_anew])
def test_functions_of_arrays(process: Any) -> None:
    trial(lambda: process, X, others=[(MORE,), (X * 0,), (-X,)])


def test_errstate_that_raises_is_refused() -> None:
    refused(trial(lambda: raises, X), "errstate", "in raises")
    assert trial(lambda: ignores, X, others=[(X * 0,)]) == "right"


def test_an_array_made_in_each_call_is_new_in_each() -> None:
    traced = tracepack.trace(takes_anew, X)
    first = traced(X)
    first += 5
    assert torch.equal(traced(X), torch.zeros(3))
    assert trial(lambda: writes_anew, X, others=[(MORE,), (X * 2,)]) == "right"


def test_a_write_into_a_reversed_array_reaches_it() -> None:
    def process(a: Any) -> Any:
        a += 1
        return a * 2

    traced = tracepack.trace(process, A.copy())
    for _ in range(2):
        base = A.copy()
        try:
            got = traced(base[::-1])
        except tracepack.SignatureError as error:
            assert "negative strides" in str(error)  # noqa: PT017  # both ways are right
        else:
            assert np.array_equal(base, A + 1)
            assert np.array_equal(got, (A + 1)[::-1] * 2)


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.numpy().astype("i1") + 100,
        lambda x: x.numpy().astype("f2") * 3,
        lambda x: x.numpy().mean(0, dtype="f8"),
        lambda x: x.numpy().mean(0, dtype="float32"),
        lambda x: x.numpy() + np.arange(x.shape[1], dtype="i2"),
        lambda x: np.full(x.shape, 2, "d") * x.numpy(),
        lambda x: np.asarray(x.numpy(), "<f8", order="F"),
        lambda x: np.einsum("i->", x.numpy()[0]),  # no dtype
    ],
)
def test_a_dtype_may_be_a_text(process) -> None:
    assert trial(lambda: process, torch.randn(2, 3), others=[(torch.randn(5, 3),), (torch.randn(1, 4),)]) == "right"


def test_what_a_file_cannot_hold_is_refused_before_there_is_one() -> None:
    with pytest.raises(
        tracepack.RecordError, match=r"(?s)test_arrays.py:.*numpy.ndarray.astype .* a file cannot hold.*>f4"
    ):
        tracepack.trace(lambda x: x.numpy().astype(">f4").sum(), torch.randn(2, 3))


def two_of_one(x: torch.Tensor) -> Any:
    held = np.zeros(3)
    return torch.from_numpy(held), torch.from_numpy(held)


def with_its_array(x: torch.Tensor) -> Any:
    held = np.zeros(3)
    return {"tensor": torch.from_numpy(held), "array": held}


@pytest.mark.parametrize("process", [two_of_one, with_its_array])
def test_results_that_share_memory_share_it_or_are_refused(process: Any) -> None:
    refused(trial(lambda: process, X, others=[(MORE,)]), "share memory where the function's do not, or not", "in ")


def test_results_that_are_views_of_each_other_stay_that() -> None:
    traced = tracepack.trace(lambda x: (y := x * 2, y[0], x.numpy()), X)
    given = X.clone()
    double, row, array = traced(given)
    row += 1
    given += 5
    assert torch.equal(double[0], X[0] * 2 + 1)
    assert np.array_equal(array, X.numpy() + 5)
