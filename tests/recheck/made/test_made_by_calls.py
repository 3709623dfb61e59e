"""State in objects that the first call makes: nothing leads to them before it, and a trace puts them away again."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

X = torch.ones(2)
MANY = 40  # calls: more than a trace makes


class _Holder:
    n = 0


def _list_of_cache() -> Callable[[], int]:
    @functools.lru_cache
    def held() -> list[int]:
        return [0]

    def count() -> int:
        held()[0] += 1
        return held()[0]

    return count


def _dict_of_cache_with_key() -> Callable[[], int]:
    @functools.cache
    def held(name: str) -> dict[str, int]:
        return {name: 0}

    def count() -> int:
        found = held("n")
        found["n"] += 1
        return found["n"]

    return count


def _closure_of_cache() -> Callable[[], int]:
    @functools.cache
    def made() -> Callable[[], int]:
        n = 0

        def count() -> int:
            nonlocal n
            n += 1
            return n

        return count

    return lambda: made()()


def _iterator_of_cache() -> Callable[[], int]:
    @functools.cache
    def numbers() -> Iterator[int]:
        return iter(range(1000))

    return lambda: next(numbers())


def _singleton() -> Callable[[], int]:
    class Single:
        _one: Any = None
        n = 0

        def __new__(cls) -> Any:
            if cls._one is None:
                cls._one = super().__new__(cls)
                cls._one.n = 0
            return cls._one

    def count() -> int:
        single = Single()
        single.n += 1
        return single.n

    return count


def _object_of_dict() -> Callable[[], int]:
    registry: dict[str, _Holder] = {}

    def count() -> int:
        found = registry.setdefault("one", _Holder())
        found.n += 1
        return found.n

    return count


def _list_of_dict() -> Callable[[], int]:
    registry: dict[str, list[int]] = {}

    def count() -> int:
        registry.setdefault("calls", []).append(1)
        return len(registry["calls"])

    return count


def _variable() -> Callable[[], int]:
    held: _Holder | None = None

    def count() -> int:
        nonlocal held
        if held is None:
            held = _Holder()
        held.n += 1
        return held.n

    return count


def _attribute_of_a_function() -> Callable[[], int]:
    def count() -> int:
        own: Any = count
        if not hasattr(own, "held"):
            own.held = _Holder()
        own.held.n += 1
        return int(own.held.n)

    return count


def _object_in_object() -> Callable[[], int]:
    class Outer:
        inner: Any = None

    def count() -> int:
        if Outer.inner is None:
            Outer.inner = _Holder()
            Outer.inner.deep = {"holder": _Holder()}
        found = Outer.inner.deep["holder"]
        found.n += 1
        return int(found.n)

    return count


def _counter_of_itertools() -> Callable[[], int]:
    held: dict[str, Any] = {}

    def count() -> int:
        if "numbers" not in held:
            held["numbers"] = itertools.count()
        return int(next(held["numbers"]))

    return count


def _tensor() -> Callable[[], int]:
    held: list[torch.Tensor] = []

    def count() -> int:
        if not held:
            held.append(torch.zeros(1))
        held[0] += 1
        return int(held[0].item())

    return count


def _array() -> Callable[[], int]:
    held: dict[str, np.ndarray[Any, Any]] = {}

    def count() -> int:
        found = held.setdefault("n", np.zeros(3, np.int64))
        found[1] += 1
        return int(found[1])

    return count


MADE = [
    _list_of_cache, _dict_of_cache_with_key, _closure_of_cache, _iterator_of_cache, _singleton, _object_of_dict,
    _list_of_dict, _variable, _attribute_of_a_function, _object_in_object, _counter_of_itertools,
    _tensor, _array,
]  # fmt: skip


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("at", [MANY, 20_000])
def test_state_in_what_the_first_call_makes_is_refused(make: Callable[[], Callable[[], int]], at: int) -> None:
    if at > MANY and make is _list_of_dict:
        at = 2000  # a list of so many is more than a trace fills
    count = make()

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if count() > at else x

    why = "keeps state" if make is not _tensor else "a value that data decides cannot leave the graph: a branch"
    with pytest.raises(tracepack.RecordError, match=why):
        tracepack.trace(process, X)


@pytest.mark.parametrize("make", MADE)
def test_it_is_as_before_any_call_after_a_trace(make: Callable[[], Callable[[], int]]) -> None:
    count, fresh = make(), make()()

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if count() > MANY else x

    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, X)
    if make is not _iterator_of_cache and make is not _closure_of_cache:  # a cache cannot be asked what it holds
        assert count() == fresh


def test_counts_in_it_that_decide_nothing_are_taken_and_put_back() -> None:
    @functools.cache
    def settings() -> dict[str, float]:
        return {"scale": 2.0, "calls": 0}

    def process(x: torch.Tensor) -> torch.Tensor:
        settings()["calls"] += 1
        return x * settings()["scale"]

    module = tracepack.trace(process, X)
    assert torch.equal(module(X * 3), X * 6)
    assert settings() == {"scale": 2.0, "calls": 0}


def test_a_tensor_to_work_in_that_the_first_call_makes_is_taken() -> None:
    held: list[torch.Tensor] = []

    def process(x: torch.Tensor) -> torch.Tensor:
        if not held:
            held.append(torch.empty(2))
        held[0].copy_(x)
        return held[0] * 2

    assert torch.equal(tracepack.trace(process, X)(X * 3), X * 6)
    assert held == []


class _Lazy(torch.nn.Module):
    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.held = at, None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.held is None:
            self.held = _Holder()
        self.held.n += 1
        return x * 2 if self.held.n > self.at else x


def test_a_model_that_makes_what_counts_is_refused_where_the_count_decides() -> None:
    model = _Lazy(MANY)
    with pytest.raises(tracepack.RecordError, match="keeps state"):
        tracepack.trace(lambda x: model(x), X)
    assert model.held is None
    other = _Lazy(1 << 70)
    assert torch.equal(tracepack.trace(lambda x: other(x), X)(X * 3), X * 3)
