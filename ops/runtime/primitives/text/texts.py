"""Operators on texts: methods of str, formats, joins and regular expressions, each with a bound on its result.

A file names a method of a closed list, a format whose width has four digits at most, and a pattern. The time of a
pattern is bounded in `safety.patterns`; here is what runs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from ....graph.errors import GuardError
from ....graph.operators.names import TEXT_METHODS
from ..bounded import MOST_ITEMS
from ..lists.sorting import bounded_items

_SPEC = r"(?s:.?[<>=^])?[-+ ]?z?#?0?[0-9]{0,4}[,_]?(?:\.[0-9]{1,4})?[a-zA-Z%]?"
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII | re.UNICODE | re.VERBOSE
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
MOST_EXPANSION = 18
"""The characters that normalisation can make of one."""
MOST_MARKS = 1000
"""The combining marks that may follow each other in a text that is normalised."""
LONGEST_PATTERN = 1000
MOST_GROUPS = 1 << 22
_WIDEST_INDENT = 16
_INDENTS = (None, *range(_WIDEST_INDENT + 1))


def _within(what: str, length: int) -> None:
    if length > MOST_ITEMS:
        raise GuardError(f"{what} grows too large", got=length, expected=f"at most {MOST_ITEMS} characters")


def _require_text(thing: Any, operator: str) -> None:
    if not isinstance(thing, str):
        raise GuardError(f"{operator} takes a str", got=type(thing).__name__)


def _sized(name: str, text: str, args: tuple[Any, ...]) -> int:
    """The length that a method can give a text, at most."""
    match name, args:
        case (("ljust" | "rjust" | "center" | "zfill"), (int(width), *_)):
            return max(len(text), width)
        case "replace", (str(old), str(new), *_):
            return len(text) + text.count(old) * max(0, len(new) - len(old))
        case "translate", (table, *_):
            if not isinstance(table, dict):
                raise GuardError("str.translate takes a dict", got=type(table).__name__)
            return len(text) * max((len(new) for new in table.values() if isinstance(new, str)), default=1)
        case "expandtabs", (int(size), *_):
            return len(text) + text.count("\t") * max(0, size)
        case "join", (str(characters), *_):
            return len(characters) * (1 + len(text))
        case "join", (list() | tuple() | dict() as items, *_):
            return sum(len(item) + len(text) for item in items if isinstance(item, str))
    return len(text)


_BACKWARDS = ("rfind", "rindex", "rsplit", "rpartition")
"""Methods for which Python looks at each place of a text for the whole of another one."""
MOST_STEPS = 1 << 32


def _method(name: str) -> Callable[..., Any]:
    plain = getattr(str, name)

    def call(text: Any, *args: Any) -> Any:
        _require_text(text, f"str.{name}")
        _within(f"the text of str.{name}", _sized(name, text, args))
        if name in _BACKWARDS and args and isinstance(args[0], str) and len(text) * len(args[0]) > MOST_STEPS:
            raise GuardError(f"str.{name} takes too long", got=len(args[0]), expected=f"{MOST_STEPS} steps at most")
        found = plain(text, *args)
        if isinstance(found, str):  # some characters become three in another case
            _within(f"the text of str.{name}", len(found))
        return found

    return call


@lru_cache(256)
def check_spec(spec: str) -> None:
    """Checks a format of a number or a text: its width and its precision."""
    if not re.fullmatch(_SPEC, spec):
        raise GuardError("a format cannot be used", got=repr(spec)[:80], expected="a width and a precision below 10000")


def formatted(value: Any, spec: str = "", conversion: str = "") -> str:
    """``f"{value!conversion:spec}"`` of a number, a text, or a list of them."""
    if conversion or isinstance(value, list | tuple | dict):
        _require_plain(value)
        value = {"r": repr, "a": ascii}.get(conversion, str)(value)
    elif not isinstance(value, str):
        _require_plain(value)
    _require_text(spec, "a format")
    check_spec(spec)
    found = format(value, spec)
    _within("a text", len(found))
    return found


_PLAIN = ("builtins", "numpy")


def _require_plain(value: Any) -> None:
    """Refuses to make text of what is no number and no text."""
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif type(item).__module__ not in _PLAIN or (hasattr(item, "__len__") and not isinstance(item, str)):
            raise GuardError("only numbers and texts can be formatted", got=type(item).__name__)
        elif isinstance(item, str):
            count += len(item)
    _within("the text of a list", count)


def joined(*parts: Any) -> str:
    """The parts of an f-string as one text."""
    _within("a text", sum(map(len, parts)))
    return "".join(parts)


def contains(container: Any, item: Any) -> bool:
    """``item in container``."""
    if isinstance(container, list | tuple):
        bounded_items(container)
    return item in container


def _check_marks(text: str) -> None:
    """Refuses a long run of combining marks, which Python sorts in a time that grows with its square."""
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MOST_MARKS:
            raise GuardError("too many combining marks follow each other", expected=f"at most {MOST_MARKS}")


def normalized(form: str, text: str) -> str:
    """`unicodedata.normalize`."""
    if form not in _FORMS:
        raise GuardError("there is no such normal form", got=repr(form)[:80], expected=str(_FORMS))
    _require_text(text, "unicodedata.normalize")
    _within("a text", len(text) * MOST_EXPANSION)
    if len(text) > MOST_MARKS:
        _check_marks(text)
    found: str = unicodedata.normalize(form, text)  # type: ignore[arg-type]  # it is one of the forms
    return found


@cache
def pattern_of(pattern: str, flags: int) -> re.Pattern[str]:
    """A compiled pattern, without flags that do anything but match."""
    if len(pattern) > LONGEST_PATTERN:
        raise GuardError("a pattern is too long", got=len(pattern), expected=f"{LONGEST_PATTERN} characters at most")
    return re.compile(pattern, flags & int(_FLAGS))


def _search(kind: str) -> Callable[..., Any]:
    def call(pattern: str, flags: int, text: str) -> Any:
        compiled = pattern_of(pattern, flags)
        if kind == "findall":
            _require_text(text, "re.findall")
            check_groups(compiled, text)
        return getattr(compiled, kind)(text)

    return call


_MATCHING = ("search", "match", "fullmatch")


def matches(kind: str, pattern: str, flags: int, text: str) -> bool:
    """Whether `re.search`, `re.match` or `re.fullmatch` finds something."""
    if kind not in _MATCHING:
        raise GuardError("there is no such way to match", got=repr(kind)[:80], expected=str(_MATCHING))
    return getattr(pattern_of(pattern, flags), kind)(text) is not None


def substituted(pattern: str, flags: int, new: str, text: str, count: int = 0) -> str:
    """`re.sub` with a constant replacement."""
    _require_text(text, "re.sub")
    _within("the text of re.sub", (len(text) + 1) * (len(new) + 1))
    return pattern_of(pattern, flags).sub(new, text, count)


def split(pattern: str, flags: int, text: str, most: int = 0) -> list[Any]:
    """`re.split`."""
    _require_text(text, "re.split")
    compiled = pattern_of(pattern, flags)
    check_groups(compiled, text)
    return compiled.split(text, most)


def check_groups(pattern: re.Pattern[str], text: str) -> None:
    """Checks how many groups all matches together may have."""
    if pattern.groups > 1 and (len(text) + 1) * pattern.groups > MOST_GROUPS:
        raise GuardError("a pattern finds too many groups", expected=f"at most {MOST_GROUPS} in all")


def group(found: Any, *which: Any) -> Any:
    """A group of a match."""
    _require_match(found)
    return found.group(*which)


def _require_match(found: Any) -> None:
    if not isinstance(found, re.Match):
        raise GuardError("the pattern does not match", got="no match", expected="a match, as in the recording")


def _edge(name: str) -> Callable[..., int]:
    """Where a match, or a group of it, begins or ends."""

    def call(found: Any, *which: Any) -> int:
        _require_match(found)
        place: int = getattr(found, name)(*which)
        return place

    return call


def found_all(pattern: str, flags: int, text: str) -> list[re.Match[str]]:
    """What `re.finditer` finds, as a list."""
    _require_text(text, "re.finditer")
    return list(pattern_of(pattern, flags).finditer(text))


def code_of(character: Any) -> int:
    """`ord`."""
    _require_text(character, "ord")
    return ord(character)


def as_json(
    tree: Any,
    indent: int | None = None,
    sort_keys: bool = False,
    ensure_ascii: bool = True,
    items: str | None = None,
    entries: str = ": ",
) -> str:
    """`json.dumps` of numbers, texts, and containers of them."""
    if indent not in _INDENTS:
        raise GuardError("json.dumps has too large an indent", got=indent, expected=f"{_WIDEST_INDENT} at most")
    _require_plain(tree)
    if len(items or "") > _LONGEST_SEPARATOR or len(entries) > _LONGEST_SEPARATOR:
        raise GuardError("json.dumps has too long a separator", expected=f"{_LONGEST_SEPARATOR} characters at most")
    _check_layout(tree, indent or 0, max(len(items or ""), len(entries)))
    separators = None if items is None else (items, entries)
    found = json.dumps(
        tree, indent=indent, sort_keys=bool(sort_keys), ensure_ascii=bool(ensure_ascii), separators=separators
    )
    _within("the text of json.dumps", len(found))
    return found


def _check_layout(tree: Any, indent: int, separator: int) -> None:
    """Checks how long a text of JSON is without its texts and numbers: each item has a line that begins with spaces."""
    waiting, size = [(tree, 1)], 0
    while waiting:
        items, level = waiting.pop()
        if isinstance(items, dict | list | tuple):
            size += len(items) * (indent * level + 2 * separator)
            _within("the text of json.dumps", size)
            inner = items.values() if isinstance(items, dict) else items
            waiting += [(item, level + 1) for item in inner if isinstance(item, dict | list | tuple)]


_LONGEST_SEPARATOR = 16


def _of_character(name: str) -> Callable[[Any], Any]:
    """A function of `unicodedata` that takes one character."""

    def call(character: Any) -> Any:
        if not isinstance(character, str) or len(character) != 1:
            raise GuardError(f"unicodedata.{name} takes one character", got=repr(character)[:80])
        return getattr(unicodedata, name)(character)

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"str_{name}": _method(name) for name in TEXT_METHODS},
    "format": formatted, "join_texts": joined, "contains": contains, "normalize": normalized,
    "re_search": _search("search"), "re_match": _search("match"), "re_fullmatch": _search("fullmatch"),
    "re_findall": _search("findall"), "re_sub": substituted, "re_split": split, "re_group": group,
    "re_found": matches, "re_finditer": found_all, "re_start": _edge("start"), "re_end": _edge("end"),
    "ord": code_of, "chr": chr, "json_dumps": as_json,
    "combining": _of_character("combining"), "category": _of_character("category"),
}  # fmt: skip
"""The operators on texts by their names in the family ``py.…``."""
