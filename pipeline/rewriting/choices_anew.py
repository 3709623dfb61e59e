"""Recordings of functions that are written anew, where their branches hold for the way of the example only.

The first recording says on which lines that is. Another one runs the function with these choices and loops as calls of
`cond` and `while_loop`, which record both ways. It is kept where it holds for more: the replay has held it against the
function as it was written. A choice for which there is no such recording, as where a side fails on the example, keeps
its guard.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from types import CellType
from typing import Any

import torch

from ...ops.graph.errors import GuardError, RecordError, add_place
from ...ops.graph.graph import SourceLine
from ..patches.plain_code.called_models import CALLS
from ..patches.source.written_anew import choices_of, written_anew
from ..recheck.mismatch import NO_INPUT, OF_MOMENT, UNSEEN
from ..recheck.reach.spared.spared_things import Spared
from ..recording.leaves.long_loops import said_once
from ..rules.advice.before_calls import drawn_before
from ..rules.advice.refused_choices import cause_of, unfollowed
from .asked_lines import PLACE, Line, asked_in, fixing, functions_of, of_branch, places_in, reasons_on
from .attempted import Attempted, is_better
from .blocks import Blocks
from .listed_generators import with_lists
from .shared_things import tells_shared

MOST_REWRITTEN = 10
"""Recordings of functions that are written anew."""
_AS_OP = "Make an op of the model before, model = tracepack.script(model): a loop around it takes any number of rounds"
_OF_CONTROL = ("cond: ", "while_loop: ", "a branch ", "a choice ")
"""How refusals of what is recorded both ways begin."""


def with_choices_anew(process: Callable[..., Any], attempt: Callable[[list[Any]], Attempted]) -> Attempted:
    """What an attempt gives, or one in which the function is written anew, where that holds for more.

    What its calls would use up is the user's.

    Args:
        process: the user's function.
        attempt: records it, and is given earlier recordings with which the pipeline has to agree.
    """
    with Spared(process) as spared, said_once():
        try:
            return _found(process, attempt)
        except RecordError as error:
            spared.tell(error)
            raise


def _found(process: Callable[..., Any], attempt: Callable[[list[Any]], Attempted]) -> Attempted:
    """What the attempts give; where generators of the user's fix something, also with them as lists."""
    best: Attempted | None = None
    problem: Exception | None = None
    try:
        best = _searched(process, attempt)
    except (RecordError, GuardError) as error:
        problem = error
    best = with_lists(process, partial(_searched, process), attempt, best) or best
    if best is None:
        assert problem is not None
        raise problem
    return best


def _searched(process: Callable[..., Any], attempt: Callable[[list[Any]], Attempted]) -> Attempted:
    best: Attempted | None = None
    problem: Exception | None = None
    try:
        best = attempt([])
    except (RecordError, GuardError) as error:
        problem = error
    asked, causes, lines = asked_in(best, problem), dict[str, str](), set[Line]()
    if asked:
        search = _Search(process, attempt, best)
        best, causes, lines = search.result(asked), search.causes, search.taken
    blocks = Blocks(process, attempt, best, lines)
    best = blocks.result(places_in(problem) if best is None else fixing(best))
    problem = blocks.problem or problem
    if best is None:
        assert problem is not None
        if isinstance(problem, RecordError) and tells_shared(blocks.functions, problem, blocks.unowned):
            raise problem
        raise _explained(process, problem, causes, blocks.reason)
    best.causes, best.of_model = causes, _AS_OP if any(map(_calls_model, functions_of(process))) else ""
    return best


def _calls_model(function: Any) -> bool:
    """Whether the code of a function knows a model of torch that is no op."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    known = [function.__globals__.get(name) for name in function.__code__.co_names]
    return any(isinstance(each, torch.nn.Module) for each in (*cells, *known))


def _explained(process: Callable[..., Any], problem: Exception, causes: dict[str, str], of_model: str) -> Exception:
    """A refusal with a form that holds: of a choice the reason why it cannot go both ways, of a function what it draws.

    Args:
        process: the user's function.
        problem: the refusal.
        causes: the reasons, by the places of the choices.
        of_model: why a model cannot be called in a block; empty where none is.
    """
    if isinstance(problem, RecordError) and of_model and problem.fix not in (NO_INPUT, OF_MOMENT):
        problem.fix = f"It cannot be a block of plain Python: {of_model}" if of_model.startswith(CALLS) else of_model
        add_place(problem, "")
        return problem
    place = next((f"{name}:{number}" for name, number in PLACE.findall(getattr(problem, "where", ""))), "")
    if isinstance(problem, RecordError) and place in causes:
        problem.fix = f"{causes[place]}."
        add_place(problem, "")
    elif isinstance(problem, RecordError) and problem.fix in (NO_INPUT, OF_MOMENT, UNSEEN):
        form, line = drawn_before(functions_of(process))
        problem.fix = f"{form}." if form else problem.fix
        problem.where = problem.where or str(line or "")
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
        self.functions = list(functions_of(process))
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
            asked, self.further = (asked_in(found, None), set()) if found is not None else (self.further, set())
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
        if found is not None and len(more) > 1 and self._gives_up(found):
            return None  # one of the lines may be at fault, and the others hold without it
        if found is not None and (self.best is None or is_better(found, self.best)):
            self.best, self.taken = found, lines
            return found
        further = asked_in(None, problem) if self.best is None and problem is not None else set()
        if self._lines(further) - lines - self.failed:
            self.taken, self.further = lines, further
            return None
        self._explain(more, problem or found)
        refused = problem or (found.earlier.refused if found is not None else None)
        if inner := self._lines(of_branch(refused)) - lines - self.failed:
            return self._together(more | inner)  # the sides branch, too
        self.failed |= {
            line for line in more if len(more) == 1 or (PurePath(line[0]).name, line[1]) in places_in(problem)
        }
        return None

    def _gives_up(self, found: Attempted) -> bool:
        """Whether an attempt fixes the lengths of lists that the best one leaves free."""
        return self.best is not None and self.best.earlier.refused is None and found.earlier.refused is not None

    def _explain(self, lines: set[Line], refused: Any) -> None:
        """Takes note of why choices on some lines cannot go both ways: of what was refused on one of them."""
        recorded = refused if isinstance(refused, Attempted) else None
        given_up = (refused,) if recorded is None else (recorded.earlier.refused, recorded.earlier.of_lists)
        errors = [each for each in given_up if isinstance(each, RecordError)]
        for path, number in lines:
            line = SourceLine(PurePath(path).name, number, "", linecache.getline(path, number).strip())
            for error in errors:
                own = (line.file, number) in places_in(error)
                if own or (error.what.startswith(_OF_CONTROL) and len(lines) == 1):
                    self.causes.setdefault(f"{line.file}:{number}", cause_of(error, line))
            if recorded is not None and not errors:
                reasons = reasons_on(recorded.found.graph, (line.file, number))
                if cause := next((text for why, text in unfollowed(line) if reasons & {why}), ""):
                    self.causes.setdefault(f"{line.file}:{number}", cause)

    def _lines(self, asked: set[tuple[str, int]]) -> set[Line]:
        found = set[Line]()
        for function in self.functions:
            path = function.__code__.co_filename
            numbers = {number for name, number in asked if name == PurePath(path).name}
            found |= {(path, number) for number in choices_of(function, numbers)}
        return found
