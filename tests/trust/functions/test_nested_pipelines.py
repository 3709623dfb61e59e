"""Pipelines that are called in a traced function: those that write, with arrays, constants and fixed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

X, OTHERS = torch.randn(2, 3), [(torch.randn(5, 3),), (torch.zeros(2, 3),), (torch.randn(3, 2).T,)]
WEIGHT = torch.randn(2, 3)
adds = tracepack.trace(lambda x: x.add_(1), X.clone())
fills = tracepack.trace(lambda x: x[0].fill_(7), X.clone())
scales = tracepack.trace(lambda x, k=2, mode="a": x * k, X)
of_arrays = tracepack.trace(lambda a: a * 2, X.numpy())


def writes_its_input(x: torch.Tensor) -> Any:
    y = adds(x)
    return y.add_(x), x, y


@pytest.mark.parametrize(
    "process",
    [
        writes_its_input,
        lambda x: (adds(x * 2), x),
        lambda x: (fills(x), x),
        lambda x: adds(adds(x[:1])),
        lambda x: [adds(row[None]) for row in x],
        lambda x: (tracepack.cond(x.sum() > 0, lambda x: adds(x), lambda x: x, x), x),
    ],
)
def test_a_pipeline_that_writes_is_called(process: Any) -> None:
    assert trial(lambda: process, X, others=[*OTHERS, (-X.abs(),)]) == "right"


def test_a_captured_tensor_is_an_argument() -> None:
    assert trial(lambda: lambda x: scales(WEIGHT).sum() + x, X, others=OTHERS) == "right"
    refused(trial(lambda: lambda x: adds(WEIGHT).sum() + x, X), "changes a tensor that is not one of its inputs")


@pytest.mark.parametrize("process", [lambda a: scales(a), lambda a: scales(a + 1), lambda a: of_arrays(a), adds])
def test_an_array_of_the_recording_is_an_argument(process: Any) -> None:
    given = X.numpy()
    others = [(given * 2,), (np.zeros((4, 3), np.float32),)]
    assert trial(lambda: lambda a: process(a), given, others=others) == "right"


def test_a_fixed_value_of_the_inner_pipeline_is_a_guard() -> None:
    with pytest.warns(UserWarning, match="is fixed to (2|'a'), because"):
        outer = tracepack.trace(lambda x, k, mode: scales(x, k, mode), X, 2, "a")
    assert outer.signature.endswith("where k == 2 and mode == 'a'")
    with pytest.raises(tracepack.GuardError, match="got 3; expected 2"):
        outer(X, 3, "a")
    assert trial(lambda: lambda x: scales(x, x.shape[0]), X, others=OTHERS) == "right"
    refused(trial(lambda: lambda x: scales(x, int(x.sum() > 9) + 2), X), "data decides", "test_nested_pipelines.py")
