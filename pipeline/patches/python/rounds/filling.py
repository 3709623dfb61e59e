"""Lists, sets and dicts of one name that grow in place by a method: they become other ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..assembly import assembler, of_pair
from ..loops.growing import taking_call
from ..loops.new_lists import is_own_list
from ..methods import filling


def filled_in_place(instructions: Sequence[Any]) -> Iterable[tuple[int, list[Any]]]:
    """What takes the place of ``items.extend(more)`` on a list of one name, which then is another one; by index."""
    make = assembler().create_instruction
    for at, each in enumerate(instructions):
        if each.opname not in ("LOAD_ATTR", "LOAD_METHOD") or each.argval not in _FILLING:
            continue
        call = taking_call(instructions, at)
        if call is None or not is_own_list(instructions, at):
            continue
        yield at, [make("NOP")]
        if instructions[call - 1].opname == "PRECALL":
            yield call - 1, [make("NOP")]
        yield call, of_pair(filling(each.argval))
        yield call + 1, [make("STORE_FAST", argval=instructions[at - 1].argval)]


_FILLING = ("extend", "update")
