"""Counters in objects that hold neither items nor attributes of the user's: each gives how often it was called."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests import models

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
    return lambda: (permits.acquire(blocking=False), 2 * MANY - permits._value)[1]


def _imported_inside() -> Callable[[], int]:
    def count() -> int:

        models.COUNTED = getattr(models, "COUNTED", 0) + 1
        return int(models.COUNTED)

    return count


def _by_text() -> Callable[[], int]:
    globals()["_COUNTED"] = 0

    def count() -> int:
        globals()["_COUNTED"] += 1
        return int(globals()["_COUNTED"])

    return count


def _found_by_name() -> Callable[[], int]:
    def count() -> int:
        held: Any = sys.modules["tests.models"]
        held.FOUND = getattr(held, "FOUND", 0) + 1
        return int(held.FOUND)

    return count


def _array(dtype: Any) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        held = np.zeros(2, dtype)
        numbers = held["n"] if held.dtype.names else held

        def count() -> int:
            numbers[0] += 1
            return int(numbers[0])

        return count

    return make


def _attribute_of_any_name() -> Callable[[], int]:
    held = {"n": 0}

    class Anything:
        def __getattr__(self, name: str) -> int:
            held["n"] += 1
            return held["n"]

    thing = Anything()
    return lambda: thing.whatever


class _Marked(np.ndarray):
    n = 0


HOLDERS: dict[str, Callable[[], Callable[[], int]]] = {
    "a module made by hand": _module,
    "an attribute of a module of Python": _foreign_module,
    "the environment": _environment,
    "an attribute of a tensor": _of_attribute(lambda: torch.ones(2)),
    "an attribute of a thread": _of_attribute(threading.local),
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
    "a module that is imported inside": _imported_inside,
    "the globals by a text": _by_text,
    "a module by its name": _found_by_name,
    "an array": _array(np.int64),
    "an array of records": _array([("n", "i4")]),
    "an attribute of an array's subclass": _of_attribute(lambda: np.zeros(2).view(_Marked)),
    "an attribute of an object of torch": _of_attribute(lambda: torch.distributions.Normal(0.0, 1.0)),
    "an attribute of a logger": _of_attribute(lambda: logging.getLogger("tests")),
    "an attribute of any name": _attribute_of_any_name,
}
