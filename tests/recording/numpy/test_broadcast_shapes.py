"""`torch.broadcast_shapes` of recorded sizes: the sizes of a run."""

from __future__ import annotations

import pytest
import torch

import tracepack


def expanded(x, y):
    return x.expand(torch.broadcast_shapes(x.shape, y.shape))


def with_more(x, y):
    return torch.zeros((*torch.broadcast_shapes(x.shape[:-1], (y.shape[0],)), 3))


def test_the_sizes_are_those_of_the_run() -> None:
    mod = tracepack.trace(expanded, torch.rand(3, 1), torch.rand(1, 4))
    for x, y in ((torch.rand(2, 1), torch.rand(1, 5)), (torch.rand(2, 5), torch.rand(1, 5))):
        assert torch.equal(mod(x, y), expanded(x, y))
    with pytest.raises((RuntimeError, tracepack.TracepackError)):
        mod(torch.rand(2, 3), torch.rand(1, 5))


def test_they_are_joined_with_others() -> None:
    mod = tracepack.trace(with_more, torch.rand(3, 1, 3), torch.rand(4))
    for x, y in ((torch.rand(2, 1, 3), torch.rand(7)), (torch.rand(2, 7, 3), torch.rand(7))):
        assert torch.equal(mod(x, y), with_more(x, y))
