"""State that a function keeps by putting another container or object in the place of the one that was there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import tracepack


class Pair(NamedTuple):
    n: int
    name: str


@dataclass(frozen=True)
class Frozen:
    n: int


class Plain:
    def __init__(self, n: int) -> None:
        self.n = n


class Holder:
    """What is kept, and how another call goes on from it."""

    def __init__(self, kept: Any, following: Callable[[Any], Any], count: Callable[[Any], int]) -> None:
        self.kept, self.following, self.count = kept, following, count

    def busy(self) -> bool:
        self.kept = self.following(self.kept)
        return self.count(self.kept) > 40

    def rarely(self) -> bool:
        self.kept = self.following(self.kept)
        return self.count(self.kept) % 1000 == 0


KEPT: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], int]]] = {
    "a dict": ({"n": 1}, lambda now: {"n": now["n"] + 1}, lambda now: now["n"]),
    "a list": ([1], lambda now: [now[0] + 1], lambda now: now[0]),
    "a list that grows": ([1], lambda now: [*now, 1], len),
    "a tuple": ((1,), lambda now: (now[0] + 1,), lambda now: now[0]),
    "a dict in a dict": ({"a": {"n": 1}}, lambda now: {"a": {"n": now["a"]["n"] + 1}}, lambda now: now["a"]["n"]),
    "a dict in a list": ([{"n": 1}], lambda now: [{"n": now[0]["n"] + 1}], lambda now: now[0]["n"]),
    "a named tuple": (Pair(1, "a"), lambda now: now._replace(n=now.n + 1), lambda now: now.n),
    "a frozen dataclass": (Frozen(1), lambda now: Frozen(now.n + 1), lambda now: now.n),
    "an object": (Plain(1), lambda now: Plain(now.n + 1), lambda now: now.n),
    "a namespace": (SimpleNamespace(n=1), lambda now: SimpleNamespace(n=now.n + 1), lambda now: now.n),
    "a float": ([0.5], lambda now: [now[0] + 1], lambda now: now[0]),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_count_in_what_is_put_there_is_refused_and_given_back(name: str) -> None:
    first, *ways = KEPT[name]
    holder = Holder(first, *ways)
    with pytest.raises(tracepack.RecordError, match="a later call answers otherwise"):
        tracepack.trace(lambda xs: -1 if holder.busy() else len(xs), [3, 1, 2])
    assert holder.kept is first


@pytest.mark.parametrize("name", [each for each in KEPT if each not in ("a list that grows", "a float")])
def test_a_count_that_is_reached_rarely_is_refused(name: str) -> None:
    holder = Holder(*KEPT[name])
    with pytest.raises(tracepack.RecordError, match="a later call answers otherwise"):
        tracepack.trace(lambda xs: -1 if holder.rarely() else len(xs), [3, 1, 2])


def paired(*, n: int = 0) -> int:
    return n


def test_defaults_of_keywords_that_are_replaced() -> None:
    def process(xs: list[int]) -> int:
        paired.__kwdefaults__ = {"n": paired() + 1}
        return -1 if paired() > 40 else len(xs)

    with pytest.raises(tracepack.RecordError, match="the function keeps state in a default of paired"):
        tracepack.trace(process, [3, 1, 2])
    assert paired() == 0


LAST: dict[str, Any] = {}


def test_what_is_remembered_and_read_by_nobody_is_no_state() -> None:
    def process(xs: list[int]) -> int:
        global LAST  # noqa: PLW0603  # what the trace has to take back
        LAST = {"length": len(xs), "seen": [1, 2]}
        return len(xs)

    mod = tracepack.trace(process, [3, 1, 2])
    assert mod([1, 2]) == 2
