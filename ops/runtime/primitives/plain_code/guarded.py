"""What the operations of a block of plain Python go through: they reach nothing else, change nothing of others, and
stay within the bounds that operators of a graph have.
"""

from __future__ import annotations

import importlib
import json
import operator
import re
import string
from collections.abc import Callable, Collection
from functools import partial
from types import GeneratorType
from typing import Any

from ....graph.errors import GuardError
from .. import bounded
from ..nesting import check_nesting
from ..text import texts
from .objects import Thing, is_record
from .language import CHANGE_FIRST, CHANGING, LIBRARY, LOOKING, OF_CLASSES

SETS = "a set of texts is gone through, whose order is another one in each process"
CHANGES_OTHERS = "a block of plain Python changes a container that is not its own"


class RefusedError(BaseException):
    """A refusal inside of a block, which none of its handlers catches; the block raises what it holds."""

    def __init__(self, error: GuardError) -> None:
        super().__init__(str(error))
        self.error = error


def refuse(what: str, **more: Any) -> Any:
    """Raises a refusal that leaves the block.

    Raises:
        RefusedError: always.
    """
    raise RefusedError(GuardError(what, **more))


def ordered(items: Any) -> Any:
    """What is gone through in its order.

    Raises:
        RefusedError: it is a set whose order no two processes share, or too long.
    """
    if isinstance(items, set | frozenset) and len(items) > 1 and not all(isinstance(each, int) for each in items):
        refuse(SETS, fix="Write sorted(items).")
    if type(items) is range and len(items) > bounded.MOST_ITEMS:
        refuse("a range is too long", got=len(items), expected=f"at most {bounded.MOST_ITEMS}")
    return items


class Guarded:
    """The operations of one call of a block.

    Args:
        others: ids of the containers that it must not change: constants, and what it was given.
    """

    def __init__(self, others: Collection[int]) -> None:
        self.others = others

    def own(self, thing: Any) -> Any:
        """A container that is about to be changed."""
        if id(thing) in self.others:
            refuse(CHANGES_OTHERS, got=type(thing).__name__, fix="Change a copy: list(items), dict(table).")
        if isinstance(thing, list | dict | set) and len(thing) > bounded.MOST_ITEMS:
            refuse("a list grows too large", got=len(thing), expected=f"at most {bounded.MOST_ITEMS}")
        return thing

    def attribute(self, thing: Any, name: str) -> Any:
        """A method of an object, by its exact type.

        Raises:
            AttributeError: it has none of that name, or none that a block may call.
        """
        kind = type(thing)
        if kind is Thing:
            return thing.get(name)
        get = _METHODS.get((kind, name))
        if get is not None:
            return get(self, thing)
        if kind is type and name in OF_CLASSES.get(thing, ()):
            return getattr(thing, name)
        if is_record(thing, name):
            return getattr(thing, name)
        if any(name in names for names in (*LOOKING.values(), *CHANGING.values())):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return refuse(f"a block of plain Python asks a {kind.__name__} for {name!r}", expected="a method of its list")

    def fields(self, thing: Any) -> Any:
        """The fields of an object of the block, one of which is about to be set."""
        if type(thing) is not Thing:
            refuse(f"a block of plain Python sets an attribute of a {type(thing).__name__}")
        return thing.fields

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """An operator whose result may grow."""
        return _within(_BINARY[name], a, b)

    def augmented(self, name: str, a: Any, b: Any) -> Any:
        """``a += b`` and its kin, for a variable."""
        if isinstance(a, list | dict | set) or hasattr(type(a), f"__i{name}__"):
            self.own(a)
            if name == "add" and isinstance(a, list):
                a.extend(b)
                return a
            return _within(getattr(operator, f"i{name.strip('_')}"), a, b)
        return _within(_BINARY.get(name) or getattr(operator, name), a, b)

    def augment_entry(self, name: str, table: Any, key: Any, b: Any) -> None:
        """``table[key] += b`` and its kin."""
        found = self.augmented(name, table[key], b)
        self.own(table)[key] = found

    def function(self, module: str, name: str) -> Any:
        """A function of Python's library."""
        if name not in LIBRARY.get(module, ()):
            refuse(f"a block of plain Python uses {module}.{name}", expected="a function of its list")
        found = getattr(importlib.import_module(module), name)
        if name in CHANGE_FIRST:
            return lambda first, *rest, **named: found(self.own(first), *rest, **named)
        return _LIMITED.get((module, name), found)


