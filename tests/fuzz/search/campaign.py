"""Searches for calls: one whose outcome is new, be it another error, is kept, and its arguments are made anew by turns.

So an operator is led from "a tensor is missing" to "sizes do not fit" to an answer, where calls that know nothing of
each other end at the first check.
"""

from __future__ import annotations

import mmap
import random
from dataclasses import dataclass, replace

from tests.fuzz.children import survive
from tests.fuzz.search.calls import Recipe, forms, outcome

FRESH = 0.25  # of the calls are made of nothing
SEEDS = 1 << 20


class Search:
    """The calls of one operator that led to something new; it lives in a child."""

    def __init__(self, name: str, first: int) -> None:
        self.name, self.chance = name, random.Random(f"search/{name}/{first}")
        self.known: set[str] = set()
        self.kept: list[Recipe] = []

    def next(self) -> Recipe:
        """The next call to make."""
        chance = self.chance
        if not self.kept or chance.random() < FRESH:
            form = chance.randrange(len(forms(self.name)))
            seeds = tuple(chance.randrange(SEEDS) for _ in forms(self.name)[form])
            return Recipe(form, chance.randrange(SEEDS), seeds)
        # What came last came furthest, mostly.
        old = self.kept[max(chance.randrange(len(self.kept)), chance.randrange(len(self.kept)))]
        if not old.seeds or chance.random() < 0.2:
            return replace(old, theme=chance.randrange(SEEDS))
        seeds = list(old.seeds)
        for _ in range(chance.choice((1, 1, 2))):
            seeds[chance.randrange(len(seeds))] = chance.randrange(SEEDS)
        return replace(old, seeds=tuple(seeds))

    def learn(self, recipe: Recipe, new: str) -> None:
        """Keeps a call whose outcome was not seen."""
        if new not in self.known:
            self.known.add(new)
            self.kept.append(recipe)


@dataclass(frozen=True)
class LostCall:
    """A call that went wrong: the text of its recipe, and how."""

    index: str
    outcome: str


_COUNT, _RECIPE = slice(0, 8), slice(8, 4096)


def search(name: str, count: int, first: int = 0) -> tuple[list[LostCall], int]:
    """Searches calls of an operator in children.

    Returns:
        Those that went wrong, and how many gave an answer.
    """
    note = mmap.mmap(-1, 4096)  # children write here what they begin, which a parent reads when one is lost
    state: list[Search] = []

    def call(index: int) -> str:
        if not state:
            state.append(Search(name, first + index))
        recipe = state[0].next()
        note[_RECIPE] = str(recipe).encode().ljust(4096 - 8)
        new, wrong = outcome(name, recipe)
        if new.startswith("ran"):
            note[_COUNT] = (int.from_bytes(note[_COUNT], "little") + 1).to_bytes(8, "little")
        state[0].learn(recipe, new)
        return wrong

    lost = [LostCall(note[_RECIPE].decode().strip(), loss.outcome) for loss in survive(count, call)]
    return lost, int.from_bytes(note[_COUNT], "little")


def attempt(name: str, recipe: str) -> list[str]:
    """Makes one call in a child; returns what was wrong, if anything."""
    return [loss.outcome for loss in survive(1, lambda index: outcome(name, Recipe.of(recipe))[1])]
