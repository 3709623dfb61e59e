"""Branches and loops on some lines of a function as calls of `cond` and `while_loop`.

A side becomes a function that gives the variables which are read later. Where one returns, the rest of the function
becomes part of the sides that go on. Sides run on the example, whether Python would run them or not: what changes
anything beyond variables, such as an attribute, stays as it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from .changed_containers import altered_names, changed_names, own_containers, rebound
from .choice_expressions import OWN_SIDE, ChoiceExpressions, bound_arguments, called, has_walrus, stands_on
from .forms_of_choices import as_branches, copied, demanded, leaves_loop
from .narrowing import narrowed
from .scoping import captured_names, certainly_set, leaves, names_set, parameters, read_first, within
from .told_messages import holds_messages, is_told, told

Part = TypeVar("Part", bound=ast.AST)
TRIES = (ast.Try, *([ast.TryStar] if sys.version_info >= (3, 11) else []))
MOST_SIDES = 60
Lines = list[ast.stmt]


class NotRewritten(Exception):
    """What stays as it is: a variable may be unset, or there would be too many sides."""


class FunctionBody:
    """The statements of one function.

    Args:
        lines: the numbers of the lines whose choices are written anew.
        given: the names of the parameters.
        body: the statements.
        outer: the function of which it is a side.
    """

    def __init__(
        self, lines: Collection[int], given: Iterable[str], body: Sequence[ast.stmt], outer: FunctionBody | None = None
    ) -> None:
        self.lines, self.given = lines, {*given}
        self.captured: set[str] = captured_names(body) | (outer.captured if outer else set())
        self.own: set[str] = outer.own if outer else own_containers(body) - self.given
        self.altered: set[str] = outer.altered if outer else altered_names(body) - self.own
        self.shared = _shared(body)
        self.local = (self.given | names_set(body)) - self.shared
        self.count = 0
        self.loops: int = (
            outer.loops if outer else 0
        )  # around the statements: a loop of the graph changes its own lists

    def rewritten(self, body: Lines) -> Lines:
        """The statements of the function, written anew."""
        return self._block(body, self.given, set(), [])

    def _block(self, body: Lines, known: set[str], after: set[str], tail: Lines | None) -> Lines:
        """Some statements, written anew.

        Args:
            body: the statements.
            known: the variables that are set for certain before.
            after: those that may be read after them.
            tail: what follows up to the end of the function; None where more than that follows.
        """
        made, parts = Lines(), list[ast.stmt]()
        for line in body:
            lines = as_branches(line) if stands_on(line, self.lines) else [line]
            self.count += lines != [line]
            parts += lines
        for place, line in enumerate(parts):
            rest = parts[place + 1 :]
            later = read_first(rest) | (after - certainly_set(rest))
            following = None if tail is None else [*rest, *tail]
            found = self._choice(line, known, later, following)
            made += [self._kept(line, known, later, following)] if found is None else found
            if found and isinstance(found[-1], ast.Return):
                return made
            known = known | certainly_set([line])
        return made

    def _choice(self, line: ast.stmt, known: set[str], later: set[str], following: Lines | None) -> Lines | None:
        """A branch or a loop as a call; None where it stays."""
        before = self.count
        try:
            match line:
                case ast.If(test) if stands_on(test, self.lines):
                    return self._branch(line, known, later, following)
                case ast.While(test, _, []) if stands_on(test, self.lines):
                    return self._loop(line, known, later)
        except NotRewritten:
            self.count = before
        return None

    # -- what stays ------------------------------------------------------------------------------------------------

    def _kept(self, line: ast.stmt, known: set[str], later: set[str], following: Lines | None) -> ast.stmt:
        """A statement that stays, with what is in it written anew."""
        if isinstance(line, ast.FunctionDef):
            inner = FunctionBody(self.lines, parameters(line.args), line.body)
            line.body = inner.rewritten(line.body)
            self.count += inner.count
            return line
        if isinstance(line, (ast.ClassDef, ast.AsyncFunctionDef, *TRIES)):
            return line
        if isinstance(line, ast.Assign) and names_set(line.targets) & self.altered:  # one of two lists may be changed
            return line
        choices = ChoiceExpressions(self.lines, known & self.local)
        own = known | names_set([line.target] if isinstance(line, ast.For) else getattr(line, "items", []))
        self.loops += isinstance(line, ast.For | ast.While)
        for name, value in ast.iter_fields(line):
            if isinstance(value, ast.expr):
                asked = isinstance(line, ast.If | ast.While | ast.Assert) and name == "test"
                setattr(line, name, choices.condition(value) if asked else choices.visit(value))
            elif name in ("body", "orelse") and isinstance(value, list):
                alone = isinstance(line, ast.If)
                again = set() if alone else read_first([line])
                setattr(line, name, self._block(value, own, later | again, following if alone else None))
            elif isinstance(value, list) and not isinstance(line, ast.Global | ast.Nonlocal):
                setattr(line, name, [self._part(each, choices, known, later) for each in value])
        self.count += choices.count
        self.loops -= isinstance(line, ast.For | ast.While)
        match line:
            case ast.Assign([ast.Name(name)], value) if choices.count and name in self.own and not self.loops:
                line.value = called("own", value, value)
        return line

    def _part(self, part: ast.AST, choices: ChoiceExpressions, known: set[str], later: set[str]) -> ast.AST:
        if isinstance(part, ast.match_case):
            part.body = self._block(part.body, known, later, None)
            return part
        found: ast.AST = choices.visit(part)
        return found

    # -- branches --------------------------------------------------------------------------------------------------

    def _branch(self, line: ast.If, known: set[str], later: set[str], following: Lines | None) -> Lines | None:
        bodies = [line.body, line.orelse]
        known = known | certainly_set([ast.copy_location(ast.Expr(line.test), line)])
        if not any(isinstance(part, ast.Return) for body in bodies for each in body for part in within(each)):
            return self._assigned(line, known, later)
        if following is None:
            return None
        bodies = [body if leaves(body) else [*body, *following] for body in bodies]
        ends = ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), line)), line)
        sides = self._sides(line, [body if leaves(body) else [*body, ends] for body in bodies], known)
        return [*sides, _placed(ast.Return(self._call(line, known, sides)), line)]

    def _assigned(self, line: ast.If, known: set[str], later: set[str]) -> Lines | None:
        """A branch that sets variables."""
        bodies = [line.body, line.orelse]
        names = sorted((names_set(bodies[0] + bodies[1]) | changed_names(bodies[0] + bodies[1], self.own)) & later)
        if not names:
            return self._told(line, known) if holds_messages([*bodies[0], *bodies[1]]) else None
        if self.altered & {*names} or any(not {*names} <= known | certainly_set(body) for body in bodies):
            return None
        sides = self._sides(line, [[*body, _given_back(names, line)] for body in bodies], known)
        owned = [_set_to([name], _owned(name, line), line) for name in names if name in self.own and not self.loops]
        return [*sides, _set_to(names, self._call(line, known, sides), line), *owned]

    def _told(self, line: ast.If, known: set[str]) -> Lines:
        """A branch that tells people something, and sets nothing that is read later."""
        end = _placed(ast.Return(ast.Constant(None)), line)
        sides = self._sides(line, [[*body, copied(end)] for body in (line.body, line.orelse)], known)
        return [*sides, _placed(ast.Expr(self._call(line, known, sides)), line)]

    def _call(self, line: ast.If, known: set[str], sides: Sequence[ast.FunctionDef]) -> ast.expr:
        choices = ChoiceExpressions(self.lines, known & self.local)
        test = choices.condition(line.test)
        return called(
            "choose", test, test, *(ast.copy_location(ast.Name(each.name, ast.Load()), test) for each in sides)
        )

    # -- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, line: ast.While, known: set[str], later: set[str]) -> Lines | None:
        body = line.body
        again = read_first([ast.copy_location(ast.Expr(line.test), line), *body])
        names = sorted((names_set(body) | changed_names(body, self.own)) & (again | later))
        stays = (
            has_walrus(line.test)
            or leaves_loop(body)
            or not names
            or self.altered & {*names}
            or not known.issuperset(names)
        )
        if stays:
            return None
        asked = ast.copy_location(ast.Return(line.test), line.test)
        test = self._side([asked], known, line, names)
        rounds = self._side([*body, _given_back(names, line, alone=False)], known, line, names)
        given = [ast.Name(each, ast.Load()) for each in (test.name, rounds.name, *names)]
        call = called("repeat", line.test, *(ast.copy_location(each, line.test) for each in given))
        return [test, rounds, _set_to(names, call, line, alone=False)]

    # -- sides -----------------------------------------------------------------------------------------------------

    def _sides(self, line: ast.If, bodies: Sequence[Lines], known: set[str]) -> list[ast.FunctionDef]:
        """The two sides of a branch, whose condition tells what is not None in them."""
        free = known & self.local - self.captured
        parts = zip(narrowed(line.test, free), bodies, strict=True)
        return [
            self._side([*(each for each in begun if _sets(each) & read_first(body)), *body], known, line)
            for begun, body in parts
        ]

    def _side(self, body: Lines, known: set[str], line: ast.stmt, first: Sequence[str] = ()) -> ast.FunctionDef:
        """A side as a function; `first` are the parameters that it is called with.

        Raises:
            NotRewritten: it does more than set variables, or may read one that is not set.
        """
        body = told(demanded(rebound(copied(body), self.local, self.own)))
        written = names_set(body)
        if _has_effects(body, written) or written & (self.captured | self.shared) or self.count > MOST_SIDES:
            raise NotRewritten
        asked = (read_first(body) & self.local) - {*first}
        if asked & written - known:
            raise NotRewritten
        self.count += 1
        given = (asked & known) | {*first}
        inner = FunctionBody(self.lines, given, body, self)
        inner.count = self.count
        made = ast.parse("def side(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.name, made.args = f"{OWN_SIDE}{line.lineno}.{self.count}", bound_arguments(asked & known, line, first)
        made.body = inner.rewritten(body)
        self.count = inner.count
        return _placed(made, body[0])


def _owned(name: str, place: ast.stmt) -> ast.expr:
    """A list or a dict of one name that a choice has given, as one that may be changed."""
    return called("own", place, ast.copy_location(ast.Name(name, ast.Load()), place))


def _sets(line: ast.stmt) -> set[str]:
    return names_set([line])


def _has_effects(body: Sequence[ast.stmt], own: Collection[str]) -> bool:
    """Whether some statements do more than set variables, and change what some of their own variables hold."""
    changed = {id(part) for part in within(*body) for part in _containers(part) if part.value.id in own}
    for part in within(*body):
        if id(part) in changed or is_told(part):
            continue
        match part:
            case ast.Expr(value) if (
                not isinstance(value, ast.Constant) and id(getattr(value, "func", 0)) not in changed
            ):
                return True
            case ast.Attribute(_, _, ast.Store() | ast.Del()) | ast.Subscript(_, _, ast.Store() | ast.Del()):
                return True
            case _ if isinstance(part, TRIES):
                return True
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Delete() | ast.Global() | ast.Nonlocal():
                return True
    return _leaves_loop(body)


def _containers(part: ast.AST) -> list[Any]:
    """The subscript or the method of a variable in a part of the source, by which its value is changed."""
    match part:
        case ast.Subscript(ast.Name()) | ast.Attribute(ast.Name(), _, ast.Load()):
            return [part]
    return []


def _leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether a `break` or a `continue` belongs to a loop around some statements, or one raises an error."""
    for line in body:
        match line:
            case ast.Break() | ast.Continue() | ast.Raise():
                return True
            case ast.If(_, one, other) if _leaves_loop([each for each in (*one, *other) if not _raises(each)]):
                return True
            case ast.With(_, inner) if _leaves_loop(inner):
                return True
    return False


def _raises(line: ast.stmt) -> bool:
    return isinstance(line, ast.Raise)


def _shared(body: Sequence[ast.stmt]) -> set[str]:
    """The variables of other scopes that some statements declare."""
    found = [part for part in within(*body) if isinstance(part, ast.Global | ast.Nonlocal)]
    return {name for part in found for name in part.names}


def _given_back(names: Sequence[str], line: ast.stmt, alone: bool = True) -> ast.stmt:
    found: list[ast.expr] = [ast.Name(each, ast.Load()) for each in names]
    return _placed(ast.Return(found[0] if alone and len(names) == 1 else ast.Tuple(found, ast.Load())), line)


def _set_to(names: Sequence[str], value: ast.expr, line: ast.stmt, alone: bool = True) -> ast.stmt:
    found: list[ast.expr] = [ast.Name(each, ast.Store()) for each in names]
    target = found[0] if alone and len(names) == 1 else ast.Tuple(found, ast.Store())
    return _placed(ast.Assign([target], value), line)


def _placed(made: Part, place: ast.AST) -> Part:
    """A new part at the place of another one."""
    ast.copy_location(made, place)
    return ast.fix_missing_locations(made)
