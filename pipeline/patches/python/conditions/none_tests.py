"""Tests for None: of a match, ``re.search(pattern, text) is not None``, and of what may be None as data decides."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType
from typing import Any

from ....proxies.make import TracedOptional
from ....proxies.scalars import TracedBool
from ....proxies.values.maybe import MaybeThing
from ..assembly import assembler, constant, rewritten
from ..operations import HandedOver, active


def _tested(wanted: bool) -> HandedOver:
    def test(thing: Any) -> Any:
        recorder = active()
        if recorder is not None and type(thing) is MaybeThing:
            return thing != None if wanted else thing.is_none()  # noqa: E711  # it is recorded
        if recorder is not None and type(thing) is TracedOptional:
            return recorder.scalar("ne" if wanted else "eq", thing, None)
        if recorder is None or type(thing) is not TracedBool or not thing.matched:
            return (thing is not None) is wanted
        return thing if wanted else recorder.scalar("not_", thing)

    found = HandedOver(test, asks_truth=True)
    found.of_none = not wanted
    return found


NONE_TESTS = (_tested(False), _tested(True))
"""What stands for ``is None`` and for ``is not None``."""


def tests_none(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction compares what is on the stack with None by identity."""
    if not 2 <= index < len(instructions) or instructions[index].opname != "IS_OP":
        return False
    load = instructions[index - 1]
    return load.opname == "LOAD_CONST" and load.argval is None


def with_plain_tests(code: CodeType) -> CodeType:
    """The code with a comparison and a jump for each jump of Python 3.11 that does both; the same without any."""
    if not any(_jumps(each) for each in dis.get_instructions(code)):
        return code
    return rewritten(code, lambda instructions: [_plain(each) if _jumps(each) else [each] for each in instructions])


def _jumps(each: Any) -> bool:
    return str(each.opname).startswith("POP_JUMP_") and str(each.opname).endswith("_NONE")


def _plain(jump: Any) -> list[Any]:
    make = assembler().create_instruction
    name = jump.opname.replace("_NOT_NONE", "_FALSE").replace("_NONE", "_TRUE")
    return [constant(None), make("IS_OP", arg=0), make(name, target=jump.target)]
