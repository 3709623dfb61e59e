"""What stands for functions of `html`, `string`, `textwrap` and `urllib.parse` that get a text of the recording."""

from __future__ import annotations

import html
import string
import textwrap
import urllib.parse
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ....lists.mapping import each
from ....proxies.base import is_traced
from ...python.operations import active

_SAFE = {"quote": "/", "quote_plus": ""}


def _of_html(name: str) -> Callable[..., Any]:
    plain = getattr(html, name)

    def call(text: Any, *options: Any, **more: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(text):
            return plain(text, *options, **more)
        given = plain_options(options, more, {"quote": True} if name == "escape" else {})
        if given is None:
            recorder.refuse(f"html.{name} was given an option that is not recorded", "Write it as a constant.")
        return recorder.scalar("text", f"html.{name}", text, *given)

    return call


def _of_urls(name: str) -> Callable[..., Any]:
    plain = getattr(urllib.parse, name)

    def call(text: Any, *options: Any, **more: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(text):
            return plain(text, *options, **more)
        given = plain_options(options, more, {"safe": _SAFE[name]} if name in _SAFE else {})
        if given is None:
            recorder.refuse(
                f"{name} was given an option that is not recorded", "Write safe as a constant, and no other."
            )
        return recorder.scalar("text", f"urllib.parse.{name}", text, *given)

    return call


def shorten(text: Any, width: Any, **options: Any) -> Any:
    """Stands for `textwrap.shorten`."""
    recorder = active()
    if recorder is None or not is_traced(text):
        return textwrap.shorten(text, width, **options)
    given = plain_options((), options, {"placeholder": " [...]"})
    if given is None:
        recorder.refuse("shorten was given an option that is not recorded", "Write placeholder as a constant.")
    return recorder.scalar("text", "textwrap.shorten", text, width, *given)


def filled(text: Any, width: Any = 70, **options: Any) -> Any:
    """Stands for `textwrap.fill`."""
    recorder = active()
    if recorder is None or not (is_traced(text) or is_traced(width)):
        return textwrap.fill(text, width, **options)
    if options:
        recorder.refuse("textwrap.fill was given an option that is not recorded", "Give it the width only.")
    return recorder.scalar("text", "textwrap.fill", text, width)


def dedent(text: Any) -> Any:
    """Stands for `textwrap.dedent`."""
    recorder = active()
    if recorder is None or not is_traced(text):
        return textwrap.dedent(text)
    return recorder.scalar("text", "textwrap.dedent", text)


def indent(text: Any, prefix: Any, predicate: Any = None) -> Any:
    """Stands for `textwrap.indent`."""
    recorder = active()
    if recorder is None or not (is_traced(text) or is_traced(prefix)):
        return textwrap.indent(text, prefix, predicate)
    if predicate is not None:
        recorder.refuse("textwrap.indent was given a function, which is not recorded", "Give it the prefix only.")
    return recorder.scalar("text", "textwrap.indent", text, prefix)


def capwords(text: Any, sep: Any = None) -> Any:
    """Stands for `string.capwords`."""
    recorder = active()
    if recorder is None or not (is_traced(text) or is_traced(sep)):
        return string.capwords(text, sep)
    words = each(recorder, lambda word: word.capitalize(), text.split(sep))
    return recorder.scalar("str_join", sep or " ", words)


def plain_options(given: tuple[Any, ...], named: dict[str, Any], known: dict[str, Any]) -> list[Any] | None:
    """The constant options of a call in their order, by their defaults; None where it has others."""
    if len(given) > len(known) or not named.keys() <= known.keys() or any(map(is_traced, [*given, *named.values()])):
        return None
    return list((known | dict(zip(known, given, strict=False)) | named).values())


OF_TEXTS: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
    **{name: (html, _of_html(name)) for name in ("escape", "unescape")},
    **{name: (urllib.parse, _of_urls(name)) for name in ("quote", "quote_plus", "unquote", "unquote_plus")},
    "shorten": (textwrap, shorten),
    "fill": (textwrap, filled),
    "dedent": (textwrap, dedent),
    "indent": (textwrap, indent),
    "capwords": (string, capwords),
}
"""The name of a function -> its module, and what stands for it."""
