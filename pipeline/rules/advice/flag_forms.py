"""A call that takes a plain flag, and is given one that is decided at run time, as a choice between two calls."""

from __future__ import annotations

import ast
import copy
import re
from functools import partial

from ....ops.graph.graph import SourceLine
from .branch_forms import form_of, holds

_NAMED = re.compile(r"argument '(\w+)'(?: \(position (\d+)\))? must be bool|[(, ](\w+)=bool\b")
"""What torch says of the argument that is no flag to it."""


def chosen_call(line: SourceLine | None, said: str) -> str:
    """The choice; empty where the line has no such call.

    Args:
        line: of the call.
        said: what torch says of the argument.
    """
    found = _NAMED.search(said)
    function = said.partition("(")[0]  # linalg_svd
    return form_of(line, partial(_written, function, found[1] or found[3], int(found[2] or 0))) if found else ""


def _written(function: str, name: str, position: int, tree: ast.AST, line: SourceLine) -> str:
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and holds(each, line.line)]
    asked = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Attribute | ast.Subscript)}
    for call in (each for each in calls if function.endswith(ast.unparse(each.func).rpartition(".")[2])):
        for flag in [*call.args[position - 1 : position], *(each.value for each in call.keywords if each.arg == name)]:
            if not isinstance(flag, ast.Constant):
                sides = [_with(call, flag, value) for value in (True, False)]
                written = ast.unparse(ast.IfExp(flag, *sides))
                return f"({written})" if id(call) in asked else written
    return ""


def _with(call: ast.Call, flag: ast.expr, value: bool) -> ast.Call:
    """A call with a value in the place of a flag."""
    constant = ast.Constant(value)
    args = [constant if each is flag else copy.deepcopy(each) for each in call.args]
    named = [(each.arg, constant if each.value is flag else copy.deepcopy(each.value)) for each in call.keywords]
    return ast.Call(copy.deepcopy(call.func), args, [ast.keyword(*each) for each in named])