def _within(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except GuardError as error:
        raise RefusedError(error) from None


_BINARY = {"add": bounded.add, "mul": bounded.mul, "mod": bounded.mod, "pow": bounded.power, "lshift": bounded.lshift}


def _text(name: str, text: str, *args: Any, **named: Any) -> Any:
    """A method of a text, with the bound on its result that it has as an operator."""
    args = tuple(list(ordered(each)) if isinstance(each, GeneratorType | map | set | filter) else each for each in args)
    if named:
        return getattr(str, name)(text, *args, **named)
    if name == "join" and args and not isinstance(args[0], str | list | tuple | dict):
        args = ([*args[0]],)
    return _within(texts.FUNCTIONS[f"str_{name}"], text, *args)


def _formatted(text: str, *args: Any, **named: Any) -> str:
    """``text.format(…)`` with plain fields."""
    parts, count = list[str](), 0
    for literal, field, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if field is None:
            continue
        if field == "":
            field, count = str(count), count + 1
        if not re.fullmatch(r"\w+", field) or "{" in (spec or ""):
            refuse("str.format has a field that asks for more than an argument", got=field)
        value = args[int(field)] if field.isdigit() else named[field]
        parts.append(formatted(value, conversion or "", spec or ""))
    return joined(*parts)


def _looking(kind: type, name: str) -> Callable[[Guarded, Any], Any]:
    """What gives a method that changes nothing."""
    if kind is str:
        return (lambda _, text: partial(_formatted, text)) if name == "format" else (lambda _, t: partial(_text, name, t))
    if kind is re.Pattern and name == "sub":
        return lambda _, pattern: partial(substituted, pattern)
    return lambda _, thing: getattr(thing, name)


def _changing(kind: type, name: str) -> Callable[[Guarded, Any], Any]:
    """What gives a method that changes its object."""
    if kind is set and name == "pop":
        return lambda guards, thing: guards.own(ordered(thing)).pop
    return lambda guards, thing: getattr(guards.own(thing), name)


_METHODS: dict[tuple[type, str], Callable[[Guarded, Any], Any]] = {
    **{(kind, name): _looking(kind, name) for kind, names in LOOKING.items() for name in names},
    **{(kind, name): _changing(kind, name) for kind, names in CHANGING.items() for name in names},
}


def substituted(pattern: Any, new: Any, text: str, count: int = 0, flags: int = 0) -> str:
    """``re.sub``, whose result stays within the bound on texts."""
    found = re.compile(pattern, flags)
    if isinstance(new, str) and (len(text) + 1) * (len(new) + 1) > bounded.MOST_ITEMS:
        return str(_within(texts.substituted, found.pattern, found.flags & ~int(re.UNICODE), new, text, count))
    return found.sub(new, text, count)


def formatted(value: Any, conversion: str, spec: str) -> str:
    """A value as an f-string has it."""
    if isinstance(value, list | tuple | dict):
        _within(check_nesting, value)
    ordered(value)
    return str(_within(texts.formatted, value, spec, conversion))


def joined(*parts: Any) -> str:
    """The parts of an f-string."""
    return str(_within(texts.joined, *parts))


def text_of(*value: Any) -> str:
    """``str(value)``."""
    return formatted(*value, "", "") if len(value) == 1 else str(*value)


def shown(value: Any) -> str:
    """``repr(value)``."""
    return formatted(value, "r", "")


def whole(*args: Any) -> int:
    """``int(value, base)``."""
    return int(_within(bounded.whole, *args)) if args else 0


def rounded(*args: Any, **named: Any) -> Any:
    """``round(number, digits)``."""
    return _within(bounded.rounded, *args, *named.values())


def power(*args: Any) -> Any:
    """``pow(a, b)``."""
    return _within(bounded.power, *args) if len(args) == 2 else pow(*args)  # noqa: PLR2004  # a modulus bounds it


def _as_json(thing: Any, **named: Any) -> str:
    _within(check_nesting, thing if isinstance(thing, list | tuple | dict) else [thing])
    return json.dumps(thing, **named)


def _normalized(form: str, text: str) -> str:
    return str(_within(texts.normalized, form, text))


_LIMITED: dict[tuple[str, str], Callable[..., Any]] = {
    ("re", "sub"): substituted, ("json", "dumps"): _as_json, ("unicodedata", "normalize"): _normalized,
}  # fmt: skip
CALLS: dict[str, Callable[..., Any]] = {
    "str": text_of, "repr": shown, "int": whole, "round": rounded, "pow": power,
}  # fmt: skip
"""What calls of builtins go to."""
