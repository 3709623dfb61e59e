"""Values of Python as source: literals, and the constants of a block."""

from __future__ import annotations

import ast
import functools
import math
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, EnumMeta
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import torch

from ....ops.runtime.primitives.plain_code.language import BUILTINS
from ....ops.runtime.primitives.plain_code.library_values import is_value as is_of_library
from ....ops.runtime.primitives.plain_code.objects.made_enums import BASES, is_value

SCALARS = (bool, int, float, complex, str, bytes, type(None))
MOST_LEVELS = 50


NOT_PLAIN = "the code cannot be a block of plain Python"
"""How refusals of a block begin."""


class UnplainError(Exception):
    """What no block can have: the message says what it is."""


def is_plain(thing: Any, levels: int = MOST_LEVELS) -> bool:
    """Whether a thing is a number, a text, None, a pattern, or a container of those, by exact classes."""
    kind = type(thing)
    if levels == 0:
        return False
    if kind in (list, tuple, torch.Size, set, frozenset):
        return all(is_plain(each, levels - 1) for each in thing)
    if kind in (dict, Counter, OrderedDict):
        return all(is_plain(k, levels - 1) and is_plain(v, levels - 1) for k, v in thing.items())
    return kind in SCALARS or kind in (re.Pattern, re.RegexFlag, NormalDist) or is_member(thing) or is_of_library(thing)


def is_member(thing: Any) -> bool:
    """Whether a thing is a member of an Enum that a block makes anew."""
    return isinstance(thing, Enum) and bool(enum_base(type(thing)))


@functools.lru_cache(256)
def enum_base(kind: Any) -> str:
    """The name in a block of the bases of an Enum, whose members are plain values; empty for another class."""
    if type(kind) is not EnumMeta or kind.__module__.partition(".")[0] in sys.stdlib_module_names:
        return ""
    found = next((name for name, bases in BASES.items() if bases == kind.__bases__), "")
    members: Any = kind.__members__.values()
    own: list[Any] = [object.__eq__, int.__eq__, str.__eq__, float.__eq__]
    plain, same = all(is_value(each.value) for each in members), kind.__eq__ in own
    return found if plain and same else ""


def literal(thing: Any, part: Any = None) -> ast.expr:
    """The source of a thing.

    Args:
        thing: the value.
        part: gives the source of a part that has one of its own, else None.

    Raises:
        UnplainError: it has no source.
    """
    if part is not None and (found := part(thing)) is not None:
        return found  # type: ignore[no-any-return]  # an expression
    kind = type(thing)
    if kind is float and not math.isfinite(thing):
        return _made("float", ast.Constant(repr(thing)))
    if kind in SCALARS:
        return ast.Constant(thing)
    if kind is re.RegexFlag:
        return ast.Constant(int(thing))
    if kind is list:
        return ast.List([literal(each, part) for each in thing], ast.Load())
    if kind is tuple:
        return ast.Tuple([literal(each, part) for each in thing], ast.Load())
    if kind is torch.Size:
        return _made("tensor_sizes", *map(ast.Constant, thing))
    if kind is dict:
        return ast.Dict([literal(each, part) for each in thing], [literal(each, part) for each in thing.values()])
    if kind in (set, frozenset):
        found = _sorted(thing)
        if all(isinstance(each, int) for each in thing) and [*kind(found)] != [*thing]:
            raise UnplainError("it uses a set in an order that depends on how it was made")
        items = ast.List([literal(each, part) for each in found], ast.Load())
        return _made(kind.__name__, items)
    if kind is re.Pattern:
        return _made("re.compile", ast.Constant(thing.pattern), ast.Constant(int(thing.flags) & ~int(re.UNICODE)))
    if is_of_library(thing):
        return _value(thing)
    if kind is NormalDist:
        return _made("statistics.NormalDist", literal(thing.mean), literal(thing.stdev))
    return _of_library(thing, part)


def of_letters(text: ast.expr) -> ast.expr:
    """The source of bytes, from that of a text of which each letter is one."""
    return ast.Call(ast.Attribute(text, "encode", ast.Load()), [ast.Constant("latin-1")], [])


def _value(thing: Any) -> ast.expr:
    """A decimal number, a fraction or a date."""
    kind = type(thing)
    if kind is Decimal:
        return _made("decimal.Decimal", ast.Constant(str(thing)))
    if kind is Fraction:
        return _made("fractions.Fraction", ast.Constant(thing.numerator), ast.Constant(thing.denominator))
    parts = [getattr(thing, each) for each in _PARTS[kind]]
    return _made(f"datetime.{kind.__name__}", *map(ast.Constant, parts))


_DAY, _HOUR = ("year", "month", "day"), ("hour", "minute", "second", "microsecond")
_PARTS: dict[type, tuple[str, ...]] = {
    date: _DAY, datetime: (*_DAY, *_HOUR), time: _HOUR, timedelta: ("days", "seconds", "microseconds"),
}  # fmt: skip


def _of_library(thing: Any, part: Any) -> ast.expr:
    """A container of the module collections."""
    kind = type(thing)
    pairs: list[ast.expr] = []
    if isinstance(thing, dict):
        pairs += [ast.Tuple([literal(k, part), literal(v, part)], ast.Load()) for k, v in thing.items()]
    table = _made("dict", ast.List(pairs, ast.Load()))
    if kind in (Counter, OrderedDict):
        return _made(f"collections.{kind.__name__}", table)
    if kind is defaultdict and BUILTINS.get(name := getattr(thing.default_factory, "__name__", "")):
        return _made("collections.defaultdict", ast.Name(name, ast.Load()), table)
    if kind is deque:
        items = ast.List([literal(each, part) for each in thing], ast.Load())
        return _made("collections.deque", items, ast.Constant(thing.maxlen))
    raise UnplainError(f"it uses a {kind.__name__}")


def _sorted(items: Any) -> list[Any]:
    return sorted(items, key=lambda each: (type(each).__name__, repr(each)))


def _made(name: str, *args: ast.expr) -> ast.expr:
    module, _, own = name.rpartition(".")
    function: ast.expr = ast.Name(own, ast.Load())
    if module:
        function = ast.Attribute(ast.Name(module, ast.Load()), own, ast.Load())
    return ast.Call(function, list(args), [])


def name_of(name: str) -> ast.expr:
    """A name as an expression."""
    return ast.Name(name, ast.Load())
