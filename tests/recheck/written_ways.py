"""Objects, and functions that write into one in each of the ways that Python has."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import operator
import random
import threading
from collections.abc import Iterator
from typing import Any

import torch

LISTED: list[Any] = [3, 1, 2]
MIX = random.Random(0).shuffle


class Kept:
    """An object with a plain attribute, a property, a cached one, and items."""

    total = 0

    def __init__(self) -> None:
        self.n, self.held, self.items = 0, {"a": 1}, [1, 2, 3]

    @property
    def level(self) -> int:
        """A property that is set."""
        return self.n

    @level.setter
    def level(self, value: int) -> None:
        self.n = value

    @functools.cached_property
    def once(self) -> int:
        """What is kept at its first use."""
        return len(self.items)

    def __setitem__(self, key: str, value: int) -> None:
        self.held[key] = value

    def __iadd__(self, other: int) -> Kept:
        self.items.append(other)
        return self

    def __enter__(self) -> Kept:
        self.n += 1
        return self

    def __exit__(self, *args: object) -> None:
        self.n += 1

    @classmethod
    def count(cls) -> None:
        """Counts in the class."""
        cls.total += 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    """An object that says that it cannot be changed."""

    n: int = 0


class Keeps:
    """A descriptor that keeps what is set."""

    def __get__(self, thing: Any, kind: Any) -> Any:
        return vars(thing).get("kept", 0)

    def __set__(self, thing: Any, value: Any) -> None:
        vars(thing)["kept"] = value


class Described:
    """An object with such a descriptor."""

    value = Keeps()


class Fills(logging.Handler):
    """A handler that fills a list."""

    def emit(self, record: logging.LogRecord) -> None:
        """Called for each message."""
        LISTED.append(record.msg)


class Net(torch.nn.Module):
    """A module that sets a buffer and an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(1))
        self.calls = 0

    def forward(self, x: Any) -> Any:
        """Keeps its argument."""
        self.last = x
        self.calls += 1
        return x


def _subscript(held: Any) -> None:
    held.held["b"] = 1


def _in_place(held: Any) -> None:
    held.held["a"] += 1


def _list_in_place(held: Any) -> None:
    items = held.items
    items += [4]


def _attribute_in_place(held: Any) -> None:
    held.items *= 2


def _slice(held: Any) -> None:
    held.items[1:] = []


def _deleted(held: Any) -> None:
    del held.held["a"]


def _attribute_deleted(held: Any) -> None:
    del held.n


def _property(held: Any) -> None:
    held.level = 5


def _cached(held: Any) -> None:
    _ = held.once


def _item_of_class(held: Any) -> None:
    held["z"] = 1


def _own_in_place(held: Any) -> None:
    held += 1


def _with(held: Any) -> None:
    with held:
        pass


def _of_class(held: Any) -> None:
    held.count()


def _setattr(held: Any) -> None:
    for name in ("n", "m"):
        setattr(held, name, 5)


def _vars(held: Any) -> None:
    vars(held).update(n=4)


def _getattr(held: Any) -> None:
    getattr(held.items, "append")(4)  # noqa: B009 - that is what is tried


def _computed(held: Any) -> None:
    getattr(held.items, "".join(["app", "end"]))(4)


def _operator(held: Any) -> None:
    operator.setitem(held.held, "b", 1)


def _caller(held: Any) -> None:
    operator.methodcaller("append", 3)(held.items)


def _unbound(held: Any) -> None:
    functools.partial(list.append, held.items)(4)


def _mapped(held: Any) -> None:
    list(map(held.items.append, (1, 2)))


def _sorted(held: Any) -> None:
    max([1], key=held.items.append)  # type: ignore[call-overload]  # it gives None


def _matched(held: Any) -> None:
    match held:
        case Kept(items=found):
            found.append(1)


def _in_thread(held: Any) -> None:
    thread = threading.Thread(target=_slice, args=(held,))
    thread.start()
    thread.join()


@contextlib.contextmanager
def _noting(held: Any) -> Iterator[None]:
    held.n += 1
    yield


def _managed(held: Any) -> None:
    with _noting(held):
        pass


def _shuffled(held: Any) -> None:
    held.items[:] = range(50)
    MIX(held.items)


def _random(held: Any) -> None:
    random.shuffle(held.items)
    random.shuffle(held.items)
    held.items.sort(key=lambda item: -item)


def _nested(held: Any) -> None:
    def inner() -> None:
        nonlocal held
        held.n += 1

    inner()


ON_KEPT = [
    _subscript, _in_place, _list_in_place, _attribute_in_place, _slice, _deleted, _attribute_deleted, _property,
    _cached, _item_of_class, _own_in_place, _with, _of_class, _setattr, _vars, _getattr, _computed, _operator, _caller,
    _unbound, _mapped, _sorted, _matched, _in_thread, _managed, _shuffled, _random, _nested,
]  # fmt: skip
