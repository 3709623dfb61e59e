"""The lines on which a recording holds for one way, fixes something, or is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ...ops.graph.graph import Graph, Guard
from ...ops.graph.traverse import walk
from ...ops.runtime.user_code import attribute
from ..proxies.branches import HANDED, LIBRARY_BRANCH, PINNED, RAISING_BRANCH
from ..recheck.reach.objects import Objects
from .attempted import Attempted

Line = tuple[str, int]
"""The path of a file, and a number in it."""
PLACE = re.compile(r"(?:^|called by )([^:]+):(\d+) in ")
_OTHERWISE = (LIBRARY_BRANCH, RAISING_BRANCH)
_OF_BLOCKS = (PINNED, "the list is empty")
"""How the reasons of guards begin which a block of plain Python needs not."""
_OF_BRANCHES = ("branch", "it was compared", "asks whether there is a match", "gives None for a key that is missing")


def functions_of(process: Callable[..., Any]) -> Iterator[FunctionType]:
    """The user's functions that a function can reach, itself among them."""
    own = attribute(process, "__func__", process)
    found = [own, type(process).__call__, *Objects(process).functions]
    yield from dict.fromkeys(each for each in found if isinstance(each, FunctionType))


def asked_in(attempted: Attempted | None, problem: Exception | None) -> set[tuple[str, int]]:
    """The lines whose branches hold for one way, or are refused."""
    if attempted is None:
        return of_branch(problem)
    given_up = attempted.earlier.refused, attempted.earlier.of_lists
    return set(_guarded(attempted.found.graph)).union(*map(of_branch, given_up))


def fixing(attempted: Attempted) -> set[tuple[str, int]]:
    """The lines on which a recording holds for one way, or fixes a length."""
    begun = [
        match for match in map(PLACE.match, [*attempted.lines, *attempted.earlier.notes, *attempted.caught()]) if match
    ]
    given_up = attempted.earlier.refused, attempted.earlier.of_lists
    guarded = set(_guarded(attempted.found.graph, pins_only=True)).union(*map(of_branch, given_up))
    return guarded | {(match[1], int(match[2])) for match in begun}


def of_branch(problem: Exception | None) -> set[tuple[str, int]]:
    """The lines that a refusal names, where it is one of a branch: that of the branch, and those of its callers."""
    return places_in(problem) if any(why in str(problem) for why in _OF_BRANCHES) else set()


def _guarded(graph: Graph, pins_only: bool = False) -> Iterator[tuple[str, int]]:
    """The lines of guards; of those alone that fix a value, where Python's own errors are to be left out."""
    for node in walk(graph):
        if not isinstance(node.target, Guard) or node.line is None or node.target.reason.endswith(_OTHERWISE):
            continue
        if not pins_only or (node.target.reason.startswith(_OF_BLOCKS) and node.target.reason != HANDED):
            yield node.line.file, node.line.line


def reasons_on(graph: Graph, place: tuple[str, int]) -> set[str]:
    """Why a graph fixes something on a line."""
    nodes = [node for node in walk(graph) if isinstance(node.target, Guard) and node.line is not None]
    found = [node for node in nodes if node.line is not None and (node.line.file, node.line.line) == place]
    return {node.target.reason.rpartition("because ")[2] for node in found if isinstance(node.target, Guard)}


def places_in(problem: Exception | None) -> set[tuple[str, int]]:
    """The files and lines that an error names."""
    where = getattr(problem, "where", "")
    return {(name, int(number)) for name, number in PLACE.findall(where)}
