"""Classes of the user's errors in a block."""

from __future__ import annotations

import ast
from typing import Any

from ..plain_literals import UnplainError, name_of
from .classes import ORDINARY, is_class


def is_error(kind: Any) -> bool:
    """Whether a class is one of the user's errors."""
    return is_class(kind) and issubclass(kind, Exception)


def error_of(encoding: Any, kind: type) -> ast.expr:
    """The source of a class of errors, which does no more than to have a name.

    Raises:
        UnplainError: it does more.
    """
    others = [each for each in vars(kind) if each not in ORDINARY or each == "__init__"]
    if others or len(kind.__bases__) != 1:
        raise UnplainError(f"{kind.__name__} has a {min(others, default='second base')} of its own")
    base = encoding.source_of(kind.__bases__[0])
    return ast.Call(name_of("error_class"), [ast.Constant(kind.__name__), base], [])
