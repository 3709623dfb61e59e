"""Variables that functions inside know, too, as plain ones: analyses of loops follow those.

Python keeps such a variable in a cell. Where nothing stores it once a function inside has been made, the cell need only
have its value by then: so the code around uses a variable of its own, and fills the cell just before.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from .flow import LocalFlow, stored_inside

_USES = ("MAKE_CELL", "LOAD_DEREF", "STORE_DEREF")
_CLOSES = ("LOAD_CLOSURE", "LOAD_FAST")
"""What hands a cell to a function inside: the second one in Python 3.13, where nothing else uses it on a cell."""
_SEES_VARIABLES = {"locals", "vars", "dir", "eval", "exec"}


def captured(code: CodeType, instructions: Sequence[Any]) -> list[str]:
    """The variables in cells that may be plain ones."""
    if _SEES_VARIABLES.intersection(code.co_names) or not any(each.opname == "FOR_ITER" for each in instructions):
        return []
    flow = LocalFlow(instructions)
    return [name for name in code.co_cellvars if name not in code.co_varnames and _is_plain(name, code, flow)]


def _is_plain(name: str, code: CodeType, flow: LocalFlow) -> bool:
    uses = [at for at, each in enumerate(flow.instructions) if each.argval == name and each.opcode in _OF_VARIABLES]
    closes = [at for at in uses if flow.instructions[at].opname in _CLOSES]
    known = all(at in closes or flow.instructions[at].opname in _USES for at in uses)
    if not known or stored_inside(code, {name}) or any(flow.may_lack(name, at) for at in closes):
        return False
    return not any(flow.stores_later(at, name) for at in closes)


_OF_VARIABLES = {*dis.haslocal, *dis.hasfree}


def own(name: str) -> str:
    """The plain variable of one in a cell."""
    return f"{name} of its own"


def uncaptured(instructions: Sequence[Any], names: Sequence[str], make: Callable[..., Any]) -> list[list[Any]]:
    """For each instruction those that take its place where variables in cells become plain ones."""
    return [_uncaptured(each, make) if each.argval in names else [each] for each in instructions]


def _uncaptured(each: Any, make: Callable[..., Any]) -> list[Any]:
    if each.opname in ("LOAD_DEREF", "STORE_DEREF"):
        return [make(each.opname.replace("DEREF", "FAST"), argval=own(each.argval))]
    if each.opname in _CLOSES:
        return [make("LOAD_FAST", argval=own(each.argval)), make("STORE_DEREF", argval=each.argval), each]
    return [each]
