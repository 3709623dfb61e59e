"""The characters that one item of a regular expression takes, and whether two items have none in common."""

from __future__ import annotations

import re
from typing import Any

from ...graph.frozen_class import frozen

try:
    from re import _constants as codes  # type: ignore[attr-defined]  # Python's own parser of patterns, from 3.11 on
except ImportError:
    import sre_constants as codes

MOST_CHARACTERS = 1024
"""The characters of a range that are looked at one by one."""

_KINDS: dict[Any, re.Pattern[str]] = {
    codes.CATEGORY_DIGIT: re.compile(r"\d"), codes.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    codes.CATEGORY_SPACE: re.compile(r"\s"), codes.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    codes.CATEGORY_WORD: re.compile(r"\w"), codes.CATEGORY_NOT_WORD: re.compile(r"\W"),
}  # fmt: skip
_APART = {
    frozenset(pair)
    for pair in (
        (codes.CATEGORY_DIGIT, codes.CATEGORY_NOT_DIGIT), (codes.CATEGORY_SPACE, codes.CATEGORY_NOT_SPACE),
        (codes.CATEGORY_WORD, codes.CATEGORY_NOT_WORD), (codes.CATEGORY_DIGIT, codes.CATEGORY_SPACE),
        (codes.CATEGORY_WORD, codes.CATEGORY_SPACE), (codes.CATEGORY_DIGIT, codes.CATEGORY_NOT_WORD),
    )
}  # fmt: skip


@frozen
class Characters:
    """A set of characters: some of them, and some kinds such as digits; or all others."""

    some: frozenset[str]
    kinds: frozenset[Any]
    others: bool

    def apart(self, other: Characters) -> bool:
        """Whether no character is in both; False where that is not known."""
        if self.others and other.others:
            return False
        if other.others:
            return other.apart(self)
        if self.others:  # the other one lies in what this one leaves out
            return all(map(self._names, other.some)) and other.kinds <= self.kinds
        crossed = any(map(self._names, other.some)) or any(map(other._names, self.some))
        return not crossed and all(frozenset((one, two)) in _APART for one in self.kinds for two in other.kinds)

    def _names(self, character: str) -> bool:
        return character in self.some or any(_KINDS[kind].match(character) for kind in self.kinds)


def characters_of(code: Any, argument: Any) -> Characters | None:
    """The characters of an item of a parsed pattern, without flags; None for one that is no set of them."""
    if code is codes.LITERAL:
        return Characters(frozenset([chr(argument)]), frozenset(), False)
    if code is codes.NOT_LITERAL:
        return Characters(frozenset([chr(argument)]), frozenset(), True)
    return _of_set(argument) if code is codes.IN else None


def _of_set(items: list[tuple[Any, Any]]) -> Characters | None:
    some: set[str] = set()
    kinds: set[Any] = set()
    for code, argument in items:
        if code is codes.LITERAL:
            some.add(chr(argument))
        elif code is codes.RANGE and argument[1] - argument[0] < MOST_CHARACTERS:
            some |= set(map(chr, range(argument[0], argument[1] + 1)))
        elif code is codes.CATEGORY and argument in _KINDS:
            kinds.add(argument)
        elif code is not codes.NEGATE:
            return None
    return Characters(frozenset(some), frozenset(kinds), any(code is codes.NEGATE for code, _ in items))
