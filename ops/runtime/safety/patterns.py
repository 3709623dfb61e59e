r"""Bounds the time of a regular expression of a file: Python's `re` tries every way to match, and cannot be stopped.

A pattern that is not trusted takes time in proportion to its text: it may repeat without a bound only what stands at
its end, a single set of characters, so that there is one way to match; and its choices in front of that are few. One
that is tried at a single place, by `match` or `fullmatch` or because it begins with ``^``, may also repeat a set that
ends where the next item begins, as in ``\w+=\w+``: what follows it is not among its characters, so that a shorter
repetition fails at once. And it may repeat any set once, as in ``(.*): (.*)`` and ``.*$``, where each shorter
repetition costs few steps more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...graph.errors import GraphError, TrustError
from ..interrupts.unheard import Unheard
from ..primitives.text.texts import LONGEST_PATTERN, pattern_of
from .characters import Characters, characters_of

try:
    from re import _constants as codes  # type: ignore[attr-defined]  # Python's own parser of patterns, from 3.11 on
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:
    import sre_constants as codes
    import sre_parse as parser

MOST_WAYS = 256
"""The ways in which a pattern may match at one place."""
MOST_STEPS = 4096
"""The characters that a pattern may look at from one place."""
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
    if not is_linear(pattern, flags, kind_of(name, args)):
        raise TrustError(
            "a regular expression of the file takes a time that has no bound",
            where=label,
            got=repr(pattern)[:80],
            fix="Pass trust=True (a command: --trust) if you trust where the file comes from.",
        )


def is_linear(pattern: str, flags: int, kind: str = "search") -> bool:
    """Whether a pattern takes time in proportion to its text.

    Args:
        pattern: a regular expression.
        flags: of `re`.
        kind: ``"match"`` and ``"fullmatch"`` try it at one place of the text only.

    Raises:
        GraphError: it is no pattern.
    """
    try:
        with Unheard():
            pattern_of(pattern, flags)
            parsed = parser.parse(pattern, flags & ~int(re.DEBUG))
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise GraphError("a regular expression is malformed", got=repr(pattern)[:80]) from error
    items = list(parsed)
    items += [(codes.AT, codes.AT_END_STRING)] if kind == "fullmatch" else []
    if kind in ("match", "fullmatch") or _is_anchored(items, parsed.state.flags):
        items = _flat(items)
        once = _repeated_once(items)
        items = items if parsed.state.flags & _CHANGING else _ending(items)
        items = [_ONE if index == once else item for index, item in enumerate(items)]
    return _ways(items, last=True) <= MOST_WAYS and _steps(items) <= MOST_STEPS


def kind_of(name: str, args: tuple[Any, ...]) -> str:
    """The function of `re` that an operator calls with a pattern."""
    return str(args[0]) if name == "py.re_found" and args else name.removeprefix("py.re_")


_CHANGING = re.IGNORECASE | re.ASCII | re.LOCALE
"""Flags with which a set has other characters than it names."""


def _flat(items: list[Any]) -> list[Any]:
    """A sequence with the items of groups in place of the groups."""
    found: list[Any] = []
    for code, argument in items:
        plain = code is codes.SUBPATTERN and not argument[1] and not argument[2]
        found += _flat(list(argument[-1])) if plain else [(code, argument)]
    return found


_ONE = (codes.ANY, None)


def _ending(items: list[Any]) -> list[Any]:
    """A sequence with one character for each repetition of a set after which only other characters can follow."""
    return [_ONE if _ends(item, items[index + 1 :]) else item for index, item in enumerate(items)]


def _ends(item: Any, after: list[Any]) -> bool:
    """Whether a repetition ends at one place only: what may follow it, up to the first that must, takes others."""
    own = _repeated(item) if item[0] in _REPEATS else None
    if own is None:
        return False
    for index, each in enumerate(after):
        if each[0] is codes.AT and index == len(after) - 1:
            return True
        other = _repeated(each)
        if other is None or not own[1].apart(other[1]):
            return False
        if other[0] > 0:
            return True
    return True


def _is_anchored(items: list[Any], flags: int) -> bool:
    """Whether a pattern can only match at the start of a text: at all other places it fails at once."""
    return bool(items) and (
        items[0] == (codes.AT, codes.AT_BEGINNING_STRING)
        or (items[0] == (codes.AT, codes.AT_BEGINNING) and not flags & re.MULTILINE)
    )


def _repeated_once(items: list[Any]) -> int | None:
    """The place of the first repetition of a set after which few steps are left in all cases; None without one.

    What ends the pattern may repeat a set too, since it cannot fail.
    """
    for index, item in enumerate(items):
        after = items[index + 1 :]
        ended = after[:-1] if after and _is_endless(after[-1]) and _holds_set(after[-1]) else after
        if _is_endless(item) and _holds_set(item) and not any(map(_is_endless, ended)):
            return index if after else None
    return None


def _is_endless(item: Any) -> bool:
    """Whether an item repeats something without a bound, itself or inside."""
    code, argument = item
    if code in _REPEATS:
        return argument[1] is codes.MAXREPEAT or any(map(_is_endless, argument[2]))
    if code is codes.BRANCH:
        return any(_is_endless(each) for branch in argument[1] for each in branch)
    return code not in (*_SINGLE, codes.AT) and (code is not codes.SUBPATTERN or any(map(_is_endless, argument[-1])))


def _holds_set(item: Any) -> bool:
    """Whether an item repeats a single set of characters."""
    code, argument = item
    return code in _REPEATS and argument[0] <= MOST_COPIES and len(argument[2]) == 1 and argument[2][0][0] in _SINGLE


def _repeated(item: Any) -> tuple[int, Characters] | None:
    """How often an item takes a character of which set, at least; None where it is no such item."""
    code, argument = item
    least, inner = 1, item
    if code in _REPEATS:
        least, _, repeated = argument
        if len(repeated) != 1:
            return None
        inner = repeated[0]
    found = characters_of(*inner)
    return None if found is None or least > MOST_COPIES else (least, found)


def pattern_among(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The pattern and the flags among the arguments of an operator."""
    return args[1:3] if name == "py.re_found" else args[:2]


