"""Variables that functions inside know, too, as plain ones: analyses of loops and of choices follow those.

Python keeps such a variable in a cell. Where nothing stores it once a function inside has been made, or where that is
run at once, the cell need only have its value by then: so the code around uses a variable of its own, and fills the
cell just before.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from ..rounds.run_at_once import own, runs_at_once
from .flow import LocalFlow, stored_inside

_USES = ("MAKE_CELL", "LOAD_DEREF", "STORE_DEREF")
_CLOSES = ("LOAD_CLOSURE", "LOAD_FAST")
"""What hands a cell to a function inside: the second one in Python 3.13, where nothing else uses it on a cell."""
_SEES_VARIABLES = {"locals", "vars", "dir", "eval", "exec"}


def captured(code: CodeType, instructions: Sequence[Any]) -> list[str]:
    """The variables in cells that may be plain ones."""
    if _SEES_VARIABLES.intersection(code.co_names) or not any(_is_followed(each.opname) for each in instructions):
        return []
    flow = LocalFlow(instructions)
    return [name for name in code.co_cellvars if _is_plain(name, code, flow)]


def _is_followed(name: str) -> bool:
    return name == "FOR_ITER" or ("JUMP" in name and "_IF_" in name)


def _is_plain(name: str, code: CodeType, flow: LocalFlow) -> bool:
    uses = [at for at, each in enumerate(flow.instructions) if each.argval == name and each.opcode in _OF_VARIABLES]
    closes = [at for at in uses if flow.instructions[at].opname in _CLOSES]
    known = all(at in closes or flow.instructions[at].opname in _USES for at in uses)
    if not known or stored_inside(code, {name}):
        return False
    if name in code.co_varnames:  # an argument, which is copied at the beginning
        lacks = any(each.target is flow.instructions[0] for each in flow.instructions)
    else:
        lacks = any(flow.may_lack(name, at) for at in closes)
    return not lacks and not any(flow.stores_later(at, name) and not _is_run_at_once(flow, at) for at in closes)


def _is_run_at_once(flow: LocalFlow, at: int) -> bool:
    """Whether the function is run at once that gets the cell which an instruction loads: it sees what is in it then."""
    made = range(at, len(flow.instructions))
    code = next((place for place in made if isinstance(flow.instructions[place].argval, CodeType)), 0)
    return bool(code) and runs_at_once(flow.instructions, code)


_OF_VARIABLES = {*dis.haslocal, *dis.hasfree}


def uncaptured(
    instructions: Sequence[Any], names: Sequence[str], code: CodeType, make: Callable[..., Any]
) -> list[list[Any]]:
    """For each instruction those that take its place where variables in cells become plain ones."""
    arguments = [name for name in names if name in code.co_varnames]
    found = [
        _uncaptured(each, arguments, make) if each.opcode in _OF_VARIABLES and each.argval in names else [each]
        for each in instructions  # a constant may be a text like the name
    ]
    if not any(each.opname == "MAKE_CELL" for each in instructions):  # Python 3.10 makes the cells before it begins
        found[0] = [*(more for name in arguments for more in _copied(name, make)), *found[0]]
    return found


def _uncaptured(each: Any, arguments: Sequence[str], make: Callable[..., Any]) -> list[Any]:
    if each.opname in ("LOAD_DEREF", "STORE_DEREF"):
        return [make(each.opname.replace("DEREF", "FAST"), argval=own(each.argval))]
    if each.opname in _CLOSES:
        return [make("LOAD_FAST", argval=own(each.argval)), make("STORE_DEREF", argval=each.argval), each]
    return [each, *_copied(each.argval, make)] if each.argval in arguments else [each]


def _copied(argument: str, make: Callable[..., Any]) -> list[Any]:
    return [make("LOAD_DEREF", argval=argument), make("STORE_FAST", argval=own(argument))]
