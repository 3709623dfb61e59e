"""Data for functions with rare branches: common ones, and those that take each branch, found by trying many."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from tests.campaigns.branches.rare_writer import made, telling

TRIED = 3000
MOST = 7
MOST_ASKED = 1000


class RareData:
    """Data for one function.

    Args:
        marked: its source, with marks.
        names: of its arguments.
        seed: which one.
    """

    def __init__(self, marked: str, names: list[str], seed: int) -> None:
        self.names, self.random = names, random.Random(f"data {seed}")
        self.met, self.count = set[int](), 0
        self.function = made(telling(marked), f"telling_{seed}.py", met=self._met)

    def _met(self, number: int, holds: Any) -> Any:
        self.count += 1
        if self.count > MOST_ASKED:  # a loop goes through a list that it fills
            raise OverflowError
        if holds:
            self.met.add(number)
        return holds

    def example(self) -> list[Any] | None:
        """Common data, on which the function takes no rare branch and does not fail."""
        for _ in range(50):
            given = self._drawn(alike=True)
            if self._branches(given) == frozenset():
                return given
        return None

    def others(self) -> Iterator[tuple[list[Any], bool]]:
        """Other data, and whether they take a rare branch: for each branch, of the example's sizes and of others."""
        seen, found = set[tuple[frozenset[int], bool]](), 0
        for number in range(TRIED):
            alike = number % 3 > 0
            given = self._drawn(alike)
            branches = self._branches(given)
            if branches is None or (branches, alike) in seen:
                continue
            seen.add((branches, alike))
            yield given, bool(branches)
            found += 1
            if found == MOST:
                return

    def _branches(self, given: list[Any]) -> frozenset[int] | None:
        self.met.clear()
        self.count = 0
        try:
            self.function(*copy.deepcopy(given))
        except Exception:
            return None
        return frozenset(self.met)

    def _drawn(self, alike: bool) -> list[Any]:
        return [_DRAWN[name](self.random, alike) for name in self.names]


def _numbers(choice: random.Random, alike: bool) -> list[int]:
    return [choice.randint(-60, 60) for _ in range(3 if alike else choice.randint(1, 6))]


def _text(choice: random.Random, alike: bool) -> str:
    return "".join(choice.choice("aeikrst") for _ in range(choice.randint(2, 4) if alike else choice.randint(1, 8)))


def _tensor(choice: random.Random, alike: bool) -> torch.Tensor:
    rows = 2 if alike else choice.randint(1, 4)
    return torch.tensor([[choice.randint(-40, 40) / 4 for _ in range(3)] for _ in range(rows)])


_DRAWN: dict[str, Callable[[random.Random, bool], Any]] = {
    "x": _tensor,
    "arr": lambda choice, alike: np.array([float(each) for each in _numbers(choice, alike)]) / 4,
    "ks": _numbers,
    "rows": lambda choice, alike: [_numbers(choice, alike) for _ in range(2 if alike else choice.randint(1, 4))],
    "table": lambda choice, alike: {key: choice.randint(-60, 60) for key in "uvz"},
    "words": lambda choice, alike: [_text(choice, alike) for _ in range(3 if alike else choice.randint(1, 5))],
    "t": _text,
    "n": lambda choice, alike: choice.randint(-500, 500),
}
