"""The types of numpy's numbers, called with values of the run as functions: `np.float32(x)`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy import float32

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

ARRAYS = ([np.array([0.5, 0.25, 1.0])], [np.array([0.1, 0.9])])
TENSORS = ([torch.tensor([0.5, 2.0, 1.25])], [torch.tensor([3.0, 0.5])])
LISTS = ([[1.5, 2.5]], [[3.5]], [[]])

CASES = {
    "an array": (lambda a: np.float32(a), ARRAYS),
    "an array that is computed": (lambda a: np.uint8(a * 255), ARRAYS),
    "another name of a type": (lambda a: np.single(a), ARRAYS),
    "an element": (lambda a: np.float64(a.mean()) * 2, ARRAYS),
    "a truth": (lambda a: np.bool_(a.any()), ([np.ones(3)], [np.zeros(2)])),
    "a place": (lambda a: int(np.int64(a.argmax())), ARRAYS),
    "a number of a tensor": (lambda x: np.float32(x.mean().item()), TENSORS),
    "a type under its own name": (lambda x: float32(x.mean().item()), TENSORS),
    "a tensor": (lambda x: np.float32(x), TENSORS),
    "a size": (lambda x: np.int64(len(x)), TENSORS),
    "a size for a tensor": (lambda x: torch.zeros(np.int64(len(x))), TENSORS),
    "a ratio": (lambda x: np.float32(x.sum().item()) / np.int64(len(x)), TENSORS),
    "a number": (lambda a, k: a * np.float32(k), ([np.ones(3), 2.0], [np.ones(2), 0.1])),
    "a text": (lambda text: np.float32(text) * 2, (["1.5"], ["-0.1"])),
    "a list": (lambda xs: np.float32(xs), LISTS),
    "each of a list": (lambda xs: [np.int64(x) for x in xs], LISTS),
    "each of a list by map": (lambda xs: list(map(np.float16, xs)), LISTS),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("error::UserWarning")
def test_it_is_the_number_of_each_run(name) -> None:
    function, (example, *others) = CASES[name]
    pipeline = loaded(function, *example)
    for args in (example, *others):
        assert difference(function(*args), pipeline(*args)) == ""


def test_an_array_of_the_type_shares_its_memory() -> None:
    def doubled(a):
        same = np.float64(a + 0)
        view = np.float64(same)
        view[0] = 9.0
        return same

    pipeline = loaded(doubled, np.ones(3))
    assert np.array_equal(pipeline(np.ones(2)), [9.0, 1.0])


def test_a_tensor_of_one_element_is_a_number_to_float64_alone() -> None:
    with pytest.raises(tracepack.RecordError, match=r"Write x\.numpy\(\)\.astype\(numpy\.float64\)"):
        tracepack.trace(lambda x: np.float64(x), torch.ones(3))
    pipeline = loaded(lambda x: x.numpy().astype(np.float64), torch.ones(3))
    assert difference(np.ones(1), pipeline(torch.ones(1))) == ""
    assert difference(np.float64(2.0), loaded(lambda x: np.float64(x.sum()), torch.ones(3))(torch.ones(2))) == ""


def test_a_number_that_does_not_fit_is_an_error_in_the_run() -> None:
    pipeline = loaded(lambda n: np.uint8(n), 3)
    with pytest.raises(Exception, match="300"):
        pipeline(300)
