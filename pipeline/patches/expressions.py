"""What stands for `re`, or for a compiled pattern, in a recorded function: its functions take plain texts only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..proxies.base import is_traced
from ..recording.recorder import Recorder
from .python.operations import active, holds_traced


class RegularExpressions:
    """Stands for `re`, or for a compiled pattern."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self.plain, name)
        return _expression(self.plain, name, plain) if name in EXPRESSIONS else plain


EXPRESSIONS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


def _expression(owner: Any, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None or not (holds_traced(args) or holds_traced(kwargs)):
            return plain(*args, **kwargs)
        if isinstance(owner, re.Pattern):
            args = (owner, *args)
        return _record_expression(recorder, name, args, kwargs)

    return call


_REPLACING = ("pattern", "repl", "string", "count", "flags")
_ARGUMENTS = {"sub": _REPLACING, "subn": _REPLACING, "split": ("pattern", "string", "maxsplit", "flags")}


def _record_expression(recorder: Recorder, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(_ARGUMENTS.get(name, ("pattern", "string", "flags")), args, strict=False)) | kwargs
    pattern, flags = given.pop("pattern"), int(given.pop("flags", 0))
    if isinstance(pattern, re.Pattern):
        pattern, flags = pattern.pattern, int(pattern.flags)
    if callable(given.get("repl")):
        recorder.refuse(
            f"re.{name} with a function in place of a text cannot be recorded",
            "Go through re.finditer(pattern, text), and join what its matches and the texts between them become.",
        )
    if type(pattern) is not str or not _is_plain(given.get("repl", "")):
        recorder.refuse(f"re.{name} is recorded with a constant pattern and text", "Write both as constant texts.")
    text = given.pop("string")
    if name in ("sub", "subn"):
        return _replaced(recorder, name, (pattern, flags), str(given["repl"]), text, given.get("count", 0))
    if name == "split":
        return recorder.scalar("re_split", pattern, flags, text, given.get("maxsplit", 0))
    if name in ("findall", "finditer"):
        return recorder.scalar(f"re_{name}", pattern, flags, text)
    return _match(recorder, name, pattern, flags, text)


def _replaced(recorder: Recorder, name: str, pattern: tuple[str, int], new: str, text: Any, count: Any) -> Any:
    """The text with matches replaced; of `subn` also how many: those that `finditer` finds, up to the count."""
    made = recorder.scalar("re_sub", *pattern, new, text, count)
    if name == "sub":
        return made
    found = recorder.scalar("len", recorder.scalar("re_finditer", *pattern, text))
    return made, recorder.scalar("min", found, count) if is_traced(count) or count else found


def _match(recorder: Recorder, name: str, pattern: str, flags: int, text: Any) -> Any:
    """A match, guarded to be one, or None, guarded to be none: a branch on it cannot be seen."""
    if recorder.pin(recorder.scalar("re_found", name, pattern, flags, text), "the function goes on by the match"):
        return recorder.scalar(f"re_{name}", pattern, flags, text)
    return None


def _is_plain(text: Any) -> bool:
    return isinstance(text, str) and not is_traced(text)
