"""How code reads an array of numpy: by a tensor over its memory, which is live, or by items, which are constants."""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator
from types import CodeType

from ...ops.runtime.user_code import codes_in

_LIVE = frozenset(("from_numpy", "as_tensor", "frombuffer", "from_dlpack"))
_KINDS = frozenset(("shape", "ndim", "dtype", "size", "nbytes", "strides", "itemsize"))
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_CLOSURE")


def reads_items(codes: Iterable[CodeType], names: Collection[str]) -> bool:
    """Whether some code may read the items of an array otherwise than through a tensor over its memory.

    Args:
        codes: the code.
        names: those under which the array is kept: of globals, variables, attributes and keys.
    """
    return any(_reads(inner, names) for code in codes for inner in codes_in(code))


def _reads(code: CodeType, names: Collection[str]) -> bool:
    lines = [line for line in dis.get_instructions(code) if line.opname not in ("EXTENDED_ARG", "CACHE", "PUSH_NULL")]
    live = {place for each in _spans(lines) for place in each}
    waiting = [at for at, line in enumerate(lines) if _is_load(lines, at, line) and line.argval in names]
    own = set[str]()
    while waiting:
        at = waiting.pop()
        after = lines[at + 1] if at + 1 < len(lines) else lines[at]
        by_key = lines[at].opname == "LOAD_CONST" and after.opname.startswith("BINARY_SUBSCR")
        after = lines[at + 2] if by_key else after
        if after.opname == "STORE_FAST" and after.argval not in own:
            own.add(after.argval)
            waiting += [p for p, line in enumerate(lines) if line.opname == "LOAD_FAST" and line.argval == after.argval]
        elif at not in live and after.opname != "STORE_FAST" and after.argval not in _KINDS:
            return True
    return False


def _spans(lines: list[dis.Instruction]) -> Iterator[range]:
    """The instructions that give what a tensor is made over."""
    for at, line in enumerate(lines):
        if line.argval in _LIVE and line.opname.startswith("LOAD_"):
            ends = (end for end in range(at, len(lines)) if lines[end].opname.startswith("CALL"))
            yield range(at, next(ends, at))


def _is_load(lines: list[dis.Instruction], at: int, line: dis.Instruction) -> bool:
    """Whether an instruction gets something by a name, or by a key that is a text."""
    if line.opname == "LOAD_CONST":
        return isinstance(line.argval, str) and at + 1 < len(lines) and lines[at + 1].opname == "BINARY_SUBSCR"
    return line.opname in _LOADS
