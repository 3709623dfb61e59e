"""Matches of patterns for each item of a list: of code that asks whether there is one, and of code that needs it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded


def by_name(log):
    counts, words = Counter(), 0
    for line in log.split("\n"):
        match = re.match(r"(\w+): (.*)", line)
        counts[match.group(1)] += 1
        words += len(match.group(2).split())
    return {"by": dict(counts), "words": words}


def named(lines):
    names = []
    for line in lines:
        match = re.match(r"(\w+):", line)
        names.append(match[1] if match else "none")
    return names


LINES = (["ann: hi there", "bob: yo"],), [(["x: one"],), ([],), (["q: b", "z: c d", "q: e"],)]
CASES = {
    "a group": Case(lambda lines: [re.match(r"(\w+): (.*)", line).group(2) for line in lines], *LINES),
    "a subscript": Case(lambda lines: [re.fullmatch(r"(\w+): .*", line)[1] for line in lines], *LINES),
    "counted": Case(by_name, ("ann: hi there\nbob: yo",), [("x: one",), ("q: b\nz: c d\nq: e",)]),
    "asked": Case(named, (["ann: hi", "nobody"],), [(["nobody"],), (["x: y"] * 3,)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("error")
def test_matches_in_loops(name) -> None:
    check(CASES[name])


def test_an_item_without_the_match_that_the_code_goes_on_by_is_an_error_of_the_run() -> None:
    mod = loaded(*(CASES["a group"].process, *CASES["a group"].example))
    with pytest.raises(tracepack.TracepackError, match="the pattern does not match; got no match; expected a match"):
        mod(["ann: hi", "nobody"])


AT = re.compile("^a|b")


@pytest.mark.parametrize(
    "process",
    [
        lambda text: bool(AT.search(text, 1)),
        lambda text: bool(AT.fullmatch(text, 0, 1)),
        lambda text: AT.findall(text, pos=1),
        lambda text: [found.start() for found in AT.finditer(string=text, endpos=2)],
    ],
)
def test_a_pattern_that_begins_or_ends_at_a_place_is_refused(process) -> None:
    # none of them finds anything in the example, with or without its places
    with pytest.raises(tracepack.RecordError, match="of a pattern with a place where it begins or ends cannot be"):
        tracepack.trace(process, "xx")
