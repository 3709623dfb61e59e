"""Takes the template of `str.format` apart."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from typing import Any

_PLAIN = string.Formatter()


class FilledIn:
    """The parts of a template's text.

    Args:
        template: with fields in braces.
        args: the arguments by position.
        kwargs: those by name.
        formatted: gives the text of a value, for its format and its conversion.
        joined: gives the text of several.
    """

    def __init__(
        self, template: str, args: tuple[Any, ...], kwargs: dict[str, Any], formatted: Callable[..., Any],
        joined: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._args, self._kwargs, self._formatted, self._joined = args, kwargs, formatted, joined
        self._count = 0
        self.parts = list(self._parts_of(template))

    def _parts_of(self, template: str) -> Iterator[Any]:
        for text, name, spec, conversion in _PLAIN.parse(template):
            if text:
                yield text
            if name is not None:
                value = self._value(name)
                yield self._formatted(value, self._spec(spec or ""), conversion or "")

    def _spec(self, spec: str) -> Any:
        """A format, whose fields are filled in as those of the template are."""
        return self._joined(list(self._parts_of(spec))) if "{" in spec else spec

    def _value(self, name: str) -> Any:
        """The argument of a field, or what the field looks up in it."""
        first = min((name.index(sign) for sign in ".[" if sign in name), default=len(name))
        if not first:
            name, self._count = f"{self._count}{name}", self._count + 1
        return _PLAIN.get_field(name, self._args, self._kwargs)[0]
