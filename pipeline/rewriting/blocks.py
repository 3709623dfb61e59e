"""Recordings in which statements that no recording follows are blocks of plain Python."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import product
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator
from ...ops.graph.traverse import walk
from ...ops.runtime.user_code import attribute, codes_in
from ..patches.plain_code.called_models import CALLS
from ..patches.plain_code.calling import OF_CHOICE, OF_NO_ITEMS, OF_NUMBERS
from ..patches.plain_code.plain_literals import NOT_PLAIN
from ..patches.plain_code.statements.regions import Statements
from ..patches.source.written_anew import block_code, written_anew
from ..recheck.mismatch import NO_INPUT, noting_differences
from ..rules.advice.before_calls import OP_BEFORE
from .asked_lines import Line, fixing, functions_of, places_in
from .attempted import Attempted, is_better
from .called_names import names_by_function
from .shared_things import NOT_OWN

MOST_BLOCKS = 12
"""Recordings with blocks of plain Python."""
MOST_LOOPS = 2
"""Loops before a statement that may belong to its block."""
_MORE = (1, 2, 3)
"""Statements after one that may belong to its block."""

_BLOCK = Operator("py.plain_code")
_LAMBDA = "<lambda>"
_BEGIN = "Begin with a value of the kind that the rounds give, as torch.zeros(()) for 0"
_SAME = "Give the same kind of value on all ways"


class Blocks:
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
        self.process, self.functions = process, list(functions_of(process))
        self.left = 0
        self.numbers = False  # whether one gives numbers of numpy, and so was not taken
        self.kinds = set[str]()  # where one gives another kind for no items, and so was not taken at first
        self.choices = dict[str, str]()  # where one does so on the other side of a choice, and what it gives there
        traced = attribute(process, "__func__", process)
        self.own = traced if isinstance(traced, FunctionType) else type(process).__call__  # what gives the result
        self.problem: Exception | None = None  # state, which no block can have either
        self.reason = ""  # why a model cannot be called in one
        self.unowned = ""  # where one is refused since it would change what is not its own

    def result(self, places: set[tuple[str, int]]) -> Attempted | None:
        """The best attempt.

        Args:
            places: the lines that are refused, or fix something.
        """
        taken: list[Statements] = []
        for tensors in (0, 1, 2, 3):
            if (tensors == 2 and not self.numbers) or (tensors == 3 and not (self.kinds or self.choices)):
                continue
            self.left = MOST_BLOCKS
            while places:
                regions = self._regions(places, tensors)
                further = next(filter(None, (self._with(taken, region) for region in regions)), None)
                if further is None:
                    break
                taken, places = further
        self._tell_of_no_items()
        return self.best

    def _tell_of_no_items(self) -> None:
        """Adds a line for each block that gives another kind of value for no items, where code goes on with it."""
        for node in walk(self.best.found.graph) if self.best is not None and self.kinds else ():
            if node.target == _BLOCK and str(node.line) in self.kinds and not _is_any(node.args[1]):
                assert self.best is not None
                self.best.lines.append(f"{node.line}: {OF_NO_ITEMS}, which is refused. {_BEGIN}")

    def _on_choices(self, found: Attempted) -> Iterator[str]:
        """A line for each block of a recording that gives another kind of value on the other side of a choice."""
        for node in walk(found.found.graph):
            if node.target != _BLOCK or (_is_any(node.args[1]) and not _has_models(node)):
                continue
            if what := self.choices.get(str(node.line)):
                yield f"{node.line}: {what}, which is refused. {_SAME}"

    def _with(
        self, taken: list[Statements], region: Statements
    ) -> tuple[list[Statements], set[tuple[str, int]]] | None:
        """What an attempt with one more block leaves to be done; None where it fails at that."""
        self.left -= 1
        if self.left < 0:
            return None
        covered = [each for each in taken if region.rest and each.path == region.path and each.line >= region.line]
        blocks, earlier = [*(each for each in taken if each not in covered), region], []
        if self.best is not None:
            earlier = [*self.best.earlier, self.best.found]
        found_different: list[Any] = []
        with written_anew(self.functions, self.lines, blocks), noting_differences(found_different):
            try:
                found = self.attempt(earlier)
            except Exception as error:
                self.numbers = self.numbers or OF_NUMBERS in str(error)
                where: str = getattr(error, "where", "")
                self.unowned = self.unowned or (str(error) if NOT_OWN in str(error) else "")
                self.kinds |= {where} if OF_NO_ITEMS in str(error) else set()
                if OF_CHOICE in (what := getattr(error, "what", "")):
                    self.choices[where] = what.removeprefix(f"{NOT_PLAIN}: ")
                self.reason = str(error)[str(error).find(CALLS) :] if CALLS in str(error) else self.reason
                fix: str = getattr(error, "fix", "")
                self.reason = fix if OP_BEFORE in fix else self.reason
                if self.best is not None or NOT_PLAIN in str(error) or CALLS in str(error):
                    return None
                self.problem = error if NO_INPUT in str(error) else self.problem
                beyond = places_in(error) - {(PurePath(region.path).name, region.line)}
                return (blocks, beyond) if beyond and taken == [] else None
        if self.kinds and region.tensors < 3 and _calls_models(found.found.graph):  # outside of a block it is recorded
            return None
        if region.tensors == 3:
            found.lines += self._on_choices(found)
        if found_different or (self.best is not None and not is_better(found, self.best)):
            return None
        self.best = found
        return blocks, fixing(found)

    def _regions(self, places: set[tuple[str, int]], tensors: int) -> Iterator[Statements]:
        """The statements to try: those with tensors the smaller ones first, for what is recorded is worth more."""
        seen, further = set[Any](), list[tuple[FunctionType, Statements]]()
        every, named = self._with_callers(places)
        for function in self.functions:
            path, traced = function.__code__.co_filename, function is self.own
            lines = sorted(number for name, number in every if name == PurePath(path).name)
            if traced and tensors and named:
                calls = frozenset(named)
                further = [(function, Statements(path, line, True, True, 0, tensors, 0, calls)) for line in lines]
            regions = list[Statements]()
            for line, rest, loops in product(lines, (not tensors, tensors > 0), range(1 + MOST_LOOPS)):
                regions.append(Statements(path, line, rest, traced and rest, loops, tensors))
            regions += [Statements(path, line, False, False, 0, tensors, more) for line in lines for more in _MORE]
            for region in regions:
                if (code := block_code(function, region)) is not None and code not in seen:
                    seen.add(code)
                    yield region
        asked = self.choices or _LAMBDA in named  # the choice may be that of a helper, which may have no block itself
        for function, region in further if asked else ():
            if (code := block_code(function, region)) is not None and code not in seen:
                yield region

    @cached_property
    def _callers(self) -> Mapping[FunctionType, set[str]]:
        return names_by_function(self.process)

    def _names_of(self, function: FunctionType) -> set[str]:
        """The names by which code calls a function."""
        return self._callers.get(function) or {function.__name__}

    def _with_callers(self, places: set[tuple[str, int]]) -> tuple[set[tuple[str, int]], set[str]]:
        """Lines, and those on which the traced function names a function that has one: there more may be free.

        And the names of such functions.
        """
        code = getattr(self.own, "__code__", None)
        others = [each for each in self.functions if each is not self.own]
        chosen = [each for each in others if _spans(each.__code__) & places]
        if code is None or not chosen:
            return places, set()
        named = set[str]().union(*(self._names_of(each) for each in chosen))
        for _ in others:  # those that call them by way of others
            named = named.union(*(self._names_of(each) for each in others if _names_in(each) & named))
        lines = {number for inner in codes_in(code) for number in _lines_naming(inner, named)}
        return places | {(PurePath(code.co_filename).name, number) for number in lines if number}, named


def _is_any(kind: Any) -> bool:
    """Whether a kind is that of a result of which little is known but its parts: no code goes on with it."""
    match kind:
        case ["tuple" | "keys" as name, *parts]:
            return any(_is_any(each[1] if name == "keys" else each) for each in parts)
    return bool(kind == "any")


def _calls_models(graph: Graph) -> bool:
    """Whether a block calls a model."""
    return any(node.target == _BLOCK and _has_models(node) for node in walk(graph))


def _has_models(node: Node) -> bool:
    return any(isinstance(each, Graph) for each in node.args)


def _lines_naming(code: CodeType, names: set[str]) -> set[int]:
    """The lines of some code on which it names something."""
    calls = [each for each in dis.get_instructions(code) if isinstance(each.argval, str) and each.argval in names]
    starts = [(start, number) for start, _, number in code.co_lines() if number is not None]
    return {max((pair for pair in starts if pair[0] <= each.offset), default=(0, 0))[1] for each in calls}


def _names_in(function: FunctionType) -> set[str]:
    """The globals, attributes and variables that a function names, its own parameters among them."""
    codes = codes_in(function.__code__)
    return {name for inner in codes for name in (*inner.co_names, *inner.co_freevars, *inner.co_varnames)}


def _spans(code: CodeType) -> set[tuple[str, int]]:
    name = PurePath(code.co_filename).name
    return {(name, number) for each in codes_in(code) for _, _, number in each.co_lines() if number is not None}
