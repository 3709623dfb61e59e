"""Recordings of functions that are written anew, where their branches hold for the way of the example only.

The first recording says on which lines that is. Another one runs the function with these choices and loops as calls of
`cond` and `while_loop`, which record both ways. It is kept where it holds for more: the replay has held it against the
function as it was written. A choice for which there is no such recording, as where a side fails on the example, keeps
its guard.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product, zip_longest
from pathlib import PurePath
from types import FunctionType
from typing import Any

from ..ops.graph.errors import RecordError, add_place
from ..ops.graph.graph import Graph, Guard, SourceLine
from ..ops.graph.traverse import subgraphs, walk
from ..ops.graph.types import TensorType
from ..ops.runtime.user_code import attribute, user_stacklevel
from .attempts import GivenUp
from .lists.fixed import telling
from .patches.plain_code.calling import NOT_PLAIN
from .patches.plain_code.regions import Region
from .patches.source.written_anew import choices_of, is_block, written_anew
from .pipeline import Pipeline
from .proxies.branches import HANDED, LIBRARY_BRANCH, PINNED, RAISING_BRANCH
from .recheck.mismatch import NO_INPUT, OF_MOMENT
from .recheck.reach.objects import Objects
from .rules.advice.before_calls import drawn_before
from .rules.advice.refused_choices import cause_of, unfollowed

MOST_REWRITTEN = 10
"""Recordings of functions that are written anew."""

Line = tuple[str, int]
"""The path of a file, and a number in it."""
_PLACE = re.compile(r"(?:^|called by )([^:]+):(\d+) in ")
_OTHERWISE = (LIBRARY_BRANCH, RAISING_BRANCH)
_OF_BLOCKS = (PINNED, "the list is empty")
"""How the reasons of guards begin which a block of plain Python needs not."""
_OF_BRANCHES = ("branch", "it was compared", "asks whether there is a match", "gives None for a key that is missing")


_OF_CONTROL = ("cond: ", "while_loop: ", "a branch ", "a choice ")
"""How refusals of what is recorded both ways begin."""


@dataclass
class Attempted:
    """What one call of `attempt` gave.

    Attributes:
        found: the pipeline.
        lines: what is to be said of lengths that it fixes.
        earlier: what was given up for it.
        causes: why choices hold for one way, by the places of their lines: ``"file.py:3"``.
    """

    found: Pipeline
    lines: list[str]
    earlier: GivenUp
    causes: dict[str, str] = field(default_factory=dict)

    def told(self) -> Pipeline:
        """The pipeline, after all was said that is to be said of it."""
        for text in dict.fromkeys(self.earlier.notes):
            warnings.warn(text, stacklevel=user_stacklevel())
        return telling(self.found, self.lines, self.earlier.refused, self.earlier.mixed, self.causes)

    def guards(self) -> list[int]:
        """How many conditions each run checks, then how many those do that take one way, and so on inside of that."""
        outer, *inner = _guards(self.found.graph)
        return [outer + len(self.lines), *inner]

    def sizes(self) -> int:
        """How many sizes of inputs are fixed."""
        types = [value.type for value in self.found.graph.inputs if isinstance(value.type, TensorType)]
        return sum(isinstance(size, int) for found in types for size in found.shape)


def with_choices_anew(process: Callable[..., Any], attempt: Callable[[list[Any]], Attempted]) -> Attempted:
    """What an attempt gives, or one in which the function is written anew, where that holds for more.

    Args:
        process: the user's function.
        attempt: records it, and is given earlier recordings with which the pipeline has to agree.
    """
    best: Attempted | None = None
    problem: Exception | None = None
    try:
        best = attempt([])
    except RecordError as error:
        problem = error
    asked, causes, lines = _asked(best, problem), dict[str, str](), set[Line]()
    if asked:
        search = _Search(process, attempt, best)
        best, causes, lines = search.result(asked), search.causes, search.taken
    blocks = _Blocks(process, attempt, best, lines)
    best = blocks.result(_places(problem) if best is None else _fixing(best))
    problem = blocks.problem or problem
    if best is None:
        assert problem is not None
        raise _explained(process, problem, causes)
    best.causes = causes
    return best


def _explained(process: Callable[..., Any], problem: Exception, causes: dict[str, str]) -> Exception:
    """A refusal with a form that holds: of a choice the reason why it cannot go both ways, of a function what it draws.

    Args:
        process: the user's function.
        problem: the refusal.
        causes: the reasons, by the places of the choices.
    """
    place = next((f"{name}:{number}" for name, number in _PLACE.findall(getattr(problem, "where", ""))), "")
    if isinstance(problem, RecordError) and place in causes:
        problem.fix = f"{causes[place]}."
        add_place(problem, "")
    elif getattr(problem, "fix", "") in (NO_INPUT, OF_MOMENT) and (form := drawn_before(_functions(process))):
        assert isinstance(problem, RecordError)
        problem.fix = f"{form}."
        add_place(problem, "")
    return problem


class _Search:
    """Attempts with more and more lines.

    Args:
        process: the user's function.
        attempt: as above.
        best: the first attempt, if it gave a pipeline.
    """

    def __init__(
        self, process: Callable[..., Any], attempt: Callable[[list[Any]], Attempted], best: Attempted | None
    ) -> None:
        self.attempt, self.best = attempt, best
        self.functions = list(_functions(process))
        self.taken, self.failed, self.left = set[Line](), set[Line](), MOST_REWRITTEN
        self.causes = dict[str, str]()
        self.further = set[tuple[str, int]]()  # lines that are refused after those taken, where no attempt went through

    def result(self, asked: set[tuple[str, int]]) -> Attempted | None:
        """The best attempt.

        Args:
            asked: names of files without folders, and numbers: the lines of branches that hold for one way.
        """
        while more := self._lines(asked) - self.taken - self.failed:
            found = self._together(more)
            for line in sorted(more) if found is None and len(more) > 1 else []:
                if line not in self.failed:
                    found = self._together({line}) or found
            if found is None and not self.further:
                break
            asked, self.further = (_asked(found, None), set()) if found is not None else (self.further, set())
        return self.best

    def _together(self, more: set[Line]) -> Attempted | None:
        """An attempt with some more lines; None where it fails, or holds for no more than the best one."""
        self.left -= 1
        if self.left < 0:
            return None
        lines, found, problem = self.taken | more, None, None
        earlier = [] if self.best is None else [*self.best.earlier, self.best.found]
        with written_anew(self.functions, lines):
            try:
                found = self.attempt(earlier)
            except Exception as error:
                problem = error
        if found is not None and (self.best is None or _is_better(found, self.best)):
            self.best, self.taken = found, lines
            return found
        further = _asked(None, problem) if self.best is None and problem is not None else set()
        if self._lines(further) - lines - self.failed:
            self.taken, self.further = lines, further
            return None
        self._explain(more, problem or found)
        refused = problem or (found.earlier.refused if found is not None else None)
        if inner := self._lines(_of_branch(refused)) - lines - self.failed:
            return self._together(more | inner)  # the sides branch, too
        self.failed |= {
            line for line in more if len(more) == 1 or (PurePath(line[0]).name, line[1]) in _places(problem)
        }
        return None

    def _explain(self, lines: set[Line], refused: Any) -> None:
        """Takes note of why choices on some lines cannot go both ways: of what was refused on one of them."""
        recorded = refused if isinstance(refused, Attempted) else None
        given_up = (refused,) if recorded is None else (recorded.earlier.refused, recorded.earlier.of_lists)
        errors = [each for each in given_up if isinstance(each, RecordError)]
        for path, number in lines:
            line = SourceLine(PurePath(path).name, number, "", linecache.getline(path, number).strip())
            for error in errors:
                own = (line.file, number) in _places(error)
                if own or (error.what.startswith(_OF_CONTROL) and len(lines) == 1):
                    self.causes.setdefault(f"{line.file}:{number}", cause_of(error, line))
            if recorded is not None and not errors:
                reasons = _reasons(recorded.found.graph, (line.file, number))
                if cause := next((text for why, text in unfollowed(line) if reasons & {why}), ""):
                    self.causes.setdefault(f"{line.file}:{number}", cause)

    def _lines(self, asked: set[tuple[str, int]]) -> set[Line]:
        found = set[Line]()
        for function in self.functions:
            path = function.__code__.co_filename
            numbers = {number for name, number in asked if name == PurePath(path).name}
            found |= {(path, number) for number in choices_of(function, numbers)}
        return found


MOST_BLOCKS = 12
"""Recordings with blocks of plain Python."""
MOST_LOOPS = 2
"""Loops before a statement that may belong to its block."""


class _Blocks:
    """Attempts in which statements that no recording follows are blocks of plain Python.

    Args:
        process: the user's function.
        attempt: as above.
        best: what was found without, if anything was.
        lines: the choices and loops that are written anew in that.
    """

    def __init__(
        self,
        process: Callable[..., Any],
        attempt: Callable[[list[Any]], Attempted],
        best: Attempted | None,
        lines: set[Line],
    ) -> None:
        self.attempt, self.best, self.lines = attempt, best, lines
        self.functions = list(_functions(process))
        self.left, self.own = MOST_BLOCKS, {*self.functions[:1]}
        self.problem: Exception | None = None  # state, which no block can have either

    def result(self, places: set[tuple[str, int]]) -> Attempted | None:
        """The best attempt.

        Args:
            places: the lines that are refused, or fix something.
        """
        taken: list[Region] = []
        while places:
            further = next(filter(None, (self._with(taken, region) for region in self._regions(places))), None)
            if further is None:
                break
            taken, places = further
        return self.best

    def _with(self, taken: list[Region], region: Region) -> tuple[list[Region], set[tuple[str, int]]] | None:
        """What an attempt with one more block leaves to be done; None where it fails at that."""
        self.left -= 1
        if self.left < 0:
            return None
        blocks, earlier = [*taken, region], []
        if self.best is not None:
            earlier = [*self.best.earlier, self.best.found]
        with written_anew(self.functions, self.lines, blocks):
            try:
                found = self.attempt(earlier)
            except Exception as error:
                if self.best is not None or NOT_PLAIN in str(error):
                    return None
                self.problem = error if NO_INPUT in str(error) else self.problem
                beyond = _places(error) - {(PurePath(region.path).name, region.line)}
                return (blocks, beyond) if beyond and taken == [] else None
        if self.best is not None and not _is_better(found, self.best):
            return None
        self.best = found
        return blocks, _fixing(found)

    def _regions(self, places: set[tuple[str, int]]) -> Iterator[Region]:
        for function in self.functions:
            path, traced = function.__code__.co_filename, function in self.own
            lines = sorted(number for name, number in places if name == PurePath(path).name)
            for line, rest, loops in product(lines, (True, False), range(1 + MOST_LOOPS)):
                region = Region(path, line, rest, traced and rest, loops)
                if is_block(function, region):
                    yield region


def _is_better(found: Attempted, before: Attempted) -> bool:
    return found.guards() < before.guards() and found.sizes() <= before.sizes()


def _guards(graph: Graph) -> list[int]:
    count = sum(isinstance(node.target, Guard) for node in graph.nodes)
    inner = [_guards(each) for node in graph.nodes for each in subgraphs(node)]
    return [count, *map(sum, zip_longest(*inner, fillvalue=0))]


def _functions(process: Callable[..., Any]) -> Iterator[FunctionType]:
    """The user's functions that a function can reach, itself among them."""
    own = attribute(process, "__func__", process)
    found = [own, type(process).__call__, *Objects(process).functions]
    yield from dict.fromkeys(each for each in found if isinstance(each, FunctionType))