def _steps(items: list[Any]) -> int:
    """How many characters a sequence may look at in one way from one place, without what it repeats at its end."""
    found = 0
    for code, argument in items:
        if code is codes.SUBPATTERN:
            found += _steps(list(argument[-1]))
        elif code is codes.BRANCH:
            found += sum(_steps(list(branch)) for branch in argument[1])
        elif code in _REPEATS:
            most = 1 if argument[1] is codes.MAXREPEAT else argument[1]
            found += most * _steps(list(argument[2]))
        else:
            found += 1
    return found


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


def absent_groups(pattern: str, flags: int) -> set[int]:
    """The groups of a pattern that need not take part in a match, by their numbers."""
    with Unheard():
        return set(_absent(parser.parse(pattern, flags & ~int(re.DEBUG)), False))


def _absent(items: Any, may_be: bool) -> Iterator[int]:
    for code, argument in items:
        if code in _REPEATS:
            least, _, inner = argument
            yield from _absent(inner, may_be or least == 0)
        elif code is codes.SUBPATTERN:
            group, *_, inner = argument
            yield from [group] if may_be and group is not None else []
            yield from _absent(inner, may_be)
        elif code is codes.BRANCH:
            for inner in argument[1]:
                yield from _absent(inner, True)
        elif code is codes.GROUPREF_EXISTS:
            for inner in argument[1:]:
                yield from _absent(inner or [], True)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _absent(argument[1], may_be or code is codes.ASSERT_NOT)
        elif code is getattr(codes, "ATOMIC_GROUP", None):
            yield from _absent(argument, may_be)
