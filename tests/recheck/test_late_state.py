"""State in Python that shows after more calls than a trace makes: counters, whatever holds them, and iterators."""

from __future__ import annotations

import array
import contextlib
import contextvars
import decimal
import functools
import io
import itertools
import multiprocessing
import queue
import sqlite3
import types
from collections import OrderedDict, deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tracepack.pipeline.recheck.reach.places import refill

X = torch.randn(2, 3)


class Notes:
    """Something that a function may write to."""

    n: Any = 0


def after_many(step: Any) -> Any:
    """A function whose answer changes after more calls than a trace makes."""

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if step() > 1000 else x

    return process


def behind_no_grad() -> Any:
    notes = Notes()

    @torch.no_grad()
    def process(x: torch.Tensor) -> torch.Tensor:
        notes.n += 1
        return x * 2 if notes.n > 1000 else x

    return process


def counting(notes: Any) -> int:
    notes.n += 1
    return notes.n


def of_dispatch() -> Any:
    notes, chosen = Notes(), functools.singledispatch(lambda which: 0)
    chosen.register(int, lambda which: counting(notes))
    return after_many(lambda: chosen(3))


def of_context() -> Any:
    notes = Notes()

    @contextlib.contextmanager
    def counted() -> Any:
        yield counting(notes)

    def step() -> int:
        with counted() as n:
            return int(n)

    return after_many(step)


def of_metaclass() -> Any:
    class Kind(type):
        count = 0

        @property
        def next(cls) -> int:
            Kind.count += 1
            return Kind.count

    class Thing(metaclass=Kind):
        pass

    return after_many(lambda: Thing.next)


def stepping(held: Any, step: Any) -> Any:
    return after_many(lambda: step(held))


def grown(held: Any, add: Any) -> Any:
    return stepping(held, lambda held: (add(held), len(held))[1])


def rebound(start: Any, more: Any, read: Any) -> Any:
    notes = SimpleNamespace(n=start)

    def step() -> Any:
        notes.n = more(notes.n)
        return read(notes.n)

    return after_many(step)


def of_variable() -> Any:
    variable = contextvars.ContextVar("variable", default=0)
    return after_many(lambda: (variable.set(variable.get() + 1), variable.get())[1])


def every_hundredth() -> Any:
    notes = Notes()
    return lambda x: x * 2 if counting(notes) % 100 == 0 else x


def full_history() -> Any:
    """A list that is emptied before it can have many items."""
    held: list[int] = []

    def process(x: torch.Tensor) -> torch.Tensor:
        held.append(1)
        if len(held) > 500:
            held.clear()
        return x * 2 if len(held) > 300 else x

    return process


def of_position() -> Any:
    """A buffer that is read on, and stays what it is."""
    return stepping(io.BytesIO(b"a" * 9999), lambda held: (held.read(1), held.tell())[1])


def of_order(held: Any) -> Any:
    def step() -> Any:
        key = next(iter(held))
        held[key] = held.pop(key)
        return key

    return after_many(step)


def of_links() -> Any:
    root = SimpleNamespace(next=None)

    def step() -> int:
        root.next, length = SimpleNamespace(next=root.next), 0
        node = root.next
        while node is not None:
            node, length = node.next, length + 1
        return length * 100

    return after_many(step)


def of_bytes() -> Any:
    held = bytearray(2)

    def step() -> int:
        held[0] = (held[0] + 1) % 16
        held[1] += held[0] == 0
        return held[1] * 1000

    return after_many(step)


def of_context_object() -> Any:
    variable = contextvars.ContextVar("variable", default=0)
    held = contextvars.copy_context()
    return after_many(lambda: held.run(lambda: (variable.set(variable.get() + 1), variable.get())[1]))


def of_outer_module() -> Any:
    import sys

    def step() -> Any:
        sys.tests_late = getattr(sys, "tests_late", 0) + 1
        return sys.tests_late

    return after_many(step)


def of_database() -> Any:
    held = sqlite3.connect(":memory:")
    held.execute("create table numbers (n int)")
    held.execute("insert into numbers values (0)")

    def step() -> Any:
        held.execute("update numbers set n = n + 1")
        return held.execute("select n from numbers").fetchone()[0]

    return after_many(step)


def of_shared_number() -> Any:
    held = multiprocessing.Value("i", 0)
    return after_many(lambda: (setattr(held, "value", held.value + 9), held.value)[1])


async def _numbers() -> Any:
    for number in range(5000):
        yield number


@types.coroutine
def _pauses() -> Any:
    yield from range(5000)


def _awaited(held: Any) -> Any:
    try:
        held.__anext__().send(None)
    except StopIteration as end:
        return end.value


def of_a_key() -> Any:
    notes = Notes()
    held = {notes: 1}
    return after_many(lambda: max(counting(key) for key in held))


