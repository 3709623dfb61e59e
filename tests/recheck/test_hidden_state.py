"""State in objects that hold neither items nor attributes of the user's: each decides the answer after some calls."""

from __future__ import annotations

import ctypes
import functools
import io
import os
import random
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

X = torch.randn(4, 3)
MANY = 40  # calls: more than a trace makes
OWNERS: list[Any] = []


class _Mapping(dict[str, Any]):
    n = 0


class _Text(str):
    n = 0


class _Plain:
    n = 0


def _module() -> Callable[[], int]:
    module = types.ModuleType("state")
    module.n = 0

    def count() -> int:
        module.n += 1
        return module.n

    return count


def _of_attribute(owner: Any) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        thing = owner()
        thing.n = 0

        def count() -> int:
            thing.n += 1
            return int(thing.n)

        return count

    return make


def _foreign_module() -> Callable[[], int]:
    sys.tests_of_tracepack = 0

    def count() -> int:
        sys.tests_of_tracepack += 1
        return int(sys.tests_of_tracepack)

    return count


def _environment() -> Callable[[], int]:
    os.environ["TESTS_OF_TRACEPACK"] = "0"

    def count() -> int:
        os.environ["TESTS_OF_TRACEPACK"] = str(int(os.environ["TESTS_OF_TRACEPACK"]) + 1)
        return int(os.environ["TESTS_OF_TRACEPACK"])

    return count


def _memory(make: Callable[[], Any], kind: str) -> Callable[[], Callable[[], int]]:
    def made() -> Callable[[], int]:
        memory = make()

        def count() -> int:
            view = memoryview(memory).cast("B").cast(kind)
            view[0] += 1
            return int(view[0])

        return count

    return made


def _arguments() -> Callable[[], int]:
    error = ValueError(0)

    def count() -> int:
        error.args = (error.args[0] + 1,)
        return int(error.args[0])

    return count


def _counts() -> Callable[[], int]:
    @functools.lru_cache
    def known(key: int) -> int:
        return key

    def count() -> int:
        known(1)
        return known.cache_info().hits

    return count


def _method() -> Callable[[], int]:
    items: list[int] = []
    append, length = items.append, items.__len__

    def count() -> int:
        append(1)
        return length()

    return count


def _view() -> Callable[[], int]:
    items: dict[int, int] = {}
    view, update = types.MappingProxyType(items), items.update

    def count() -> int:
        update({len(view): 1})
        return len(view)

    return count


def _reference() -> Callable[[], int]:
    owner = _Plain()
    OWNERS.append(owner)
    found = weakref.ref(owner)

    def count() -> int:
        owner = found()
        assert owner is not None
        owner.n += 1
        return owner.n

    return count


def _texts_of_numpy() -> Callable[[], int]:
    held = np.array(["0"], dtype=object)

    def count() -> int:
        held[0] = str(int(held[0]) + 1)
        return int(held[0])

    return count


def _default() -> Callable[[], int]:
    def known(number: int = 0) -> int:
        return number

    def count() -> int:
        known.__defaults__ = (known() + 1,)
        return known()

    return count


def _matches() -> Callable[[], int]:
    found = re.finditer("a", "a" * 10_000)
    return lambda: next(found).start()


def _counting_down() -> Callable[[], int]:
    left = types.SimpleNamespace(n=2 * MANY)

    def count() -> int:
        left.n -= 1
        return 2 * MANY - int(left.n)

    return count


def _taking_off() -> Callable[[], int]:
    left = list(range(2 * MANY))

    def count() -> int:
        if left:
            left.pop()
        return 2 * MANY - len(left)

    return count


def _permits() -> Callable[[], int]:
    permits = threading.Semaphore(2 * MANY)

    def count() -> int:
        permits.acquire(blocking=False)
        return 2 * MANY - permits._value

    return count


HOLDERS: dict[str, Callable[[], Callable[[], int]]] = {
    "a module made by hand": _module,
    "an attribute of a module of Python": _foreign_module,
    "the environment": _environment,
    "an attribute of a tensor": _of_attribute(lambda: torch.ones(2)),
    "an attribute of an error": _of_attribute(lambda: ValueError()),
    "an attribute of a partial": _of_attribute(lambda: functools.partial(int)),
    "an attribute of a dict's subclass": _of_attribute(_Mapping),
    "an attribute of a text's subclass": _of_attribute(_Text),
    "a number of ctypes": _memory(lambda: ctypes.c_int(0), "i"),
    "an array of ctypes": _memory(lambda: (ctypes.c_int * 2)(), "i"),
    "a view of memory": _memory(lambda: memoryview(bytearray(8)), "i"),
    "the arguments of an error": _arguments,
    "the counts of a cache": _counts,
    "a method that was kept": _method,
    "a view of a dict": _view,
    "a weak reference": _reference,
    "an array of objects": _texts_of_numpy,
    "the defaults of a helper": _default,
    "the matches of a pattern": _matches,
    "a number that counts down": _counting_down,
    "a list that is used up": _taking_off,
    "the permits of a semaphore": _permits,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_state_that_shows_late_is_refused(name: str) -> None:
    def make() -> Callable[[torch.Tensor], torch.Tensor]:
        count = HOLDERS[name]()

        def process(x: torch.Tensor) -> torch.Tensor:
            return x * 2 if count() > MANY else x

        return process

    refused(trial(make, X), "keeps state|other data differs")


def test_what_is_watched_is_given_back() -> None:
    text, module, memory, draws = torch.ones(1), types.ModuleType("state"), bytearray(4), random.Random(3)
    text.note, module.note = 1, 1
    view, before = memoryview(memory), draws.getstate()

    def process(x: torch.Tensor) -> torch.Tensor:
        text.note, module.note, view[0] = 5, 5, 5
        draws.random()
        return x * 2

    with pytest.raises(tracepack.RecordError, match="a generator of random numbers"):
        tracepack.trace(process, X)
    assert (text.note, module.note, view[0], draws.getstate() == before) == (1, 1, 0, True)


def test_random_branches_are_refused() -> None:
    def make() -> Callable[[torch.Tensor], torch.Tensor]:
        draws = np.random.default_rng(0)
        return lambda x: x * 2 if draws.random() < 1e-9 else x

    refused(trial(make, X), "a generator of random numbers")
    refused(trial(lambda: lambda x: x * 2 if random.random() < 1e-9 else x, X), "a generator of random numbers")


def _first_by_lock() -> Callable[[torch.Tensor], torch.Tensor]:
    lock = threading.Lock()
    return lambda x: x if lock.acquire(blocking=False) else x * 2


def _scale_on_a_distribution() -> Callable[[torch.Tensor], torch.Tensor]:
    normal: Any = torch.distributions.Normal(0.0, 1.0)
    normal.known = None

    def process(x: torch.Tensor) -> torch.Tensor:
        if normal.known is None:
            normal.known = x.abs().max()
        return x / normal.known

    return process


@pytest.mark.parametrize("make", [_first_by_lock, _scale_on_a_distribution])
def test_what_the_first_call_left_out_of_sight_is_refused(make: Any) -> None:
    """The first recording is given up for it, and a later one sees nothing but what is left."""
    refused(trial(make, X, others=[(X + 1,)]), "a second recording on other data differs")


def test_counts_that_nobody_reads_are_free() -> None:
    @functools.lru_cache
    def window(size: int) -> torch.Tensor:
        return torch.hann_window(size)

    buffer = io.StringIO()
    assert trial(lambda: lambda x: x * window(3), X, others=[(X + 1,)]) == "right"
    assert trial(lambda: lambda x: x if buffer.closed else x * 2, X) == "right"
