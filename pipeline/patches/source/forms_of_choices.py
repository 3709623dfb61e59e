"""Statements that choose in another form than by `if`, as branches: `match`, a chosen receiver, `for … else`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .choice_expressions import called
from .scoping import names_read, names_set, within


def as_branches(line: ast.stmt) -> list[ast.stmt]:
    """A statement as one or several others that do the same."""
    match line:
        case ast.Expr(ast.Call(ast.Attribute(ast.IfExp(test, one, other)) as method, given, named)):
            sides: list[list[ast.stmt]] = []
            for receiver in (one, other):
                bound = ast.copy_location(ast.Attribute(receiver, method.attr, ast.Load()), method)
                call = ast.copy_location(ast.Call(bound, given, named), line.value)
                sides.append([ast.copy_location(ast.Expr(call), line)])
            return [ast.copy_location(ast.If(test, sides[0], sides[1]), line)]
        case ast.Match(ast.Name() as subject, cases):
            found = _matched(subject, cases)
            return [line] if found is None else found
        case ast.While(test, [ast.If(ends, [ast.Break()], []), *rest], []) if not leaves_loop(rest):
            tests = [_negated(ends)] if isinstance(test, ast.Constant) else [test, _negated(ends)]
            asked = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), tests[1])
            return [ast.copy_location(ast.While(asked, rest, []), line)] if rest else [line]
        case ast.While(ast.Constant(True), [*rest, ast.If(ends, [ast.Break()], [])], []) if not leaves_loop(rest):
            again = ast.copy_location(ast.While(_negated(ends), copied(rest), []), line)
            return [*rest, again]
        case ast.For(orelse=[ast.Assign([ast.Name(name)], ast.Constant() | ast.Name())]):
            return _searched(line, name)
        case ast.For(ast.Name() as target, ast.Tuple(items) | ast.List(items), body, []) if _unrolls(items, body):
            return [
                each for item in items for each in (ast.copy_location(ast.Assign([target], item), line), *copied(body))
            ]
    return [line]


def _unrolls(items: Sequence[ast.expr], body: Sequence[ast.stmt]) -> bool:
    """Whether a loop over a few constants is left by `return`: its rounds one after another are branches then."""
    plain = 0 < len(items) <= _MOST_ROUNDS and all(isinstance(each, ast.Constant) for each in items)
    returns = any(isinstance(part, ast.Return) for part in within(*body))
    return plain and returns and not any(isinstance(part, ast.Break | ast.Continue) for part in within(*body))


_MOST_ROUNDS = 6


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def leaves_loop(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements of a loop may leave it, or its round."""
    return any(isinstance(part, ast.Return | ast.Break | ast.Continue) for part in within(*body))


def copied(part: Any) -> Any:
    """A part of the source, or several, as one of its own."""
    if isinstance(part, list):
        return [copied(each) for each in part]
    if not isinstance(part, ast.AST):
        return part
    made = type(part)(**{name: copied(value) for name, value in ast.iter_fields(part)})
    return ast.copy_location(made, part)


def demanded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a side, in which branches to an error are what the side demands of its data.

    The example may take another side, and has not to be what this one demands then.
    """
    return [part for line in body for part in _demanding(line)]


def _demanding(line: ast.stmt) -> list[ast.stmt]:
    match line:
        case ast.If(test, [ast.Raise() as error], rest):
            return [_check(_negated(test), error, line), *demanded(rest)]
        case ast.If(test, rest, [ast.Raise() as error]):
            return [_check(test, error, line), *demanded(rest)]
        case ast.If(test, one, other):
            return [ast.copy_location(ast.If(test, demanded(one), demanded(other)), line)]
    return [line]


def _check(test: ast.expr, error: ast.Raise, line: ast.stmt) -> ast.stmt:
    match error.exc:
        case ast.Name(name) | ast.Call(ast.Name(name)):
            raised = name
        case _:
            raised = "an error"
    holds = called("demand", test, test, ast.copy_location(ast.Constant(raised), test))
    return ast.copy_location(ast.If(_negated(holds), [error], []), line)


def _searched(line: ast.For, name: str) -> list[ast.stmt]:
    """A loop that looks for something and sets a variable otherwise, which is set before the loop then.

    That is so where the loop leaves what the variable is set to as it was, and breaks for no other reason.
    """
    match line.body:
        case [*before, ast.If(test, [ast.Assign([ast.Name(found)], value), ast.Break()], [])] if found == name:
            asked = [line.target, line.iter, test, value, *before]
            breaks = any(isinstance(part, ast.Break) for part in within(*before))
            moves = names_read(line.orelse) & names_set(asked)
            if not breaks and not moves and name not in names_read(asked) | names_set(asked):
                made = ast.For(line.target, line.iter, line.body, [], line.type_comment)
                return [*line.orelse, ast.copy_location(made, line)]
    return [line]


def _matched(subject: ast.Name, cases: Sequence[ast.match_case]) -> list[ast.stmt] | None:
    """The cases as branches; empty where none is left, and None where a pattern takes something apart."""
    if not cases:
        return []
    first, *others = cases
    rest = _matched(subject, others)
    test = _test(subject, first.pattern)
    if rest is None or test is None:
        return None
    if first.guard is not None:
        both = [first.guard] if isinstance(test, ast.Constant) else [test, first.guard]
        test = both[0] if len(both) == 1 else ast.copy_location(ast.BoolOp(ast.And(), both), test)
    elif isinstance(test, ast.Constant):
        return first.body
    return [ast.copy_location(ast.If(test, first.body, rest), first.pattern)]


def _test(subject: ast.Name, pattern: ast.pattern) -> ast.expr | None:
    """What a pattern asks for; a constant for one that takes anything, and None for one that does more."""
    match pattern:
        case ast.MatchAs(None, None):
            return ast.copy_location(ast.Constant(True), pattern)
        case ast.MatchValue(value):
            return ast.copy_location(ast.Compare(subject, [ast.Eq()], [value]), pattern)
        case ast.MatchOr(patterns):
            found = [_test(subject, each) for each in patterns]
            tests = [each for each in found if each is not None and not isinstance(each, ast.Constant)]
            if len(tests) == len(found):
                return ast.copy_location(ast.BoolOp(ast.Or(), tests), pattern)
    return None
