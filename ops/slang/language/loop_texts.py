"""Loops in the text of a module: limits where Slang wants them, and `for` where it differentiates `while` wrongly.

Slang 2026.12 crashes on the gradient of `while (a && b)` and of a `while` with `continue`, and that of a `while` that a
`break` leaves lacks terms, in silence. With `for (; a && b; )`, which means the same, all three are right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SKIPPED = r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\""
_LOOP = re.compile(
    rf"(?P<skip>{_SKIPPED}|\]\s*(?:do|for|while)\b)|\b(?P<loop>for|while)(?=\s*\()|\b(?P<do>do)\b", re.DOTALL
)
_WHILE = re.compile(rf"(?:{_SKIPPED})|\b(?P<loop>while)\s*\(", re.DOTALL)
_BRACKET = re.compile(rf"(?:{_SKIPPED})|(?P<bracket>[()])", re.DOTALL)
_END = re.compile(rf"(?:\s|{_SKIPPED})*;", re.DOTALL)
ROUNDS = 1024
"""The most rounds of a loop without a limit of its own, where its gradient keeps the values of each round."""
LIMIT = "[MaxIters({} /* by tracepack */)]"
_FEWEST, _MOST = 64, 1 << 16


def rounds_by_sizes(sizes: Sequence[int]) -> int:
    """A limit for loops over the sizes of tensors; a power of two, so that few kernels serve all sizes."""
    return min(max(_FEWEST, 1 << (max(sizes, default=1) - 1).bit_length()), _MOST)


def bounded(text: str) -> str:
    """With `[MaxIters]` before each loop that has no attribute."""
    limit = LIMIT.format(ROUNDS)

    def with_limit(match: re.Match[str]) -> str:
        closes_do = match["loop"] == "while" and _condition(text, text.index("(", match.end()) + 1)[1]
        return match[0] if match["skip"] or closes_do else f"{limit} {match['loop'] or match['do']}"

    return _LOOP.sub(with_limit, text)


def with_for(text: str) -> str:
    """With `for (; condition; )` in the place of `while (condition)`; lines stay where they are."""
    parts, copied = [], 0
    for match in _WHILE.finditer(text):
        end, closes_do = _condition(text, match.end()) if match["loop"] else (-1, False)
        if end < 0 or closes_do:
            continue
        parts += [text[copied : match.start()], "for", text[match.end("loop") : match.end()], ";"]
        parts += [text[match.end() : end], ";"]
        copied = end
    return "".join((*parts, text[copied:]))


def _condition(text: str, start: int) -> tuple[int, bool]:
    """Where the condition of a `while` ends, -1 for nowhere, and whether a `do` stands before it: a `;` comes next."""
    depth = 1
    for match in _BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match["bracket"] or "", 0)
        if not depth:
            return match.start(), _END.match(text, match.end()) is not None
    return -1, False
