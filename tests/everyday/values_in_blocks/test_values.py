"""Blocks reckon with decimals, dates, digests and objects from outside as Python does."""

from __future__ import annotations

import decimal

import pytest

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.values_in_blocks import functions

CASES = {
    "dates": Case(functions.due, [["2023-12-29", "x", "2024-05-03"]], [[[]], [["2024-12-23"]], [["2024-02-30", "b"]]]),
    "decimals": Case(
        functions.money,
        [["a=1.10", "b=x", "c=2"], "de"],
        [[[], "at"], [["q=1e5", "z=NaN", "y=-0.005"], "xx"], [["q=0.125", "y=1_0"], "at"]],
    ),
    "digests": Case(functions.shards, [["a", "b", "c"], 4], [[[], 2], [["ü" * 5, "q"], 3], [list("abcdef"), 5]]),
    "frozen dataclasses in a table": Case(
        functions.moderate,
        [["an IDIOT, idiot", "kill you", "HELLOOO", "fine"], 0],
        [[[], 1], [["Kill You"], 2], [["moron moron moron moron", "AAAAAA"], 0]],
        trust=True,
    ),
    "objects in a set": Case(functions.walk, [["r", "l", "u", "a"]], [[[]], [list("urlrb")], [list("rrllaa")]]),
    "objects in lists in a dict": Case(functions.language, ["The Dog!"], [[""], ["der Hund"], ["123"], ["xyz haus"]]),
    "fields with names of builtins": Case(functions.items, [["a:5", "b", "c:9"]], [[[]], [["x", "y:1", "z:0"]]]),
    "flags in a variable": Case(
        functions.with_flags, [["abc B", "xX1XbB"], True], [[[], True], [["ABcXx"], False], [["ABcXx b"], True]]
    ),
    "by way of three helpers": Case(functions.route, [["u1", "qa", "b"]], [[[]], [["x"]], [list("abcdefghijkl")]]),
}


@pytest.mark.filterwarnings("ignore:.*passed as positional argument:DeprecationWarning")  # re's, from 3.13 on
@pytest.mark.parametrize("name", CASES)
def test_a_block_reckons_as_python_does(name):
    check(CASES[name])


def test_a_block_does_not_change_an_object_from_outside():
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(functions.changes_what_is_outside, ["a", "b", "a"])


def test_decimals_in_another_context_are_no_block():
    with decimal.localcontext() as context:
        context.prec = 5
        with pytest.raises(tracepack.RecordError):
            tracepack.trace(functions.money, ["a=1.10", "b=x", "c=2"], "de")
