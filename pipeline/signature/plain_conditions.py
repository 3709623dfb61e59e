"""Conditions of a signature as a reader needs them: without those that always hold, and those that others imply.

Only what is shown is changed: each guard stays. Nothing is left out but what holds for all sizes, by arithmetic on
integers that are not negative.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from ...ops.graph.guards import syntax_tree
from .rows.joined_lists import without_joins

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_MOST_CONDITIONS = 64
_LARGEST = 1 << 12
"""Of the numbers in conditions that are held against each other."""

Linear = dict[str, int]
"""A sum of sizes with whole factors; the constant stands under the empty name."""


def plain_conditions(texts: Iterable[str], sizes: Collection[str]) -> list[str]:
    """The conditions, each once, without those that always hold.

    Args:
        texts: the conditions, all of which hold.
        sizes: the names in them that are sizes.

    Example:
        >>> plain_conditions(["M + -1 * M <= 0 and N >= 1 and (N >= 2 or (N == 1 and N == 1))", "M <= M"], "NM")
        ['N >= 1']
    """
    found: list[ast.expr | str] = []
    for text in texts:
        try:
            found += filter(None, (_simpler(part, sizes) for part in _parts(without_joins(syntax_tree(text).body))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the names of a file may be no identifiers
            found.append(text)
    shown = {(each if isinstance(each, str) else ast.unparse(each)): each for each in found}
    if len(shown) <= _MOST_CONDITIONS:
        _leave_out_implied(shown, sizes)
    bracketed = len(shown) > 1
    return [
        f"({text})" if bracketed and isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or) else text
        for text, each in shown.items()
    ]


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """The conditions of which all must hold."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for each in tree.values:
            yield from _parts(each)
    else:
        yield tree


def _simpler(tree: ast.expr, sizes: Collection[str]) -> ast.expr | None:
    """A condition without parts that say nothing; None for one that always holds."""
    match tree:
        case ast.BoolOp(ast.Or(), values):
            parts = [_simpler(each, sizes) for each in values]
            if None in parts:
                return None
            kept = {ast.unparse(each): each for each in parts if each is not None and not _fails(each, sizes)}
            return _joined(ast.Or(), [*kept.values()]) if kept else tree
        case ast.BoolOp(ast.And(), values):
            every = {ast.unparse(each): each for each in (_simpler(each, sizes) for each in values) if each is not None}
            return _joined(ast.And(), [*every.values()]) if every else None
    return None if _decided(tree, sizes) is True else tree


def _joined(word: ast.boolop, parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(word, parts)


def _fails(tree: ast.expr, sizes: Collection[str]) -> bool:
    return _decided(tree, sizes) is False


def _decided(tree: ast.expr, sizes: Collection[str]) -> bool | None:
    """What a comparison is for all sizes; None where that differs."""
    match tree:
        case ast.Compare(left, [comparison], [right]) if type(comparison) in _COMPARISONS:
            one, other = _linear(left, sizes), _linear(right, sizes)
            if one is None or other is None:
                return None
            if not any(_less(one, other, name) for name in {*one, *other} - {""}):
                return _COMPARISONS[type(comparison)](_less(one, other, ""), 0)
    return None


def _less(one: Linear, other: Linear, name: str) -> int:
    return one.get(name, 0) - other.get(name, 0)


def _linear(tree: ast.expr, sizes: Collection[str]) -> Linear | None:
    """An expression as a sum of sizes; None where it is none."""
    match tree:
        case ast.Constant(int(value)) if type(value) is int:
            return {"": value}
        case ast.Name(name) if name in sizes:
            return {name: 1}
        case ast.UnaryOp(ast.USub(), operand):
            return _scaled(_linear(operand, sizes), -1)
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            one = _linear(left, sizes)
            other = _scaled(_linear(right, sizes), 1 if isinstance(sign, ast.Add) else -1)
            if one is None or other is None:
                return None
            return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}
        case ast.BinOp(left, ast.Mult(), right):
            one, other = _linear(left, sizes), _linear(right, sizes)
            if one is None or other is None:
                return None
            if {*one} == {""}:
                return _scaled(other, one[""])
            return _scaled(one, other[""]) if {*other} == {""} else None
    return None


def _scaled(found: Linear | None, factor: int) -> Linear | None:
    return None if found is None else {name: value * factor for name, value in found.items()}


# -- conditions that others imply ----------------------------------------------------------------------------------


def _leave_out_implied(shown: dict[str, Any], sizes: Collection[str]) -> None:
    """Takes out the conditions on one size that follow from others on it, the longest first."""
    about: dict[str, dict[str, Any]] = {}
    for text, tree in shown.items():
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} if not isinstance(tree, str) else ()
        if len(names) == 1 and (name := min(names)) in sizes and _holds(tree, sizes, 0) is not None:
            about.setdefault(name, {})[text] = tree
    for trees in about.values():
        turns = max(abs(turn) for tree in trees.values() for turn in _turns(tree, sizes))
        if turns > _LARGEST:
            continue
        places = range(turns + 2)  # beyond the last number at which a comparison may turn, all stay as they are
        for text in sorted(trees, key=len, reverse=True):
            others = [tree for other, tree in trees.items() if other != text]
            own = trees[text]
            if all(_holds(own, sizes, size) for size in places if all(_holds(each, sizes, size) for each in others)):
                del trees[text], shown[text]


def _turns(tree: ast.expr, sizes: Collection[str]) -> Iterator[int]:
    """The constants of the comparisons in a condition: for whole factors none turns at a larger size."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Compare):
            one, other = _linear(each.left, sizes), _linear(each.comparators[0], sizes)
            yield _less(one or {}, other or {}, "")


def _holds(tree: ast.expr, sizes: Collection[str], size: int) -> bool | None:
    """Whether a condition on one size holds for a size; None where it is no comparison of sums."""
    match tree:
        case ast.BoolOp(word, values):
            found = [_holds(each, sizes, size) for each in values]
            return None if None in found else any(found) if isinstance(word, ast.Or) else all(found)
        case ast.UnaryOp(ast.Not(), operand):
            held = _holds(operand, sizes, size)
            return None if held is None else not held
        case ast.Compare(left, [comparison], [right]) if type(comparison) in _COMPARISONS:
            one, other = _linear(left, sizes), _linear(right, sizes)
            if one is None or other is None:
                return None
            return _COMPARISONS[type(comparison)](_value(one, size), _value(other, size))
    return None


def _value(found: Linear, size: int) -> int:
    return sum(value * (size if name else 1) for name, value in found.items())
