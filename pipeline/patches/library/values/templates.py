"""What stands for a `string.Template` whose fields are filled by what a run decides."""

from __future__ import annotations

import string
from typing import Any

from ...python.operations import active, formatted, holds_traced


class FilledTemplate:
    """Stands for a template while a method of it is called."""

    def __init__(self, plain: string.Template) -> None:
        self.plain = plain

    def substitute(self, mapping: Any = None, /, **named: Any) -> Any:
        """As for Template, with each field as the text that `str` gives of it."""
        recorder, given = active(), {**(mapping or {}), **named}
        if recorder is None or not holds_traced(given):
            return self.plain.substitute(given)
        parts, end = [], 0
        for found in self.plain.pattern.finditer(self.plain.template):
            parts.append(self.plain.template[end : found.start()])
            end, name = found.end(), found["named"] or found["braced"]
            if name is None and found["escaped"] is None:
                return self.plain.substitute(dict.fromkeys(given, ""))  # which raises Python's own error
            parts.append(formatted(given[name], "", "s") if name is not None else self.plain.delimiter)
        parts.append(self.plain.template[end:])
        return recorder.scalar("join_texts", *[each for each in parts if type(each) is not str or each])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)
