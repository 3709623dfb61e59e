"""Lists of any length that numpy's functions take as arrays, at other lengths than the example's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

FLOATS = ([[3.0, 1.0, 2.0]], [[1.0]], [[1.0, 2.0, 3.0, 4.0, 5.0, -6.5]], [[0.0, 0.0]])
INTS = ([[1, 2, 3]], [[5]], [[2**40, 1]], [[]])
PAIRS = ([[1.0, 2.0, 3.0], [2.0, 4.0, 7.0]], [[1.0, 2.0], [3.0, 4.0]], [[0.5] * 4, [2.0] * 4])
ROWS = ([[[1.0, 2.0], [3.0, 4.0]]], [[[1.0, 2.0]]], [[[1.0, 2.0]] * 5])


def clipped(values):
    x = np.array(values)
    x[x < 0] = 0
    x /= 2
    return x.tolist()


TAKES_A_LIST = {
    "array": (lambda v: np.array(v) * 2, FLOATS),
    "a dtype": (lambda v: torch.from_numpy(np.asarray(v, dtype=np.float32)).softmax(-1), FLOATS),
    "integers": (lambda v: np.array(v) * 2, INTS),
    "to torch": (lambda v: torch.from_numpy(np.array(v)) + 1, INTS),
    "rows": (lambda v: np.array(v).sum(axis=0).tolist(), ROWS),
    "the sizes of rows": (lambda v: np.array(v).shape, ROWS),
    "of a comprehension": (lambda v: np.array([x * x for x in v]).sum(), FLOATS),
    "of a comprehension of lists": (lambda v: np.array([[x, x * 2] for x in v]).max(axis=0), FLOATS),
    "of words": (lambda t: np.mean([len(word) for word in t.split()]), (["a bb ccc"], ["x"], ["aaaa bb"])),
    "in texts": (lambda v: f"{np.mean(v):.2f} ± {np.std(v):.2f}", FLOATS),
    "in a loop": (lambda v: [x for x in v if abs(x - np.mean(v)) > np.std(v)], FLOATS),
    "a branch on the size": (lambda v: "many" if np.array(v).size > 2 else "few", FLOATS),
    "a label": (lambda v: "abcdef"[int(np.argmax(v))], FLOATS),
    "places": (lambda v: np.where(np.array(v) > 1.5)[0].tolist(), FLOATS),
    "a mask": (lambda v: np.array(v)[np.array(v) > 1].tolist(), FLOATS),
    "in place": (clipped, FLOATS),
    "rank and sizes": (lambda v: (np.ndim(v), np.shape(v), np.size(v)), FLOATS),
    "percentiles": (lambda v: [float(np.percentile(v, q)) for q in (50, 90)] + [float(np.median(v))], FLOATS),
    "elementwise": (lambda v: np.round(np.clip(np.sqrt(np.abs(v)), 0, 2), 1).tolist(), FLOATS),
    "a convolution": (lambda v: np.convolve(v, np.ones(2) / 2, mode="valid"), FLOATS[::2]),
    "two lists": (lambda a, b: (np.dot(a, b), np.corrcoef(a, b)), PAIRS[:2]),
    "an operator": (lambda a, b: np.array(a) + b, PAIRS),
    "weights": (lambda a, b: np.average(a, weights=b), PAIRS),
    "histogram": (lambda v: np.histogram(v, bins=4, range=(0, 8))[0], FLOATS),
    "values and counts": (lambda v: [x.tolist() for x in np.unique(v, return_counts=True)], INTS),
    "interpolation": (lambda v: np.interp([0.5, 1.5], range(len(v)), v), FLOATS),
    "joined": (lambda v: (np.concatenate([v, [1.0]]), np.stack([v, v]), np.pad(v, (0, 2))), FLOATS),
}


@pytest.mark.parametrize("name", TAKES_A_LIST)
def test_numpy_takes_a_list_of_any_length(name) -> None:
    process, (example, *others) = TAKES_A_LIST[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing of it is fixed
        mod = loaded(process, *example)
    for given in (example, *others):
        assert difference(process(*given), mod(*given)) == "", given


def test_what_numpy_refuses_of_other_lists_is_refused() -> None:
    mod = loaded(lambda v: np.array(v).sum(), [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(tracepack.NodeError, match="inhomogeneous"):
        mod([[1.0, 2.0], [3.0]])


OF_TEXTS = {
    "array": (lambda v: np.array(v), lambda v: [text.lower() for text in v], "Leave texts in their list"),
    "unique": (lambda v: np.unique(v).tolist(), lambda v: sorted(set(v)), r"Write sorted\(set\(texts\)\), a list"),
}


@pytest.mark.parametrize("name", OF_TEXTS)
def test_an_array_of_texts_is_refused_with_the_form_in_lists(name) -> None:
    process, form, words = OF_TEXTS[name]
    with pytest.raises(tracepack.GuardError, match=f"numpy was given a text; got 'dog'.*{words}"):
        tracepack.trace(process, ["cat", "dog"])
    mod = loaded(form, ["cat", "dog"])
    assert mod(["b", "a", "b"]) == form(["b", "a", "b"])
