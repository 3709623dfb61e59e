"""Which statements of a function become a block of plain Python, and the call that stands in their place."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .....ops.runtime.primitives.plain_code.allowed import refused
from ...source.scoping import captured_names, certainly_set, names_read, names_set, parameters, read_first, within
from ..user_lines import written
from .beginnings import begin
from .hoisting import OF_BLOCKS, Hoisting, names_called
from .own_imports import is_import
from .own_variables import Given, OwnVariables
from .plain_forms import plainly


@dataclass(frozen=True)
class Statements:
    """A statement of a function, by a line in it.

    Attributes:
        path: of the file; line: the number of the line.
        rest: whether all that follows up to the end of the function belongs to it.
        result: whether the function is the traced one, so that nothing is asked of what it gives.
        loops: how many loops before it belong to it, too.
        tensors: whether it may have tensors and arrays; above 1, whether what goes on with its results may be given a
            number of numpy, which Python's own may take the place of on other data.
        more: how many statements after it belong to it, too.
        calls: names of functions of the user's that it calls itself: the value of no such call is evaluated before.
    """

    path: str
    line: int
    rest: bool
    result: bool = False
    loops: int = 0
    tensors: int = 0
    more: int = 0
    calls: frozenset[str] = frozenset()


def with_blocks(function: ast.FunctionDef | ast.Lambda, regions: Collection[Statements], free: Collection[str]) -> int:
    """Writes a call in place of the statements of some regions; returns in place of how many regions.

    Args:
        function: changed in place.
        regions: those of the file.
        free: the variables of functions around it.
    """
    if isinstance(function, ast.Lambda):
        return _with_block(function, regions, free)
    count = 0
    for region in sorted(regions, key=lambda each: -each.line):
        place = next((n for n, each in enumerate(function.body) if _holds(each, region.line)), None)
        if place is None:
            continue
        first, end = (
            begin(function.body, place, region.loops, region.tensors),
            len(function.body) if region.rest else place + 1 + region.more,
        )
        made = (
            None
            if first is None or end > len(function.body)
            else _CutOut(function.args, function.body, first, end, free).call(region)
        )
        if made is not None:
            function.body[first:end] = [made]
            count += 1
    return count


def _with_block(function: ast.Lambda, regions: Collection[Statements], free: Collection[str]) -> int:
    """Writes a call in place of the result of a lambda that chooses between tensors, where a region has its line.

    Or of one that calls what chooses.
    """
    whole = _placed(ast.Return(function.body), function.body)
    region = next((each for each in regions if each.result and each.tensors and _holds(whole, each.line)), None)
    if region is None or region.loops or region.more:
        return 0
    called = names_called(whole)
    if not region.calls & called and not OF_BLOCKS & called and not any(map(_chooses, ast.walk(function.body))):
        return 0
    made = _CutOut(function.args, [whole], 0, 1, free).call(region)
    if not isinstance(made, ast.Return) or made.value is None:
        return 0
    function.body = made.value
    return 1


def _chooses(part: ast.AST) -> bool:
    return isinstance(part, ast.IfExp | ast.BoolOp)


def _holds(line: ast.stmt, number: int) -> bool:
    return line.lineno <= number <= (line.end_lineno or line.lineno)


@dataclass(frozen=True)
class _Own:
    """The variables that alone hold what they do, those that are read after the block, and what is given the first."""

    names: Collection[str]
    later: Collection[str]
    handed: Sequence[Given]


class _CutOut:
    """Some statements of a function.

    Args:
        given: what it is given.
        body: all of its statements.
        first: the place of the first statement; end: that after the last one.
        free: the variables of functions around it.
    """

    def __init__(self, given: ast.arguments, body: list[ast.stmt], first: int, end: int, free: Collection[str]) -> None:
        self.before, self.body, self.after = body[:first], body[first:end], body[end:]
        known = parameters(given)
        self.captured = captured_names(self.before + self.after)
        declared = [part for part in within(*body) if isinstance(part, ast.Global | ast.Nonlocal)]
        self.shared = {name for part in declared for name in part.names}
        found = OwnVariables(self.before, known, self.body)
        self.own, self.handed = found.names - self.captured - self.shared, found.handed
        self.free, self.known = {*free}, known | certainly_set(self.before)
        self.maybe = known | names_set(self.before)
        self.local = known | names_set(body)

    def call(self, region: Statements) -> ast.stmt | None:
        """The statement that stands in their place; None where they cannot be a block."""
        tensors = region.tensors
        returns = any(isinstance(part, ast.Return) for part in within(*self.body))
        walked = (part for line in plainly(self.body) for part in ast.walk(line))
        bad = any(refused(part) and not is_import(part) for part in walked)
        if bad or (returns and self.after) or (not returns and not self.after):
            return None
        yields = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in within(*self.body))
        changed = names_set(self.body)
        if yields or changed & (self.shared | self.captured):
            return None
        asked = names_read(self.body) & (self.local | self.free)
        unsure = (read_first(self.body) & self.local & self.maybe) - self.known
        if unsure:
            return None
        later = set() if returns else read_first(self.after)
        kept = (later & changed & self.known) - certainly_set(self.body)  # what it may leave as it is
        given = sorted((asked & (self.known | self.free)) | kept)
        body, hoisting = self._hoisted(changed, {*given}, region)
        if returns:
            own = _Own(self.own & {*given}, (), self.handed)
            call = _called(body, given, own, region.result, tensors, hoisting)
            return _placed(ast.Return(call), self.body[0])
        results = sorted(later & (changed | (self.own & asked)))
        if not results or not {*results} <= self.known | certainly_set(self.body):
            return None
        parts: list[ast.expr] = [ast.Name(each, ast.Load()) for each in results]
        text = [*body, ast.Return(ast.Tuple(parts, ast.Load()))]
        own = _Own(self.own & {*given}, names_read(self.after), self.handed)
        call = _called(text, given, own, False, tensors, hoisting)
        targets: list[ast.expr] = [ast.Name(each, ast.Store()) for each in results]
        return _placed(ast.Assign([ast.Tuple(targets, ast.Store())], call), self.body[0])

    def _hoisted(self, changed: set[str], given: set[str], region: Statements) -> tuple[list[ast.stmt], Hoisting]:
        """The statements without what is taken out of them: nothing that reads a list which they may have changed."""
        altered = set[str]()
        while True:
            hoisting = Hoisting(changed | altered, given, region.tensors, region.calls)
            body = [hoisting.statement(line) for line in plainly(self.body)]
            late = [part for name, part in hoisting.found.items() if name in hoisting.late]
            more = (names_read(late) & names_read(body) & self.own) - altered
            if not more:
                return body, hoisting
            altered |= more


def _called(
    body: list[ast.stmt],
    given: Sequence[str],
    own: _Own,
    result: bool,
    tensors: int,
    hoisting: Hoisting,
) -> ast.Call:
    text = written(body)
    parts = tuple((name, ast.unparse(each), name in hoisting.late) for name, each in hoisting.found.items())
    names = tuple(sorted(own.names)), tuple(sorted(own.later)), tuple(e for e in own.handed if e[0] in own.names)
    given_first: list[Any] = [text, tuple(given), names, result, parts, tensors, tuple(sorted(hoisting.calls))]
    nothing = ast.arguments([], [], None, [], [], None, [])
    values: list[ast.expr] = [ast.Lambda(nothing, each) for each in hoisting.found.values()]
    values += [ast.Name(each, ast.Load()) for each in given]
    return ast.Call(ast.Name("<run_block>", ast.Load()), [*map(ast.Constant, given_first), *values], [])


def _placed(made: ast.stmt, place: ast.stmt | ast.expr) -> ast.stmt:
    ast.copy_location(made, place)
    return ast.fix_missing_locations(made)
