"""How far `any`, `all` and `zip` go through an iterator is seen by whoever goes on with it, and in what it changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracepack

FIXED = pytest.mark.filterwarnings("ignore:.*is fixed to:UserWarning")  # which may be
RUNS: list[list[int]] = [[], [3], [0, 1, 2], [2, 2, 2], [5, 0, 7, 1], [0, 0, 3, 0, 4], [1, 1], [-1, 4, 4]]


def generator(xs: list[int]) -> Any:
    rest = (x for x in xs)
    return any(x > 1 for x in rest), sum(rest)


def asked_itself(xs: list[int]) -> Any:
    flags = (x > 1 for x in xs)
    return any(flags), list(flags)


def iterator(xs: list[int]) -> Any:
    rest = iter(xs)
    return all(x < 1 for x in rest), list(rest)


def pairs(xs: list[int]) -> Any:
    rest = zip(xs, xs, strict=True)
    return any(x > 1 for x, _ in rest), [y for _, y in rest]


def chained(xs: list[int]) -> Any:
    rest = (x for x in xs)
    more = (x + 1 for x in rest)
    return any(x > 2 for x in more), list(rest), list(more)


def asked_twice(xs: list[int]) -> Any:
    rest = (x for x in xs)
    return any(x > 1 for x in rest), any(x < 0 for x in rest)


def effect(xs: list[int]) -> Any:
    seen: list[int] = []
    return any(seen.append(x) or x > 1 for x in xs), seen  # type: ignore[func-returns-value]  # what it changes is what is tested


def effect_of_helper(xs: list[int]) -> Any:
    seen: list[int] = []

    def asks(x: int) -> bool:
        seen.append(x)
        return x > 1

    return any(map(asks, xs)), seen


def effect_of_generator(xs: list[int]) -> Any:
    seen: list[int] = []

    def flags() -> Iterator[bool]:
        for x in xs:
            seen.append(x)
            yield x > 1

    return any(flags()), seen


def counter(xs: list[int]) -> Any:
    count = 0

    def asks(x: int) -> bool:
        nonlocal count
        count += 1
        return x > 1

    return all(not asks(x) for x in xs), count


def sliced(xs: list[int]) -> Any:
    rest = itertools.islice(xs, 1, None)
    return list(rest), sum(rest)


FUNCTIONS = [
    generator, asked_itself, iterator, pairs, chained, asked_twice, effect, effect_of_helper, effect_of_generator,
    counter, sliced,
]  # fmt: skip


@FIXED
@pytest.mark.parametrize("example", [[0, 0, 0], [3, 1, 2], [0]], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_who_goes_on_with_an_iterator_gets_what_python_leaves(
    function: Callable[[list[int]], Any], example: list[int]
) -> None:
    try:
        mod = tracepack.trace(function, list(example))
    except tracepack.TracepackError:
        assert function in (sliced,)
        return
    assert mod(list(example)) == function(list(example))
    for xs in RUNS:
        try:
            found = mod(list(xs))
        except (tracepack.GuardError, tracepack.SignatureError):
            continue
        assert found == function(list(xs))


@FIXED
def test_how_far_zip_goes_is_seen_in_a_generator_that_is_kept() -> None:
    def function(xs: list[int], n: int) -> Any:
        rest = (x for x in xs)
        return [x for x, _ in zip(rest, range(n), strict=False)], list(rest)

    mod = tracepack.trace(function, [0], 2)
    for xs, n in [([0], 2), ([5], 0), ([4, 5, 6], 0), ([4, 5, 6], 2)]:
        try:
            found = mod(xs, n)
        except (tracepack.GuardError, tracepack.SignatureError):
            continue
        assert found == function(xs, n)


def test_an_iterator_that_nobody_sees_keeps_its_length_free() -> None:
    words = ["ab", "c"]

    def function(xs: list[int], text: str) -> Any:
        return any(x > 1 for x in xs), all(abs(x) < 5 for x in xs), any(word in text for word in words)

    mod = tracepack.trace(function, [0, 0, 0], "zz")
    for xs in RUNS:
        for text in ("", "xab", "cc", "q"):
            assert mod(xs, text) == function(xs, text)