LATE: dict[str, Any] = {
    "every hundredth call": every_hundredth,
    "position": of_position,
    "order of a dict": lambda: of_order({n: n for n in range(1100)}),
    "order of an OrderedDict": lambda: of_order(OrderedDict((n * 50, n) for n in range(30))),
    "deque that turns": lambda: stepping(deque([*range(99, 0, -1), 5000]), lambda held: (held.rotate(-1), held[0])[1]),
    "linked list": of_links,
    "bytes": of_bytes,
    "context": of_context_object,
    "module of an outer function": of_outer_module,
    "database": of_database,
    "number of several processes": of_shared_number,
    "a full history": full_history,
    "generator of constants": lambda: stepping((n for n in [0] * 2000 + [2000]), lambda held: next(held)),
    "coroutine": lambda: stepping(_pauses(), lambda held: held.send(None)),
    "asynchronous generator": lambda: stepping(_numbers(), _awaited),
    "iterator of numpy": lambda: stepping(np.nditer(np.arange(5000)), lambda held: int(next(held))),
    "flat iterator of numpy": lambda: stepping(np.arange(5000).flat, lambda held: int(next(held))),
    "numbered items of numpy": lambda: stepping(np.ndenumerate(np.arange(5000)), lambda held: int(next(held)[1])),
    "indices of numpy": lambda: stepping(np.ndindex(5000), lambda held: next(held)[0]),
    "key of a dict": of_a_key,
    "decorator of torch": behind_no_grad,
    "singledispatch": of_dispatch,
    "context manager": of_context,
    "metaclass": of_metaclass,
    "list grows": lambda: grown([], lambda held: held.append(0)),
    "dict grows": lambda: grown({}, lambda held: held.update({len(held): 0})),
    "set grows": lambda: grown(set(), lambda held: held.add(len(held))),
    "bytearray": lambda: grown(bytearray(), lambda held: held.append(1)),
    "array": lambda: grown(array.array("i"), lambda held: held.append(1)),
    "text": lambda: rebound("", lambda n: n + "a", len),
    "tuple": lambda: rebound((0,), lambda n: (n[0] + 1,), lambda n: n[0]),
    "decimal": lambda: rebound(decimal.Decimal(0), lambda n: n + 1, int),
    "number of numpy": lambda: rebound(np.float32(0), lambda n: n + np.float32(1), float),
    "buffer": lambda: stepping(io.StringIO(), lambda held: (held.write("a"), held.tell())[1]),
    "queue": lambda: stepping(queue.Queue(), lambda held: (held.put(0), held.qsize())[1]),
    "context variable": of_variable,
    "count": lambda: stepping(itertools.count(), lambda held: next(held)),
    "cycle": lambda: stepping(itertools.cycle([0] * 1000 + [2000]), lambda held: next(held)),
    "generator": lambda: stepping((n for n in range(5000)), lambda held: next(held)),
    "iterator of a range": lambda: stepping(iter(range(5000)), lambda held: next(held)),
}


@pytest.mark.parametrize("name", LATE)
def test_state_that_shows_after_many_calls_is_refused(name: str) -> None:
    with pytest.raises(tracepack.RecordError, match=r"(?s)keeps state|second recording"):
        tracepack.trace(LATE[name](), X)


def test_a_file_that_is_read_on_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    path.write_text("0\n" * 1000 + "2000\n" * 9)
    with path.open() as file:
        process = after_many(lambda: int(file.readline()))
        with pytest.raises(tracepack.RecordError, match=r"keeps state in an open file.*goes on where this one ended"):
            tracepack.trace(process, X)


class Steps(torch.nn.Module):
    """A model with a state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        return x * self.n


def test_late_state_beside_an_op_with_state_is_refused_and_that_of_the_op_is_not() -> None:
    op, notes = tracepack.script(Steps(), device="cpu"), Notes()
    with pytest.raises(tracepack.RecordError, match="keeps state in Notes, 'n'"):
        tracepack.trace(lambda x: op(x) * (2 if counting(notes) > 1000 else 1), X)
    traced = tracepack.trace(lambda x: op(x) if counting(notes) else x, X)
    assert [torch.equal(traced(X), X * n) for n in (1, 2, 3)] == [True] * 3


def test_what_grows_and_decides_nothing_is_taken() -> None:
    notes: list[int] = []
    text = io.StringIO()

    def process(x: torch.Tensor) -> torch.Tensor:
        notes.append(len(notes))
        text.write(f"{len(notes)}\n")
        return x * 2

    traced = tracepack.trace(process, X)
    assert notes == []
    assert text.getvalue() == ""
    assert torch.equal(traced(X * 3), X * 3 * 2)


def test_a_number_of_several_processes_that_decides_nothing_is_taken() -> None:
    done = multiprocessing.Value("i", 0)

    def process(x: torch.Tensor) -> torch.Tensor:
        done.value += 1
        return x * 2

    assert torch.equal(tracepack.trace(process, X)(X * 3), X * 6)


def test_what_another_thread_reads_of_an_object_is_never_gone_while_it_is_put_back() -> None:
    before = {"a": 1, "b": [2], "c": 3}

    class Checked(dict):
        def clear(self) -> None:
            raise AssertionError("another thread would find nothing")

    held = Checked(b=before["b"], d=4, a=0)
    refill(held, before)
    assert list(held.items()) == list(before.items())
    for thing, items in (([1, 2, 3], [4]), ({1, 2}, {2, 3}), (deque([1], 5), [2, 3])):
        refill(thing, items)
        assert list(thing) == list(items)
