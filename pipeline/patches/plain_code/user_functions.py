"""Functions of the user's as those of a block."""

from __future__ import annotations

import ast
from types import FunctionType

from ..source.written_anew import definition_of
from .plain_literals import UnplainError
from .statements.plain_forms import plainly
from .user_lines import placed

_OF_METHODS = ("property", "classmethod", "staticmethod", "cached_property", "abstractmethod")


def assigned(name: str, value: ast.expr) -> ast.stmt:
    """``name = value``."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def definition_under(function: FunctionType, name: str) -> ast.FunctionDef:
    """The definition of a function of the user's under another name."""
    made = definition_of(function)
    if made is None:
        raise UnplainError(f"the source of {function.__qualname__} is not at hand")
    if isinstance(made, ast.Lambda):
        made = defined(name, made.args, [ast.copy_location(ast.Return(made.body), made)])
    if not all(map(_is_of_method, made.decorator_list)):
        raise UnplainError(f"{function.__qualname__} has a decorator")
    (found,) = placed(plainly([made]), function.__code__)
    assert isinstance(found, ast.FunctionDef)
    found.name, found.decorator_list = name, []
    return found


def _is_of_method(decorator: ast.expr) -> bool:
    """Whether it is ``property``, ``side.setter`` and the like, of which the class itself tells."""
    if isinstance(decorator, ast.Attribute):
        return decorator.attr in ("setter", "getter")
    return isinstance(decorator, ast.Name) and decorator.id in _OF_METHODS


def without_first(function: FunctionType, given: ast.arguments) -> str:
    """Takes the parameter of a method that is its object; returns the name."""
    found = given.posonlyargs or given.args
    if not found:
        raise UnplainError(f"{function.__qualname__} takes no object")
    return found.pop(0).arg


def defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of these statements."""
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = name, arguments, body or [ast.Pass()]
    return made
