"""What a function with a cache returned belongs to the user, and is as it was after a trace."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

X = torch.randn(4, 3)


@pytest.mark.parametrize("size", [None, 8])
@pytest.mark.parametrize("filled", [True, False])
def test_a_cached_list_is_as_it_was(size: int | None, filled: bool) -> None:
    @functools.lru_cache(maxsize=size)
    def weights() -> list[float]:
        return [1.0, 2.0]

    def process(x: torch.Tensor) -> torch.Tensor:
        found = weights()
        found.append(3.0)
        return x.sum() + len(found)

    kept = weights() if filled else []
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, X)
    assert weights() == [1.0, 2.0]
    assert weights() is kept or not filled


@pytest.mark.parametrize("size", [None, 8])
def test_cached_dicts_arrays_and_tensors_are_as_they_were(size: int | None) -> None:
    @functools.lru_cache(maxsize=size)
    def table(name: str) -> dict[str, Any]:
        return {"name": name, "array": np.zeros(3), "tensor": torch.zeros(3), "sizes": {}}

    def process(x: torch.Tensor) -> torch.Tensor:
        found = table("a")
        found["sizes"][x.shape[0]] = 1
        found["array"][0] += 1
        found["tensor"].add_(1)
        return x.sum() + found["array"][0]

    table("a")
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, X)
    found = table("a")
    assert (found["sizes"], found["array"].tolist(), found["tensor"].tolist()) == ({}, [0] * 3, [0] * 3)


def test_a_cached_list_that_is_only_read_stays() -> None:
    made: list[int] = []

    @functools.lru_cache
    def weights() -> list[float]:
        made.append(1)
        return [1.0, 2.0]

    mod = tracepack.trace(lambda x: x * weights()[1], X)
    assert torch.equal(mod(X), X * 2)
    made.clear()
    assert weights() == [1.0, 2.0]
