"""Messages to people in the sides of a branch: ``print(…)``, ``logger.warning(…)``, ``warnings.warn(…)``.

A file tells nobody anything, so that a side may hold such a call, which a recording leaves out. Whether what is called
is of Python, and does nothing else, shows when the side is recorded.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Sequence
from typing import Any

from ..print import prints, reads_messages
from .choice_expressions import called, has_walrus
from .scoping import within

_LEVELS = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")
_OWNERS = (logging.Logger, logging.LoggerAdapter, logging)


def tells(line: ast.AST) -> bool:
    """Whether a statement looks like a message to people."""
    match line:
        case ast.Expr(ast.Call(ast.Name("print" | "warn") | ast.Attribute(attr="warn")) as call):
            return not has_walrus(call) and all(map(_is_stream, call.keywords))
        case ast.Expr(ast.Call(ast.Attribute(_, name)) as call) if name in _LEVELS:
            return not has_walrus(call)
    return False


def _is_stream(given: ast.keyword) -> bool:
    """Whether an argument is no file, or one that people read."""
    match given:
        case ast.keyword("file", value):
            return isinstance(value, ast.Attribute) and value.attr in ("stdout", "stderr")
    return given.arg is not None


def is_told(part: ast.AST) -> bool:
    """Whether a part of the source is a message that is asked for what it calls."""
    match part:
        case ast.Expr(ast.Call(ast.Call(ast.Name("<telling>")))):
            return True
    return False


def holds_messages(body: Sequence[ast.stmt]) -> bool:
    """Whether some statements have a message in them."""
    return any(tells(part) or is_told(part) for part in within(*body))


def told(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements of a side, whose messages are left out where they are recorded."""
    return [_Asking().visit(line) for line in body]


class _Asking(ast.NodeTransformer):
    """Has each message asked for what it calls."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function inside stays."""
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """One message, or anything else."""
        call = node.value
        if not tells(node) or not isinstance(call, ast.Call):
            return node
        made = ast.copy_location(ast.Call(called("telling", call, call.func), call.args, call.keywords), call)
        return ast.copy_location(ast.Expr(made), node)


def is_telling(function: Any) -> bool:
    """Whether a function is one by which Python tells people something, and the function that is recorded nothing."""
    if reads_messages():
        return False
    if prints(function):
        return True
    plain = getattr(function, "__func__", function)
    return any(vars(owner).get(name) is plain for owner in _OWNERS for name in _LEVELS)


def unsaid(*_given: Any, **_named: Any) -> None:
    """Stands for what tells something, in a recording."""
