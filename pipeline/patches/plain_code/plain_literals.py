"""Values of Python as source: literals, and the constants of a block."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from types import FunctionType
from typing import Any

from ....ops.runtime.primitives.plain_code.language import BUILTINS
from ....ops.runtime.primitives.plain_code.library_values import is_value

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
    if kind in (list, tuple, set, frozenset):
        return all(is_plain(each, levels - 1) for each in thing)
    if kind in (dict, Counter, OrderedDict):
        return all(is_plain(k, levels - 1) and is_plain(v, levels - 1) for k, v in thing.items())
    return kind in SCALARS or kind in (re.Pattern, re.RegexFlag) or is_member(thing) or is_value(thing)


def is_member(thing: Any) -> bool:
    """Whether a thing is a member of an Enum with a plain value; a number or text is one of IntEnum or StrEnum."""
    if isinstance(thing, int | str) and counting_base(type(thing)):
        return True
    if not isinstance(thing, Enum) or isinstance(thing, int | str | Flag) or type(thing.value) not in SCALARS:
        return False
    return type(thing).__eq__ is object.__eq__ and type(thing).__hash__ is Enum.__hash__


def counting_base(kind: Any) -> str:
    """The base of an Enum whose members are numbers or texts and have nothing of their own; empty for another class."""
    if not isinstance(kind, type) or len(kind.__mro__) < 2 or not issubclass(kind, Enum):
        return ""
    base = kind.__mro__[1]
    own = [each for each in vars(kind).values() if isinstance(each, FunctionType | property | classmethod)]
    users = [each for each in own if not isinstance(each, FunctionType) or each.__module__ == kind.__module__]
    return base.__name__ if base.__module__ == "enum" and base.__name__ in ("IntEnum", "StrEnum") and not users else ""


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
    if is_value(thing):
        return _value(thing)
    return _of_library(thing, part)


def _value(thing: Any) -> ast.expr:
    """A decimal number or a date."""
    kind = type(thing)
    if kind is Decimal:
        return _made("decimal.Decimal", ast.Constant(str(thing)))
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


def member_source(thing: Any) -> ast.expr:
    """What makes a member of an Enum."""
    kind = type(thing)
    if base := counting_base(kind):
        return name_call("counting_member", base, kind.__name__, thing.name, *members(kind))
    return name_call("member", kind.__name__, thing.name, thing.value)


def members(kind: Any) -> list[Any]:
    """The names and values of the members of an Enum, one after the other."""
    return [part for name, each in kind.__members__.items() for part in (name, each.value)]


def name_call(name: str, *given: Any) -> ast.Call:
    """A call with constants."""
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(each) for each in given], [])
