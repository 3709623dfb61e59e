"""Lists of any length as indices of tensors and arrays: ``x[keep]``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

WEIGHTS, GRID = np.array([0.1, 0.2, 0.3, 0.4]), np.arange(12.0).reshape(4, 3)
TABLE = torch.arange(12.0).reshape(4, 3)


def places(x):
    return [place for place, value in enumerate(x.tolist()) if value > 0.4]


def written(x):
    found, keep = torch.zeros(len(x), 2), places(x)
    found[keep, 1] = x[keep]
    return found


def put(x, keep):
    x[keep] = 2.0
    return x


def added(x):
    found = x.numpy().copy()
    found[places(x)] += 1.0
    return found


def groups(x, names):
    found = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return {name: x[own].mean(0) for name, own in found.items()}


torch.manual_seed(4)
X = [[torch.tensor([0.9, 0.1, 0.5])], [torch.rand(7)], [torch.zeros(2)], [torch.rand(0)]]
IDS = [[[3, 0, 2]], [[1]], [[]], [[-1, -1]]]
NAMED = [[torch.rand(4, 3), ["a", "b", "a", "c"]], [torch.rand(2, 3), ["b", "a"]], [torch.rand(1, 3), ["a"]]]
CASES = {
    "kept": Case(lambda x: x[places(x)], X[0], X[1:]),
    "sorted": Case(lambda x: x[sorted(range(len(x)), key=lambda i: -x[i].item())][:2], X[0], X[1:]),
    "truths": Case(lambda x: x[[value > 0.4 for value in x.tolist()]], X[0], X[1:]),
    "written": Case(written, X[0], X[1:]),
    "written by a helper": Case(lambda x: put(x.clone(), places(x)), X[0], X[1:]),
    "added": Case(added, X[0], X[1:]),
    "an array": Case(lambda ids: (float(WEIGHTS[ids].sum()), GRID[ids, 1], GRID[ids]), IDS[0], IDS[1:]),
    "named": Case(lambda x, names: x[[i for i, name in enumerate(names) if name == "a"]].sum(0), NAMED[0], NAMED[1:]),
    "groups": Case(groups, NAMED[0], NAMED[1:]),
}


@pytest.mark.parametrize("name", CASES)
def test_lists_as_indices(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_a_place_that_is_not_there_is_an_error_of_the_run() -> None:
    mod = loaded(lambda ids: GRID[ids].sum(0), [3, 0])
    with pytest.raises(tracepack.TracepackError, match="index 7 is out of bounds"):
        mod([7])
