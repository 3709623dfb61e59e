"""Functions with a cache that change something when they first run: a trace takes both back."""

from __future__ import annotations

from functools import cache, lru_cache

import pytest
import torch

import tracepack

X = torch.ones(2)
NAMES: list[str] = []
PLACES: dict[int, int] = {}
SCALE: float | None = None


@cache
def names_loaded():
    NAMES.extend(["a", "b"])


@cache
def scale_set():
    global SCALE  # noqa: PLW0603  # what the trace has to take back
    SCALE = 3.0


@lru_cache
def place(number):
    PLACES.setdefault(number, len(PLACES))
    return PLACES[number]


def of_a_list(x):
    names_loaded()
    return x * len(NAMES)


def of_a_global(x):
    scale_set()
    return x * SCALE


def of_a_dict(x):
    return x + place(7)


@pytest.fixture(autouse=True)
def _begun():
    global SCALE  # noqa: PLW0603  # what the trace has to take back
    SCALE = None
    for each in (NAMES, PLACES):
        each.clear()
    for function in (names_loaded, scale_set, place):
        function.cache_clear()


@pytest.mark.parametrize("process", [of_a_list, of_a_global, of_a_dict])
def test_the_function_answers_after_the_trace_as_before(process) -> None:
    """The list was empty again and the cache full, so that the function itself answered otherwise than ever."""
    mod = tracepack.trace(process, X)
    assert not NAMES
    assert not PLACES
    assert SCALE is None
    assert torch.equal(process(X), mod(X))
    assert [*NAMES] == ["a", "b"] * (process is of_a_list)
    assert torch.equal(process(X), mod(X))


def test_a_result_that_is_cached_before_the_trace_stays() -> None:
    place(7)
    mod = tracepack.trace(of_a_dict, X)
    assert PLACES == {7: 0}
    assert torch.equal(of_a_dict(X), mod(X))
    assert place(8) == 1
