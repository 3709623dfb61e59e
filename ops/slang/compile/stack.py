"""How much a kernel keeps on its stack: a gradient keeps there what each round of a loop computed.

A thread has 8 MB by default; a kernel that takes more ends the process, so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from ..language.errors import SlangCompileError

_ARRAY = re.compile(r"^\s*((?:FixedArray<\s*)+)([\w<>, ]*?)\s*((?:,\s*\d+\s*>\s*)+)\s*\w+;", re.MULTILINE)
_BYTES = {"double": 8, "int64_t": 8, "uint64_t": 8, "half": 2, "bool": 1}
_LIMIT = 2 << 20
"""Bytes in all arrays; the compiler may hold some of them two or three times."""


def _sizes(code: str) -> Iterator[int]:
    for match in _ARRAY.finditer(code):
        counts = [int(count) for count in re.findall(r"\d+", match[3])]
        yield prod(counts) * _BYTES.get(match[2].rpartition("<")[2].strip(), 4)


def check_stack(code: str, where: str) -> None:
    """Refuses C++ whose arrays would not fit on a thread's stack.

    Raises:
        SlangCompileError: they would not.
    """
    total = sum(_sizes(code))
    if total > _LIMIT:
        raise SlangCompileError(
            f"the gradient of {where} would keep {total >> 10} KB on the stack, and {_LIMIT >> 10} KB fit",
            fix="Write [MaxIters(n)] before each loop, nested ones too, with n the most rounds that it runs.",
        )
