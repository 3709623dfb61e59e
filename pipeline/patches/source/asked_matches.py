"""A variable that holds a match or None, as what it was given: ``m = re.match(p, text)``, then ``if m: … m[1] …``.

A choice has the truth of a match as its condition, and a side that goes on by the match makes it anew: so both ways are
recorded. Where the variable is read by anything else, or what it was made of changes in between, it stays.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from .forms_of_choices import copied
from .scoping import captured_names, names_read, names_set, parameters, read_first, within

FINDING = ("match", "search", "fullmatch")
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Load, ast.keyword, ast.JoinedStr, ast.FormattedValue, ast.BinOp)


def finds(value: ast.AST) -> bool:
    """Whether an expression asks a pattern whether it is in a text, of what has a name or is constant."""
    match value:
        case ast.Call(ast.Attribute(receiver, name), given, named) if name in FINDING:
            parts = [part for each in (receiver, *given, *named) for part in ast.walk(each)]
            return all(isinstance(part, (*_PLAIN, ast.operator)) for part in parts)
    return False


def without_held_matches(function: ast.FunctionDef, lines: Collection[int]) -> set[int]:
    """Puts what a variable was given in its place, where that is asked for a match on one of some lines.

    Returns:
        The lines of what asks for the variable then.
    """
    given = [each for each in within(*function.body) if isinstance(each, ast.Assign | ast.NamedExpr)]
    names = {name for each in given if each.lineno in lines and finds(each.value) for name in names_set([each])}
    places = _Places(names - captured_names(function.body) - parameters(function.args))
    function.body = places.block(function.body, set())
    return places.found


class _Places:
    """The statements of a function that give a variable a match.

    Args:
        names: of the variables.

    Attributes:
        found: the lines that ask for the variables.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.names, self.found = names, set[int]()

    def block(self, body: Sequence[ast.stmt], after: set[str]) -> list[ast.stmt]:
        """Some statements, in which calls stand for the variables.

        Args:
            body: the statements.
            after: the variables that may be read after them before they are set.
        """
        lines = [each for line in body for each in _apart(line)]
        for at in reversed(range(len(lines))):
            self._inside(lines[at], read_first(lines[at + 1 :]) | after)
        made: list[ast.stmt] = []
        while lines:
            line, *lines = lines
            if not self._holds(line, lines, after):
                made.append(line)
        return made or [ast.copy_location(ast.Pass(), each) for each in body[:1]]

    def _inside(self, line: ast.stmt, after: set[str]) -> None:
        """Does the same with the blocks of a statement."""
        if isinstance(line, ast.If | ast.For | ast.While | ast.With):
            after = after if isinstance(line, ast.If) else after | read_first([line])
            line.body = self.block(line.body, after)
            if not isinstance(line, ast.With) and line.orelse:
                line.orelse = self.block(line.orelse, after)

    def _holds(self, line: ast.stmt, rest: list[ast.stmt], after: set[str]) -> bool:
        """Whether a statement gives a variable a match; then the rest has the call in its place."""
        match line:
            case ast.Assign([ast.Name(name)], value) if finds(value) and name in self.names:
                end = next((at for at, each in enumerate(rest) if _gives(each, name)), len(rest))
                changed = names_set(rest[:end]) & (names_read([value]) | {name})
                if changed or (end == len(rest) and name in after):
                    return False
                asked = _Asked(name, value)
                rest[:end] = [asked.visit(each) for each in rest[:end]]
                self.found |= asked.lines
                return True
        return False


def _gives(line: ast.stmt, name: str) -> bool:
    """Whether a statement does nothing with a variable but to give it another value."""
    return isinstance(line, ast.Assign) and name not in names_read([line])


def _apart(line: ast.stmt) -> Iterator[ast.stmt]:
    """A statement that gives a variable a match before it does anything else, as two."""
    match line:
        case ast.If(test) | ast.Return(ast.IfExp(test)) | ast.Assign(_, ast.IfExp(test)):
            first = test
            while not isinstance(first, ast.NamedExpr):
                match first:
                    case ast.BoolOp(_, [inner, *_]) | ast.UnaryOp(ast.Not(), inner) | ast.Compare(inner):
                        first = inner
                    case _:
                        break
            if isinstance(first, ast.NamedExpr) and finds(first.value):
                yield ast.copy_location(ast.Assign([first.target], first.value), first)
                line = _Unnamed(first).visit(line)
    yield line


class _Unnamed(ast.NodeTransformer):
    """Puts the variable in the place of an expression that sets it."""

    def __init__(self, given: ast.NamedExpr) -> None:
        self.given = given

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """One such expression."""
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node) if node is self.given else node


class _Asked(ast.NodeTransformer):
    """Puts a call in the place of a variable; in that of a question whether it is None, whether there is no match.

    Attributes:
        lines: where the variable was read.
    """

    def __init__(self, name: str, call: ast.expr) -> None:
        self.name, self.call, self.lines = name, call, set[int]()

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The variable."""
        if node.id != self.name or not isinstance(node.ctx, ast.Load):
            return node
        self.lines.add(node.lineno)
        made: ast.AST = copied(self.call)
        for part in ast.walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison, maybe with None."""
        match node:
            case ast.Compare(ast.Name(self.name), [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]):
                none = ast.copy_location(ast.UnaryOp(ast.Not(), self.visit(node.left)), node)
                if isinstance(operator, ast.Is):
                    return none
                return ast.copy_location(ast.UnaryOp(ast.Not(), none), node)
        return self.generic_visit(node)