def _asked(attempted: Attempted | None, problem: Exception | None) -> set[tuple[str, int]]:
    """The lines whose branches hold for one way, or are refused."""
    if attempted is None:
        return _of_branch(problem)
    given_up = attempted.earlier.refused, attempted.earlier.of_lists
    return set(_guarded(attempted.found.graph)).union(*map(_of_branch, given_up))


def _fixing(attempted: Attempted) -> set[tuple[str, int]]:
    """The lines on which a recording holds for one way, or fixes a length."""
    begun = [match for match in map(_PLACE.match, [*attempted.lines, *attempted.earlier.notes]) if match]
    given_up = attempted.earlier.refused, attempted.earlier.of_lists
    guarded = set(_guarded(attempted.found.graph, pins_only=True)).union(*map(_of_branch, given_up))
    return guarded | {(match[1], int(match[2])) for match in begun}


def _of_branch(problem: Exception | None) -> set[tuple[str, int]]:
    """The lines that a refusal names, where it is one of a branch: that of the branch, and those of its callers."""
    return _places(problem) if any(why in str(problem) for why in _OF_BRANCHES) else set()


def _guarded(graph: Graph, pins_only: bool = False) -> Iterator[tuple[str, int]]:
    """The lines of guards; of those alone that fix a value, where Python's own errors are to be left out."""
    for node in walk(graph):
        if not isinstance(node.target, Guard) or node.line is None or node.target.reason.endswith(_OTHERWISE):
            continue
        if not pins_only or (node.target.reason.startswith(_OF_BLOCKS) and node.target.reason != HANDED):
            yield node.line.file, node.line.line


def _reasons(graph: Graph, place: tuple[str, int]) -> set[str]:
    """Why a graph fixes something on a line."""
    nodes = [node for node in walk(graph) if isinstance(node.target, Guard) and node.line is not None]
    found = [node for node in nodes if node.line is not None and (node.line.file, node.line.line) == place]
    return {node.target.reason.rpartition("because ")[2] for node in found if isinstance(node.target, Guard)}


def _places(problem: Exception | None) -> set[tuple[str, int]]:
    where = getattr(problem, "where", "")
    return {(name, int(number)) for name, number in _PLACE.findall(where)}
