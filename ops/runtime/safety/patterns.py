"""Bounds the time of a regular expression of a file: Python's `re` tries every way to match, and cannot be stopped.

A pattern that is not trusted takes time in proportion to its text: it may repeat without a bound only what stands at
its end, a single set of characters, so that there is one way to match; and its choices in front of that are few.
"""

from __future__ import annotations

import re
from typing import Any

from ...graph.errors import GraphError, TrustError
from ..interrupts.unheard import Unheard
from ..primitives.texts import LONGEST_PATTERN, pattern_of

try:
    from re import _constants as codes  # type: ignore[attr-defined]  # Python's own parser of patterns, from 3.11 on
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:
    import sre_constants as codes
    import sre_parse as parser

MOST_WAYS = 256
"""The ways in which a pattern may match at one place."""
MOST_COPIES = 64
"""The largest count of a bounded repetition."""

_SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY, codes.CATEGORY)
_REPEATS = tuple(
    getattr(codes, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(codes, name)
)


def check_pattern(name: str, args: tuple[Any, ...], label: str) -> None:
    """Checks the pattern of a node of a file that is not trusted.

    Args:
        name: of the operator, ``py.re_…``.
        args: of the node.
        label: the name of the file in messages.

    Raises:
        GraphError: the node has no constant pattern, or a malformed one.
        TrustError: its time has no bound.
    """
    given = pattern_among(name, args)
    match given:
        case (str(pattern), int(flags)) if len(pattern) <= LONGEST_PATTERN:
            pass
        case _:
            raise GraphError(f"operator {name} has no constant pattern", got=repr(given)[:80])
    if not is_linear(pattern, flags):
        raise TrustError(
            "a regular expression of the file takes a time that has no bound",
            where=label,
            got=repr(pattern)[:80],
            fix="Pass trust=True if you trust where the file comes from.",
        )


def is_linear(pattern: str, flags: int) -> bool:
    """Whether a pattern takes time in proportion to its text.

    Raises:
        GraphError: it is no pattern.
    """
    try:
        with Unheard():
            pattern_of(pattern, flags)
            parsed = parser.parse(pattern, flags & ~int(re.DEBUG))
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise GraphError("a regular expression is malformed", got=repr(pattern)[:80]) from error
    return _ways(list(parsed), last=True) <= MOST_WAYS


def pattern_among(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The pattern and the flags among the arguments of an operator."""
    return args[1:3] if name == "py.re_found" else args[:2]


_ENDLESS = 1 << 30


def _ways(items: list[Any], last: bool) -> int:
    """In how many ways a sequence may match at one place; `last` says whether the pattern ends with it."""
    found = 1
    for index, (code, argument) in enumerate(items):
        found *= _ways_of(code, argument, last and index == len(items) - 1)
        if found > MOST_WAYS:
            return _ENDLESS
    return found


def _ways_of(code: Any, argument: Any, last: bool) -> int:
    if code in _SINGLE or code is codes.AT:
        return 1
    if code is codes.SUBPATTERN:
        return _ways(list(argument[-1]), last)
    if code is codes.BRANCH:
        return sum(_ways(list(branch), last) for branch in argument[1])
    if code in _REPEATS:
        return _ways_repeated(argument, last)
    return _ENDLESS  # references to groups, conditions, and looking ahead or back


def _ways_repeated(argument: Any, last: bool) -> int:
    least, most, inner = argument
    parts = list(inner)
    single = len(parts) == 1 and parts[0][0] in _SINGLE
    if most is codes.MAXREPEAT or most > MOST_COPIES:
        return 1 if last and single and least <= MOST_COPIES else _ENDLESS
    once = 1 if single else _ways(parts, last=False)
    return min(_ENDLESS, int((most - least + 1) * once**most)) if once < MOST_WAYS else _ENDLESS
