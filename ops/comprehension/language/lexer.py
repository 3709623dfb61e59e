"""Splits a text into tokens, each with its place. The longest token wins (`max=!` before `max`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..expr.errors import ComprehensionSyntaxError, Place

KEYWORDS = frozenset({"def", "where", "in", "exists", "min", "max"})

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
    | (?P<real>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|(?<![\w.])\.\d+(?:[eE][+-]?\d+)?)
    | (?P<int>\d+)
    | (?P<assign>(?:max|min)=!(?!=)|(?:max|min)=(?!=)|[+*]=!(?!=)|[+*]=|=!(?!=))
    | (?P<id>[A-Za-z_]\w*)
    | (?P<mark>->|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:(){},.=;])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """One token: its kind (`id`, `int`, `real`, `assign`, `mark` or `end`), its text, and its place."""

    kind: str
    text: str
    place: Place

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"'{self.text}'"


def tokens(text: str) -> list[Token]:
    """Splits a text into tokens; the last one is of kind `end`.

    Raises:
        ComprehensionSyntaxError: a character that no token starts with.
    """
    found: list[Token] = []
    lines = text.split("\n")
    line, start, at = 1, 0, 0
    while at < len(text):
        match = _match_at(text, at, found)
        place = Place(line, at - start + 1, lines[line - 1])
        if match is None:
            raise ComprehensionSyntaxError(f"unexpected character '{text[at]}'", at=place)
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup or "", match.group(), place))
        at = match.end()
        newlines = match.group().count("\n")
        if newlines:
            line, start = line + newlines, text.rfind("\n", 0, at) + 1
    found.append(Token("end", "", Place(line, at - start + 1, lines[line - 1])))
    return found


def _match_at(text: str, at: int, found: list[Token]) -> re.Match[str] | None:
    """The token at an offset; `1` after `A.` is a dimension's number, also in `A.1.5`."""
    after_dot = len(found) > 1 and found[-1].text == "." and found[-2].kind == "id"
    if after_dot and (match := re.compile(r"(?P<int>\d+)").match(text, at)):
        return match
    return _TOKEN.match(text, at)
