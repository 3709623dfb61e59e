"""Where a ``while`` loop ends that is the last line of another loop's body: as up to Python 3.11, it has one end.

From Python 3.12 on no jump back has a condition. So where the condition of an inner loop does not hold, one jump passes
another, which goes back to the outer loop, and each condition has such a jump of its own.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

_BACK, _IF, _TRUE, _FALSE = "JUMP_BACKWARD", "POP_JUMP_IF_", "TRUE", "FALSE"


def end_by_conditions(code: Sequence[Any]) -> None:
    """Makes of two jumps, past one that goes back and that one, a single one to the end of the inner loop."""
    ends = dict(_ends(code))
    for at, (jump, back) in enumerate(pairwise(code)):
        end = ends.get(id(back.target)) if back.opname == _BACK else None
        passes = jump.opname in (_IF + _TRUE, _IF + _FALSE) and at + 2 < len(code) and jump.target is code[at + 2]
        if end is not None and at + 1 < end and passes and not any(each.target is back for each in code):
            name = _IF + (_FALSE if jump.opname.endswith(_TRUE) else _TRUE)
            back.opname, back.opcode, back.target = name, dis.opmap[name], code[end]
            jump.opname, jump.opcode, jump.target, jump.arg, jump.argval = "NOP", dis.opmap["NOP"], None, None, None


def _ends(code: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """What loops that have another one at the end of their body go back to, by the id of the instruction; and where."""
    for at in range(2, len(code)):
        inner, back = code[at - 1], code[at]
        if inner.opname == back.opname == _BACK and inner.target is not back.target and code[at - 2].target is back:
            yield id(back.target), at
