"""What a function makes of a match of a regular expression or of none, written so that both ways are recorded.

``if (m := re.search(pattern, text)) and m[1] != "x": return m[1]`` goes on by a match, which a recording holds for the
example only. The first match as a list of one or none goes both ways; the form shows the user's own names.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ....ops.graph.graph import SourceLine
from .branch_forms import form_of, holds, is_plain

_FINDING = ("search", "match")


def written_with_finditer(line: SourceLine | None) -> str:
    """The lines that go on by the match which a line asks for, as one; empty where there is no such form."""
    return form_of(line, _form)


@dataclass(frozen=True)
class _FoundMatch:
    """A match that a name is given.

    Attributes:
        name: the variable.
        call: of `re.search` or the like.
        conditions: what else must hold.
        wanted: whether the code goes on by the match, or by there being none.
    """

    name: str
    call: ast.Call
    conditions: Sequence[ast.expr] = ()
    wanted: bool = True

    def chosen(self, one: ast.expr, other: ast.expr) -> str:
        """What is chosen by it, as an expression; empty where there is none."""
        one, other = (one, other) if self.wanted else (other, one)
        default = isinstance(other, ast.Name) or (isinstance(other, ast.Constant) and other.value is not None)
        if (
            not default
            or not all(map(is_plain, (one, *self.conditions)))
            or not isinstance(self.call.func, ast.Attribute)
        ):
            return ""
        finding = ast.Call(ast.Attribute(self.call.func.value, "finditer"), self.call.args, self.call.keywords)
        tests = [
            *([f"{self.name}.start() == 0"] if self.call.func.attr == "match" else []),
            *map(_operand, self.conditions),
        ]
        condition = f" if {' and '.join(tests)}" if tests else ""
        found = f"[*{ast.unparse(finding)}][:1]{condition}"
        return f"next(({ast.unparse(one)} for {self.name} in {found}), {ast.unparse(other)})"


def _operand(condition: ast.expr) -> str:
    text = ast.unparse(condition)
    return f"({text})" if isinstance(condition, ast.BoolOp | ast.IfExp) else text


def _form(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            lines: list[ast.stmt] = block if isinstance(block, list) else []
            for place, each in enumerate(lines):
                if not holds(each.test if isinstance(each, ast.If) else each, line.line) or _blocks(each):
                    continue
                first = place + (_given(each) is not None)
                before = _given(lines[first - 1]) if first else None
                form = _of_lines(before, lines[first:])
                return f"{form}, in place of both lines," if form and before is not None else form
    return ""


def _blocks(statement: ast.stmt) -> bool:
    """Whether a statement is a compound one, but for an `if`."""
    return hasattr(statement, "body") and not isinstance(statement, ast.If)


def _given(statement: ast.stmt) -> _FoundMatch | None:
    """The match that a statement gives a variable."""
    match statement:
        case ast.Assign([ast.Name(name)], ast.Call() as call) if _finds(call):
            return _FoundMatch(name, call)
    return None


def _finds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _FINDING and all(map(is_plain, call.args))


def _of_lines(given: _FoundMatch | None, lines: Sequence[ast.stmt]) -> str:
    """The form for lines of which the first goes on by a match."""
    match lines:
        case [ast.If(test, [ast.Return(ast.expr() as one)], [ast.Return(ast.expr() as other)]), *_]:
            return _returned(_tested(given, test), one, other)
        case [ast.If(test, [ast.Return(ast.expr() as one)], []), ast.Return(ast.expr() as other), *_]:
            return _returned(_tested(given, test), one, other)
        case [ast.If(test, [ast.Assign([ast.Name(name)], one)], [ast.Assign([ast.Name(same)], other)]), *_] if (
            name == same
        ):
            return _stored(_tested(given, test), name, one, other)
        case [ast.If(test, [ast.Assign([ast.Name(name)], one)], []), *_]:
            return _stored(_tested(given, test), name, one, ast.Name(name))
        case [ast.Return(ast.IfExp(test, one, other)), *_]:
            return _returned(_tested(given, test), one, other)
        case [ast.Assign([ast.Name(name)], ast.IfExp(test, one, other)), *_]:
            return _stored(_tested(given, test), name, one, other)
    return ""


def _returned(found: _FoundMatch | None, one: ast.expr, other: ast.expr) -> str:
    value = "" if found is None else found.chosen(one, other)
    return f"return {value}" if value else ""


def _stored(found: _FoundMatch | None, name: str, one: ast.expr, other: ast.expr) -> str:
    value = "" if found is None or found.name == name else found.chosen(one, other)
    return f"{name} = {value}" if value else ""


def _tested(given: _FoundMatch | None, test: ast.expr) -> _FoundMatch | None:
    """The match by which a condition goes on: one that a variable has, or one that it gives a variable."""
    match test:
        case ast.NamedExpr(ast.Name(name), ast.Call() as call) if given is None and _finds(call):
            return _FoundMatch(name, call)
        case ast.Name(name) if given is not None and name == given.name:
            return given
        case ast.BoolOp(ast.And(), [first, *others]):
            found = _tested(given, first)
            return _FoundMatch(found.name, found.call, others) if found is not None and found.wanted else None
        case ast.UnaryOp(ast.Not(), inner):
            found = _tested(given, inner)
            return _FoundMatch(found.name, found.call, (), not found.wanted) if found and not found.conditions else None
        case ast.Compare(inner, [ast.Is() | ast.IsNot() as asked], [ast.Constant(None)]):
            found = _tested(given, inner)
            wanted = isinstance(asked, ast.IsNot)
            return _FoundMatch(found.name, found.call, (), wanted) if found and not found.conditions else None
    return None
