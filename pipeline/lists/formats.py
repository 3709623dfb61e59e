"""Takes the template of `str.format` apart."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from ..proxies.tracer import Refuser

_PLAIN = string.Formatter()


def filled_in(
    recorder: Refuser, template: str, args: tuple[Any, ...], kwargs: dict[str, Any], formatted: Callable[..., Any]
) -> list[Any]:
    """The parts of a template's text.

    Args:
        recorder: refuses what no recording can hold.
        template: with fields in braces.
        args: the arguments by position.
        kwargs: those by name.
        formatted: gives the text of a value, for its format and its conversion.

    Raises:
        RecordError: a field looks into its argument, or its format holds another field.
    """
    parts: list[Any] = []
    count = 0
    for text, name, spec, conversion in _PLAIN.parse(template):
        if text:
            parts.append(text)
        if name is None:
            continue
        if any(sign in name for sign in ".[") or "{" in (spec or ""):
            recorder.refuse(
                f"the field {{{name}}} of a template looks into its argument",
                "Take the part out of it first: x.y, x[0].",
            )
        if name == "":
            value, count = args[count], count + 1
        else:
            value = args[int(name)] if name.isdigit() else kwargs[name]
        parts.append(formatted(value, spec or "", conversion or ""))
    return parts
