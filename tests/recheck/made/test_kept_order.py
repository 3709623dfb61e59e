"""Sets and long lists that a function only reads stay as they lie."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

import tracepack
from tracepack.pipeline.recheck.reach.objects import Objects
from tracepack.pipeline.recheck.reach.places import refill


def _sparse() -> set[int]:
    """Three numbers in a table for many, whose order is not that of a new set."""
    found = set(range(200))
    for number in range(200):
        if number not in (2, 65, 130):
            found.discard(number)
    assert list(found) != list(set(found))
    return found


def test_a_set_keeps_its_order() -> None:
    known = _sparse()
    before = list(known)

    def process(n: int) -> list[int]:
        return [number for number in sorted(known) if number > n]

    assert tracepack.trace(process, 3)(100) == [130]
    assert list(known) == before


def test_a_set_that_is_filled_anew_keeps_the_order_of_the_rest() -> None:
    known = _sparse()
    before = list(known)
    known.discard(2)
    refill(known, before)
    assert list(known) == before


@pytest.mark.parametrize("held", [list(range(1000)), set(range(1000, 2000))])
def test_many_numbers_count_as_unchanged(held: Any) -> None:
    @functools.cache
    def scale() -> float:
        return 2.0

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * scale() + len(held)

    objects = Objects(process)
    process(torch.ones(2))
    assert all(not place.differing() for place in objects.places() if place.holder is held)
    objects.restore()
    assert (scale.cache_info().currsize, scale.cache_info().misses) == (1, 1)
