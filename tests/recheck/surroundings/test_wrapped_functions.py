"""State that a function keeps which is called by an object of Python, numpy or torch: a property, a partial method."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

LOG: list[int] = []


def busy(*_: Any) -> bool:
    LOG.append(1)
    return len(LOG) > 40


class Called:
    def __call__(self, *_: Any) -> bool:
        return busy()


def many(*_: Any) -> Any:
    return iter([1] if busy() else [])


class Model(torch.nn.Module):
    @functools.cached_property
    def busy(self) -> bool:
        return busy()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -x if self.busy else x


def of_class(**held: Any) -> Any:
    return type("Keeps", (), held)


class Cached:
    @functools.cached_property
    def busy(self) -> bool:
        return busy()


class Dispatching:
    @functools.singledispatchmethod
    @classmethod
    def busy(cls, given: Any) -> bool:
        return busy()


KEPT = {
    "enum.property": of_class(busy=enum.property(busy)),
    "a dynamic attribute": of_class(busy=types.DynamicClassAttribute(busy)),
    "a lazy property": of_class(busy=torch.distributions.utils.lazy_property(busy)),
    "a property of a partial": of_class(busy=property(functools.partial(busy))),
    "a property of an object": of_class(busy=property(Called())),
    "a property of a method": of_class(busy=property(types.MethodType(busy, 5))),
    "a property with a cache": of_class(busy=property(functools.lru_cache(busy))),
}
METHOD = of_class(busy=classmethod(functools.partial(busy, 1)))
PARTIAL = of_class(busy=functools.partialmethod(functools.partial(busy), 1))
ITERATED = of_class(__iter__=functools.partialmethod(many))
TICKING = types.ModuleType("ticking")
vars(TICKING)["__getattr__"] = busy


class Ticking(types.ModuleType):
    busy = property(busy)


CLASSED = Ticking("classed")
VECTORIZED, UFUNC = np.vectorize(busy), np.frompyfunc(busy, 1, 1)

CASES: dict[str, Callable[[Any], Any]] = {
    "a cached property": lambda xs: -1 if Cached().busy else len(xs),
    "a class method of a partial": lambda xs: -1 if METHOD().busy() else len(xs),
    "a partial method of a partial": lambda xs: -1 if PARTIAL().busy() else len(xs),
    "a partial method that Python calls": lambda xs: -1 if list(ITERATED()) else len(xs),
    "a dispatched class method": lambda xs: -1 if Dispatching().busy(1) else len(xs),
    "the attributes of a module": lambda xs: -1 if TICKING.busy else len(xs),
    "a property of a module": lambda xs: -1 if CLASSED.busy else len(xs),
    "np.vectorize": lambda xs: -1 if VECTORIZED(1) else len(xs),
    "np.frompyfunc": lambda xs: -1 if UFUNC(1) else len(xs),
    **{name: (lambda xs, kind=kind: -1 if kind().busy else len(xs)) for name, kind in KEPT.items()},
}


@pytest.fixture(autouse=True)
def _empty() -> None:
    LOG.clear()


@pytest.mark.parametrize("name", CASES)
def test_what_it_keeps_is_refused_and_given_back(name: str) -> None:
    with pytest.raises(tracepack.RecordError, match=r"keeps state|a later call|earlier call"):
        tracepack.trace(CASES[name], [3, 1, 2])
    assert LOG == []


def test_in_a_model_that_the_function_calls() -> None:
    with pytest.raises(tracepack.RecordError, match=r"keeps state|a later call|earlier call"):
        tracepack.trace(lambda x: Model().eval()(x), torch.rand(2))
    assert LOG == []


def double(value: Any) -> Any:
    return value * 2


TWICE = np.vectorize(double)


class Sized:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    @functools.cached_property
    def size(self) -> int:
        return self.x.shape[0]

    half = functools.partialmethod(lambda self, by: self.size // by, 2)


def test_what_keeps_nothing_is_traced() -> None:
    mod = tracepack.trace(lambda x: (Sized(x).size, Sized(x).half(), int(TWICE(3))), torch.rand(3))
    assert mod(torch.rand(4)) == (4, 2, 6)
