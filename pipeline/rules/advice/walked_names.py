"""The arguments that a function goes through, as its source has them."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_TAKES_ALL = frozenset(
    """all any cat concat concatenate enumerate filter join len list map max min pad_sequence reduce reversed sorted
    stack sum vstack hstack zip""".split()
)
"""Functions that take the items of a container, as many as there are."""


def walked_names(process: Any) -> frozenset[str]:
    """The names that a function goes through, by `for` or by a function that takes all items; none without source."""
    process = getattr(process, "forward", process) if hasattr(process, "named_modules") else process
    code = getattr(inspect.unwrap(process), "__code__", None)
    if code is None:
        return frozenset()
    try:
        tree = _parsed("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):  # no source of Python
        return frozenset()
    lines = {number for _, _, number in code.co_lines() if number is not None}
    return frozenset(name for node in ast.walk(tree) if _is_on(node, lines) for name in _walked(node))


@lru_cache(8)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _is_on(node: ast.AST, lines: set[int]) -> bool:
    line: int = getattr(node.iter if isinstance(node, ast.comprehension) else node, "lineno", 0)
    return line in lines


def _walked(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.For | ast.comprehension):
        yield from _names([node.iter])
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from _names(node.args) if called in _TAKES_ALL else ()
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        yield from _names([each.value for each in node.elts if isinstance(each, ast.Starred)])


def _names(nodes: list[ast.expr]) -> Iterator[str]:
    """The names among expressions: alone, or as the dict whose items are asked for."""
    for node in nodes:
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys" | "values")):
                yield name
