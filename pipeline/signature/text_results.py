"""Whether a block of plain Python gives a text, whatever data it gets: by the expressions that it returns. No torch."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ...ops.graph.types import STR

_LONGEST = 10_000  # of a block that is looked at
_METHODS = frozenset(
    """lower upper strip lstrip rstrip replace title capitalize swapcase casefold zfill ljust rjust center expandtabs
    join removeprefix removesuffix format translate""".split()
)
"""The methods of str that give a text."""
_MAKERS = frozenset(("str", "repr", "ascii", "chr", "bin", "hex", "oct"))


def gives_text(source: Any, kinds: Sequence[Any]) -> bool:
    """Whether all that a block returns is a text.

    Args:
        source: the block, a function.
        kinds: those of its arguments.
    """
    if not isinstance(source, str) or len(source) > _LONGEST:
        return False
    try:
        body = ast.parse(source).body
        match body:
            case [ast.FunctionDef(_, ast.arguments(args=args), [*_, ast.Return()] as lines)] if len(args) == len(kinds):
                texts = {each.arg for each, kind in zip(args, kinds, strict=True) if kind == STR}
                return _returns_texts(lines, texts)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a file may hold anything
        pass
    return False


def _returns_texts(lines: Sequence[ast.stmt], given: Collection[str]) -> bool:
    """Whether all expressions that lines return are texts; code with functions of its own is not gone into."""
    nodes = [node for line in lines for node in ast.walk(line)]
    if any(isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.Yield) for node in nodes):
        return False
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    texts = {*given} - {*stored}
    for name, value in _set_once(lines, stored):
        texts |= {name} if _is_text(value, texts, stored) else set()
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    return all(value is not None and _is_text(value, texts, stored) for value in returned)


def _set_once(lines: Sequence[ast.stmt], stored: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """The names that the lines set, each in one place."""
    for line in lines:
        match line:
            case ast.Assign([ast.Name(name)], value) if stored.count(name) == 1:
                yield name, value


def _is_text(value: ast.expr, texts: Collection[str], stored: Collection[str]) -> bool:
    match value:
        case ast.JoinedStr() | ast.Constant(str()):
            return True
        case ast.Name(name):
            return name in texts
        case ast.IfExp(_, one, other) | ast.BinOp(one, ast.Add(), other):
            return _is_text(one, texts, stored) and _is_text(other, texts, stored)
        case ast.BinOp(left, ast.Mod()):
            return _is_text(left, texts, stored)
        case ast.Call(ast.Attribute(ast.Name("str"), name)) if "str" not in stored:
            return name in _METHODS
        case ast.Call(ast.Attribute(thing, name)):
            return name in _METHODS and _is_text(thing, texts, stored)
        case ast.Call(ast.Name(name)):
            return name in _MAKERS and name not in stored
    return False
