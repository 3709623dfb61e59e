"""The constants of Slang's own functions of double, which Slang 2026.12 writes with the precision of float.

These are pi, in `radians`, `degrees`, `sinpi` and their kin, the logarithms in `exp10`, and those of the derivatives of
`exp2`, `log2`, `log10`, `radians` and `degrees`. They are changed inside of those functions only: a number of the
user's may be the float.
"""

from __future__ import annotations

import math
import re

_OF_SLANG = re.compile(
    r"^static (?:double|void) (?:double_getPi|exp10|_d_(?:exp2|log2|log10|radians|degrees))_\d+\([^)]*\)\n\{\n.*?^\}",
    re.MULTILINE | re.DOTALL,
)
_CONSTANTS = {
    "3.14159274101257324": math.pi,
    "0.69314718246459961": math.log(2.0),
    "2.30258512496948242": math.log(10.0),
    "57.29578018188476562": 180.0 / math.pi,
    "0.01745329238474369": math.pi / 180.0,
}
_CONSTANT = re.compile(rf"\b(?:{'|'.join(map(re.escape, _CONSTANTS))})(?![\df])")  # a float's ends in f


def with_double_constants(code: str) -> str:
    """The C++ that Slang wrote, with these constants in the precision of double."""

    def mended(function: re.Match[str]) -> str:
        return _CONSTANT.sub(lambda found: repr(_CONSTANTS[found[0]]), function[0])

    return _OF_SLANG.sub(mended, code)


TEXTS = (_OF_SLANG.pattern, *_CONSTANTS)
"""What decides the changes, for the keys of compiled libraries."""
