"""Iterators without an end beside lists of any length: Python stops where the list does, and so does a trace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import trial

WORDS, OTHERS = ["a", "bb", "c"], [([],), (["q"],), (["x", "y", "z", "u", "v"],)]
X = torch.randn(3, 2)


def signs() -> Iterator[int]:
    while True:
        yield from (1, -1)


def alternating(x: torch.Tensor) -> Any:
    return torch.stack([row * sign for row, sign in zip(x, itertools.cycle((1.0, -1.0)))])


def any_of_an_endless_one(words: list[str]) -> Any:
    return any(n * n > 50 for n in itertools.count()), all(n < 7 for n in itertools.count()), len(words)


def what_is_left(words: list[str]) -> Any:
    numbers = iter(range(9))
    found = any(n > 3 for n in numbers)
    return found, list(numbers), [word + "!" for word in words]


@pytest.mark.parametrize(
    "process",
    [
        lambda words: [word + letter for word, letter in zip(words, itertools.cycle("xy"))],
        lambda words: [word + letter for letter, word in zip(itertools.repeat("z"), words)],
        lambda words: [word * n for word, n in zip(words, signs())],  # noqa: B905
        lambda words: dict(zip(words, itertools.cycle("xy"))),
        lambda words: [f"{n}{word}" for n, word in zip(itertools.count(3, 2), words)],
        lambda words: [word + letter for word, letter in zip(words, (each for each in "xyzw"))],  # noqa: B905
        any_of_an_endless_one,
        what_is_left,
    ],
)
def test_a_list_beside_what_has_no_end(process: Any) -> None:
    assert trial(lambda: process, WORDS, others=OTHERS) == "right"


def test_rows_beside_what_has_no_end() -> None:
    assert trial(lambda: alternating, X, others=[(torch.randn(5, 2),), (torch.randn(1, 2),)]) == "right"


def test_a_length_that_is_fixed_is_said() -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 3"):
        tracepack.trace(lambda words: list(zip(words, itertools.cycle("xy"))), WORDS)
