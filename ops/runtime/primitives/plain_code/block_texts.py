"""Texts that a block of plain Python makes: of numbers, texts and containers of them, and not too long."""

from __future__ import annotations

import dataclasses
import re
import string
from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from typing import Any

import torch

from .. import bounded
from ..nesting import check_nesting
from ..text import texts
from .arrays.block_arrays import CLASSES
from .gone_through import bounded_items, require_order
from .language import FILE
from .library_values import VALUES, text_of_value
from .objects.made_classes import MadeClass, is_object
from .objects.made_dataclasses import is_generated
from .objects.user_names import names_a_function_of_a_block
from .one_run.block_refusals import refuse, within

_SCALARS = (str, int, float, complex, bool, bytes, type(None))
_TEXTED = (*_SCALARS, *VALUES, *CLASSES)
_CONTAINERS = (list, tuple, dict)


class Shown:
    """What stands for an object in a container that is made a text.

    Args:
        text: how its class shows it.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _text_of(thing: Any, asked: tuple[str, ...]) -> str:
    """The text of an object, by the first of some methods that its class has."""
    kind = type(thing)
    for name in asked:
        holder = next(each for each in kind.__mro__ if name in vars(each))
        if type(holder) is MadeClass and is_generated(holder, name):
            fields = [each.name for each in dataclasses.fields(holder) if each.repr]  # type: ignore[arg-type]  # is one
            return joined(
                kind.__qualname__, "(", ", ".join(f"{each}={shown(getattr(thing, each))}" for each in fields), ")"
            )
        if type(holder) is MadeClass:
            found = getattr(kind, name)(thing)
            if type(found) is not str:
                raise TypeError(f"{name} returned non-string (type {type(found).__name__})")
            return found
        if holder is not object:  # an error
            return str(require_plain(thing)) if name == "__str__" else repr(require_plain(thing))
    found = f"an object of {kind.__name__}"
    return str(refuse("only numbers, texts and containers of them can be made a text", got=found))


def _text_of_member(value: Enum, conversion: str, spec: str) -> str:
    """The text of a member of an Enum, as from Python 3.11 on."""
    name = "__repr__" if conversion in ("r", "a") else "__str__"
    own = getattr(getattr(type(value), name), "__code__", None)
    if own is not None and own.co_filename == FILE:
        return _text_of_found(getattr(value, name)(), name, spec, conversion)
    bases = [each.__name__ for each in type(value).__bases__]
    if name == "__str__" and bases != ["Enum"]:
        if bases[-1] == "Enum":  # Python 3.12 shows it otherwise than Python 3.10
            refuse("the text of a member of an Enum with values of another class", fix="Write member.value.")
        return formatted(value.value, "", spec)
    return _text_of_found(getattr(value, name)(), name, spec, conversion)


def _text_of_found(found: Any, name: str, spec: str, conversion: str) -> str:
    if type(found) is not str:
        raise TypeError(f"{name} returned non-string (type {type(found).__name__})")
    return format(ascii_of(found) if conversion == "a" else found, spec)


def ascii_of(text: str) -> str:
    """A text whose letters are escaped where they are no ASCII."""
    return text.encode("ascii", "backslashreplace").decode("ascii")


_ANY, _EXACT = ("__str__", "__repr__"), ("__repr__",)


def _with_shown(value: Any, left: list[int], asked: tuple[str, ...]) -> Any:
    """The value, with texts in the places of objects."""
    if is_object(value):
        text = _text_of(value, asked)
        left[0] -= len(text)
        if left[0] < 0:
            refuse("a text grows too large", expected=f"at most {bounded.MOST_ITEMS} characters")
        return Shown(text)
    if type(value) is dict:
        return {_with_shown(key, left, _EXACT): _with_shown(each, left, _EXACT) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with_shown(each, left, _EXACT) for each in value)
    if type(value) is torch.Size:
        return value
    if isinstance(value, tuple) and _has_own_text(value):
        refuse("the text of a tuple with a text of its own that holds objects", got=type(value).__name__)
    if isinstance(value, tuple):
        return type(value)(*(_with_shown(each, left, _EXACT) for each in value))
    return value


def _has_own_text(value: Any) -> bool:
    """Whether the class of a tuple with named fields has a method that shows it."""
    return bool({"__str__", "__repr__"} & getattr(type(value), "__parts__", frozenset()))


def _has_things(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        return any(type(each) not in _SCALARS and _has_things(each) for each in inner)
    return is_object(value)


def as_shown(value: Any, conversion: str = "") -> Any:
    """What may be made a text, with texts in the places of the objects in it."""
    if not is_object(value):
        within(check_nesting, [value])
        if not _has_things(value):
            return require_plain(value)
    return require_plain(_with_shown(value, [bounded.MOST_ITEMS], _EXACT if conversion else _ANY), (Shown,))


def require_plain(value: Any, others: tuple[type, ...] = ()) -> Any:
    """What may be made a text: no function and no iterator, which Python shows with a place in memory.

    Raises:
        RefusedError: it holds something else, or too much.
    """
    if type(value) in _TEXTED:
        return value
    if isinstance(value, BaseException):
        if any(type(each) not in _SCALARS for each in value.args):
            refuse("the text of an error holds more than texts and numbers", got=type(value).__name__)
        if names_a_function_of_a_block(value):
            refuse("the text of an error names what makes an object of a class", got=str(value)[:80])
        return value
    require_order(value)
    within(check_nesting, [value])
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, defaultdict):
            refuse("the text of a defaultdict names a place in memory", fix="Write str(dict(table)).")
        if isinstance(each, _CONTAINERS):
            waiting += [item for item in each if type(item) not in _TEXTED]
            waiting += [item for item in each.values() if type(item) not in _TEXTED] if isinstance(each, dict) else []
        elif isinstance(each, set | frozenset) and all(type(item) in _SCALARS for item in each):
            require_order(each)
        elif not isinstance(each, (*_SCALARS, Enum, *others)):
            refuse("only numbers, texts and containers of them can be made a text", got=type(each).__name__)
    return value


def formatted(value: Any, conversion: str, spec: str) -> str:
    """A value as an f-string has it."""
    kind = type(value)
    if not spec and not conversion and (kind is str or kind is int or kind is float):
        return str(value)
    if kind in VALUES:
        return text_of_value(value, conversion, spec)
    if kind in CLASSES:
        return str(within(texts.formatted, value, spec, conversion))
    if isinstance(value, Enum):
        return _text_of_member(value, conversion, spec)
    if kind not in _SCALARS:
        found = as_shown(value, conversion)
        if spec and not conversion:
            raise TypeError(f"unsupported format string passed to {type(value).__name__}.__format__")
        if found is not value or isinstance(value, BaseException | set | frozenset):
            value = found
            value, conversion = {"r": repr, "a": ascii}.get(conversion, str)(value), ""
    elif kind is bytes:
        if spec and not conversion:
            raise TypeError("unsupported format string passed to bytes.__format__")
        value, conversion = ascii(value), ""
    return str(within(texts.formatted, value, spec, conversion))


def joined(*parts: Any) -> str:
    """The parts of an f-string."""
    if sum(map(len, parts)) > bounded.MOST_ITEMS:
        refuse("a text grows too large", expected=f"at most {bounded.MOST_ITEMS} characters")
    return "".join(parts)


def text_of(*value: Any, **named: Any) -> str:
    """``str(value)``."""
    if len(value) == 1 and type(value[0]) in CLASSES:
        return str(value[0])  # a format without a width gives more digits
    return formatted(*value, "", "") if len(value) == 1 and not named else str(*value, **named)


def shown(value: Any, /) -> str:
    """``repr(value)``."""
    return formatted(value, "r", "")


def filled_in(text: Any, value: Any) -> Any:
    """``text % value``."""
    if isinstance(text, str | bytes):
        value = (value,) if is_object(value) else value
        if isinstance(value, tuple) and any(map(is_object, value)) and _asks_for_numbers(text):
            refuse("a text is filled with the number of an object", got=str(text)[:80], fix="Write int(thing).")
        if isinstance(value, tuple) and "%r" not in str(text):
            value = tuple(as_shown(each).text if is_object(each) else each for each in value)
        require_plain(value)
    return within(bounded.mod, text, value)


def _asks_for_numbers(text: Any) -> bool:
    """Whether a text with places for values has one for something else than a text."""
    return bool(re.search(r"%[^%a-zA-Z]*[^%sra\W]", str(text).replace("%%", "")))


def method(name: str, text: str, *args: Any, **named: Any) -> Any:
    """A method of a text, with the bound on its result that it has as an operator."""
    if name == "expandtabs" and [*named] == ["tabsize"] and not args:
        args, named = (named["tabsize"],), {}
    if named:
        if name not in ("split", "rsplit", "splitlines"):
            refuse(f"str.{name} is called with names", got=", ".join(named), expected="arguments by their places")
        return getattr(str, name)(text, *args, **named)
    if name == "join" and len(args) == 1:
        items = bounded_items(args[0])
        args = (items if isinstance(items, str | list | tuple | dict) else [*items],)
    return within(texts.FUNCTIONS[f"str_{name}"], text, *args)


def filled(text: str, *args: Any, **named: Any) -> str:
    """``text.format(…)`` with plain fields."""
    parts, count, numbers = list[str](), 0, set[str]()
    for literal, name, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if name is None:
            continue
        field, count = (name, count) if name else (str(count), count + 1)
        if not re.fullmatch(r"\w+", field) or "{" in (spec or ""):
            refuse("str.format has a field that asks for more than an argument", got=field)
        if not name or name.isdecimal():
            numbers.add("{0}" if name else "{}")
            if len(numbers) > 1:
                ("{}{0}" if name else "{0}{}").format(0, 0)  # Python's own error, as those below
            if len(field) > 18 or int(field) >= len(args):
                f"{{{field}}}".format()
        value = args[int(field)] if field.isdecimal() else named[field]
        if conversion not in (None, "r", "s", "a"):
            f"{{!{conversion}}}".format(0)
        parts.append(formatted(value, conversion or "", spec or ""))
    return joined(*parts)


def as_json(thing: Any, **named: Any) -> str:
    """``json.dumps``."""
    unknown = {*named} - {"indent", "sort_keys", "ensure_ascii", "separators"}
    indent, separators = named.get("indent"), named.get("separators")
    if unknown or not (indent is None or type(indent) is int):
        refuse("json.dumps is called with more than a block may use", got=str(sorted(unknown) or indent)[:80])
    require_plain(thing)
    within(texts.as_json, thing, indent, named.get("sort_keys", False), named.get("ensure_ascii", True), None, "")
    items, entries = separators or ((", " if indent is None else ","), ": ")
    return str(
        within(
            texts.as_json, thing, indent, named.get("sort_keys", False), named.get("ensure_ascii", True), items, entries
        )
    )


def normalized(form: str, text: str) -> str:
    """``unicodedata.normalize``."""
    return str(within(texts.normalized, form, text))


def substituted(pattern: Any, repl: Any, string: str, count: int = 0, flags: int = 0) -> str:
    """``re.sub``, whose result stays within the bound on texts."""
    compiled: re.Pattern[str] = re.compile(pattern, flags)
    if isinstance(repl, str) and "\\" in repl:
        compiled.sub(repl, "")  # Python's own error, also where nothing is found
    made = 0

    def replaced(found: Any) -> Any:
        nonlocal made
        part = repl(found) if callable(repl) else found.expand(repl)
        made += len(part) if isinstance(part, str | bytes) else 0
        if made > bounded.MOST_ITEMS:
            refuse("a text grows too large", expected=f"at most {bounded.MOST_ITEMS} characters")
        return part

    few = not isinstance(repl, str) or (len(string) + 1) * (len(repl) + 1) <= bounded.MOST_ITEMS
    plain = isinstance(repl, str) and "\\" not in repl and few
    if not few and "\\" in repl:  # each group may be as long as the text
        refuse("a text grows too large", expected=f"at most {bounded.MOST_ITEMS} characters")
    return compiled.sub(repl if plain else replaced, string, count)


def searching(name: str) -> Callable[..., Any]:
    """``pattern.findall`` and its kin, which find no more groups than may be."""

    def call(compiled: Any, text: str, *rest: Any, **named: Any) -> Any:
        within(texts.check_groups, compiled, text)
        return getattr(compiled, name)(text, *rest, **named)

    return call


def all_found(pattern: Any, string: str, flags: int = 0) -> Any:
    """``re.findall``."""
    return SEARCHES["findall"](re.compile(pattern, flags), string)


def cut_apart(pattern: Any, string: str, maxsplit: int = 0, flags: int = 0) -> Any:
    """``re.split``."""
    return SEARCHES["split"](re.compile(pattern, flags), string, maxsplit)


SEARCHES = {name: searching(name) for name in ("findall", "split")}
