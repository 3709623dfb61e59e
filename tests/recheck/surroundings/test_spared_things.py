"""A trace leaves what its calls would use up as it was: iterators, hashes, locks; or says that it could not."""

from __future__ import annotations

import csv
import hashlib
import itertools
import subprocess
import sys
import zlib
from contextlib import suppress

import pytest
import torch

import tracepack

X = torch.ones(2)


def multiplied(thing, take):
    """A function that takes something from a thing in each call."""
    return lambda x: x * take(thing)


def from_next(thing):
    return next(thing, 0.0)


ITERATORS = {
    "a list": lambda: iter([1.0, 2.0, 3.0]),
    "a tuple": lambda: iter((1.0, 2.0, 3.0)),
    "a long list": lambda: iter([float(n) for n in range(50)]),
    "a range": lambda: iter(range(5)),
    "a count": lambda: itertools.count(1),
    "a cycle": lambda: itertools.cycle([1.0, 2.0]),
    "a map": lambda: map(float, [1, 2, 3]),
    "a filter": lambda: filter(None, [1.0, 2.0, 3.0]),
    "a chain": lambda: itertools.chain([1.0], [2.0, 3.0]),
    "a slice": lambda: itertools.islice(itertools.count(2), 6),
}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python copies no iterators of itertools any more")
@pytest.mark.parametrize("name", ITERATORS)
def test_an_iterator_is_where_it_was_after_a_refused_trace(name) -> None:
    iterator, wanted = ITERATORS[name](), ITERATORS[name]()
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(multiplied(iterator, from_next), X)
    assert [*itertools.islice(iterator, 10)] == [*itertools.islice(wanted, 10)]


GLOBAL = iter([1.0, 2.0, 3.0])


def from_global(x):
    return x * next(GLOBAL, 0.0)


def test_a_global_is_the_same_object_after_a_trace() -> None:
    before = GLOBAL
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(from_global, X)
    assert GLOBAL is before
    assert [*GLOBAL] == [1.0, 2.0, 3.0]


class Owner:
    def __init__(self) -> None:
        self.ids, self.rows = itertools.count(5), {"a": iter([1.0, 2.0])}

    def __call__(self, x):
        return x * next(self.ids) + next(self.rows["a"], 0.0)


def test_iterators_of_objects_and_dicts_stay() -> None:
    owner = Owner()
    before = owner.ids, owner.rows["a"]
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(owner, X)
    assert (owner.ids, owner.rows["a"]) == before
    assert (next(owner.ids), [*owner.rows["a"]]) == (5, [1.0, 2.0])


def hashed(h):
    h.update(b"x")
    return h.digest()[0]


def packed(z):
    return len(z.compress(b"x" * 100_000))


def test_hashes_and_compressors_have_taken_nothing_in() -> None:
    h = hashlib.sha256()
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(multiplied(h, hashed), X)
    assert h.digest() == hashlib.sha256().digest()
    z = zlib.compressobj()
    with suppress(tracepack.RecordError):
        tracepack.trace(multiplied(z, packed), X)
    assert z.flush() == zlib.compressobj().flush()


def test_what_cannot_be_set_back_is_named() -> None:
    rows = csv.reader(["1", "2", "3", "4"])
    with pytest.raises(tracepack.RecordError, match="the trace has moved an iterator on, which nothing sets back"):
        tracepack.trace(multiplied(rows, lambda found: float(next(found, ["0"])[0])), X)


LOCKS = """
import threading, torch, tracepack
lock, event, permits, own = threading.Lock(), threading.Event(), threading.Semaphore(3), threading.RLock()
def f(x):
    first = lock.acquire(blocking=False)
    was = event.is_set()
    event.set()
    own.acquire()
    return x * (first + 2 * was + permits.acquire(blocking=False))
try:
    tracepack.trace(f, torch.ones(2))
    print("traced")
except tracepack.RecordError as error:
    print("refused")
print(lock.locked(), event.is_set(), permits._value, own._is_owned())
"""


def test_locks_events_and_semaphores_are_as_they_were() -> None:
    done = subprocess.run([sys.executable, "-c", LOCKS], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["refused", "False", "False", "3", "False"], done.stderr[-2000:]


FEW = iter([1, 2, 3, 4, 5])


def test_an_iterator_that_some_calls_use_up_is_refused_as_such() -> None:
    with pytest.raises(tracepack.RecordError, match="takes an item of an iterator that has no more") as caught:
        tracepack.trace(lambda xs: (len(xs), next(FEW)), [1, 2])
    assert "Make it in the function, or pass what it gives as an argument." in str(caught.value)
    assert list(FEW) == [1, 2, 3, 4, 5]
