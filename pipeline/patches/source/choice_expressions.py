"""Choices inside of expressions as calls: ``a if test else b``, ``a and b``, ``a < b < c``; a side becomes a lambda."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from .scoping import names_read, names_set, not_none, parameters, within

Part = TypeVar("Part", bound=ast.AST)
CHANGING = frozenset(
    """append extend insert remove pop clear sort reverse update setdefault popitem add discard add_ mul_""".split()
)
"""Methods that change what they belong to."""
OWN_SIDE = "<side>"
"""How the name of what stands for a side begins, or for a round: a lambda has it as a parameter."""


def stands_on(part: Any, lines: Collection[int]) -> bool:
    """Whether a part of the source stands on one of some lines."""
    return any(part.lineno <= line <= (part.end_lineno or part.lineno) for line in lines)


def called(name: str, place: ast.AST, *given: ast.expr) -> ast.expr:
    """The call of one of the choosers, at the place of a part of the source."""
    call = ast.Call(ast.Name(f"<{name}>", ast.Load()), list(given), [])
    for part in (call, call.func):
        ast.copy_location(part, place)
    return call


def bound_arguments(names: Iterable[str], place: ast.AST, first: Iterable[str] = ()) -> ast.arguments:
    """Parameters without a default, and variables as parameters whose defaults are what they are now."""
    defaulted = sorted(names)
    found = [ast.arg(name) for name in (*first, *defaulted)]
    defaults: list[ast.expr] = [ast.Name(name, ast.Load()) for name in defaulted]
    made = ast.arguments(posonlyargs=[], args=found, kwonlyargs=[], kw_defaults=[], defaults=defaults)
    for part in (*found, *defaults):
        ast.copy_location(part, place)
    return made


class ChoiceExpressions(ast.NodeTransformer):
    """Writes the choices on some lines anew.

    Args:
        lines: their numbers.
        known: the variables of the function that are set for certain.

    Attributes:
        count: how many were written anew.
    """

    def __init__(self, lines: Collection[int], known: Collection[str]) -> None:
        self.lines, self.known, self.count = lines, {*known}, 0

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A choice between two values."""
        if not self._takes(node, node.body, node.orelse):
            return self.generic_visit(node)
        sides = zip((node.body, node.orelse), (True, False), strict=True)
        known = [_NotNone(not_none(node.test, truth)).visit(side) for side, truth in sides]
        return called("choose", node, self.condition(node.test), *map(self._side, known))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`and` or `or` that gives one of its operands."""
        if not self._takes(node, *node.values[1:]):
            return self.generic_visit(node)
        first, rest = _parted(node)
        name = "and_value" if isinstance(node.op, ast.And) else "or_value"
        return called(name, node, self.visit(first), self._side(rest))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Comparisons in a row."""
        return self._in_a_row(node) if self._is_row(node) else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A method that may change the one that is chosen, which a copy is not."""
        chosen = isinstance(node.value, ast.IfExp | ast.BoolOp) and (node.attr in CHANGING or node.attr.endswith("_"))
        return node if chosen or not isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An entry, which may be set."""
        return self.generic_visit(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A function of the user's, which has variables of its own."""
        return self._inside(node, parameters(node.args))

    def _of_comprehension(self, node: ast.AST) -> ast.AST:
        found = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.comprehension)]
        return self._inside(node, names_set([ast.Tuple([each.target for each in found], ast.Store())]))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _of_comprehension

    def _inside(self, node: ast.AST, more: set[str]) -> ast.AST:
        before, self.known = self.known, self.known | more
        try:
            return self.generic_visit(node)
        finally:
            self.known = before

    def condition(self, test: ast.expr) -> ast.expr:
        """An expression that is asked for its truth only."""
        match test:
            case ast.BoolOp(operator) if self._takes(test, *test.values[1:]):
                first, rest = _parted(test)
                name = "both" if isinstance(operator, ast.And) else "either"
                return called(name, test, self.condition(first), self._side(rest, of_truth=True))
            case ast.UnaryOp(ast.Not(), inner) if stands_on(test, self.lines):
                return called("negated", test, self.condition(inner))
            case ast.Call(ast.Name("<demand>"), [demanded, error]):
                return called("demand", test, self.condition(demanded), error)
            case ast.Call(ast.Attribute(attr="match" | "search" | "fullmatch")):
                return _truth_of(self.visit(test))
        found: ast.expr = self.visit(test)
        return found

    def _takes(self, node: ast.AST, *sides: ast.expr) -> bool:
        """Whether a choice stands on the lines, and what becomes a lambda binds no variables."""
        moved = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
        takes = stands_on(node, self.lines)
        return takes and not any(isinstance(part, moved) for side in sides for part in ast.walk(side))

    def _is_row(self, node: ast.Compare) -> bool:
        middle = all(isinstance(each, ast.Name | ast.Constant) for each in node.comparators[:-1])
        return len(node.ops) > 1 and middle and self._takes(node, *node.comparators)

    def _in_a_row(self, node: ast.Compare) -> ast.expr:
        first = ast.copy_location(ast.Compare(node.left, node.ops[:1], node.comparators[:1]), node)
        rest = ast.copy_location(ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:]), node)
        return called("both", node, self.condition(first), self._side(rest, of_truth=True))

    def _side(self, value: ast.expr, of_truth: bool = False) -> ast.expr:
        names = names_read([value]) & self.known
        found = self.condition(value) if of_truth else self.visit(value)
        self.count += 1
        given = bound_arguments(names, value)
        given.args.append(ast.copy_location(ast.arg(OWN_SIDE), value))
        given.defaults.append(ast.copy_location(ast.Constant(None), value))
        return ast.copy_location(ast.Lambda(given, found), value)


class _NotNone(ast.NodeTransformer):
    """Makes the numbers and texts of variables that may be None elsewhere.

    Args:
        names: of the variables.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Such a variable that is read."""
        known = node.id in self.names and isinstance(node.ctx, ast.Load)
        return called("not_none", node, node) if known else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A function of the user's, with variables of its own."""
        return node


def _parted(node: ast.BoolOp) -> tuple[ast.expr, ast.expr]:
    first, *others = node.values
    return first, others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(node.op, others), others[0])


def _truth_of(test: ast.expr) -> ast.expr:
    """The truth of what may be a match, which is all that a choice asks: it is a number then, and no match or None."""
    inner = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
    if sys.version_info >= (3, 13):  # which makes one instruction of both, that nobody stands for
        return called("negated", test, inner)
    return ast.copy_location(ast.UnaryOp(ast.Not(), inner), test)


def has_walrus(part: ast.AST) -> bool:
    """Whether an expression sets a variable."""
    return any(isinstance(each, ast.NamedExpr) for each in within(part))
