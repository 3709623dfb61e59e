"""Tests for None of what a call gave, ``re.search(pattern, text) is not None``: they ask for the truth of a match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...proxies.scalars import TracedBool
from .operations import HandedOver, active


def _tested(wanted: bool) -> HandedOver:
    def test(thing: Any) -> Any:
        recorder = active()
        if recorder is None or type(thing) is not TracedBool or not thing.matched:
            return (thing is not None) is wanted
        return thing if wanted else recorder.scalar("not_", thing)

    return HandedOver(test, asks_truth=True)


NONE_TESTS = (_tested(False), _tested(True))
"""What stands for ``is None`` and for ``is not None``."""


def tests_call(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction compares what a call gave with None by identity."""
    if not 2 <= index < len(instructions) or instructions[index].opname != "IS_OP":
        return False
    called, load = instructions[index - 2 : index]
    return load.opname == "LOAD_CONST" and load.argval is None and called.opname.startswith("CALL")
