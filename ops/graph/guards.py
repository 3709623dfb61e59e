"""Guard expressions: conditions over the symbols of a signature, such as ``"N % 3 == 0"``.

They are stored as text in a small part of Python's grammar: integers, floats, symbols, ``+ - * / // % **``,
comparisons, ``and or not``, and calls of `FUNCTIONS`. Text from a file is parsed and checked against that grammar
before it is compiled, so it can run nothing else.
"""

from __future__ import annotations

import ast
import keyword
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .errors import GraphError

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "int": int,
    "float": float,
}
_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt,
    ast.GtE, ast.Name, ast.Load, ast.Constant, ast.Call, ast.IfExp,
)  # fmt: skip
_LONGEST = 10_000
_DEEPEST = 100  # levels of brackets and operators, so that Python's own parser and compiler have room
_MOST_POWERS = 4  # with exponents up to 8: nested powers must not grow without end


def parse(text: str) -> ast.Expression:
    """Parses an expression and checks that it is in the grammar.

    Raises:
        GraphError: it is not.
    """
    if len(text) > _LONGEST:
        raise GraphError("a guard expression is too long", got=f"{len(text)} characters", expected=_LONGEST)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphError("a guard expression cannot be parsed", got=repr(text[:200])) from error
    powers = 0
    for node in _levels(tree, text):
        powers += isinstance(node, ast.Pow)
        if not _allowed(node) or powers > _MOST_POWERS:
            raise GraphError("a guard expression uses what it may not", got=f"{type(node).__name__} in {text[:200]!r}")
    return tree


def _levels(tree: ast.AST, text: str) -> Iterator[ast.AST]:
    """The nodes of a tree, level by level."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        yield from level
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise GraphError("a guard expression is nested too deeply", got=repr(text[:200]), expected=f"{_DEEPEST} levels")


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool)
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
        several = isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
        return named and (len(node.args) >= 2 if several else len(node.args) == 1)
    if isinstance(node, ast.Name):
        return is_plain_name(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant) and node.right.value in (*range(9), 0.5)
    return isinstance(node, _NODES)


def symbols(text: str) -> set[str]:
    """The symbols of an expression."""
    return {n.id for n in ast.walk(parse(text)) if isinstance(n, ast.Name) and n.id not in FUNCTIONS}


def plain(text: str) -> str:
    """An expression as a person would write it, without needless brackets.

    Example:
        >>> plain("((1 + (((-1) + M) // 2)) != 1)")
        '1 + (-1 + M) // 2 != 1'
    """
    return ast.unparse(parse(text))


def compile_expression(text: str, names: Iterable[str]) -> Callable[..., Any]:
    """Compiles an expression to a function of its symbols, given by position in the order of `names`.

    Raises:
        GraphError: the text is not in the grammar, or uses a symbol that is not among the names.
    """
    places = {name: index for index, name in enumerate(names)}
    tree = parse(text)
    used = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in FUNCTIONS})
    if not all(name in places and is_plain_name(name) for name in used):
        raise GraphError(
            "a guard expression names an unknown symbol", got=repr(text[:200]), expected=str(sorted(places))[:200]
        )
    function = ast.parse(f"lambda {', '.join(used)}: 0", mode="eval")
    assert isinstance(function.body, ast.Lambda)
    function.body.body = tree.body
    code = compile(ast.fix_missing_locations(function), "<guard>", "eval")
    compiled: Callable[..., Any] = eval(code, {"__builtins__": {}, **FUNCTIONS})
    chosen = [places[name] for name in used]
    return compiled if used == list(places) else lambda *values: compiled(*(values[index] for index in chosen))


def is_plain_name(text: str) -> bool:
    """Whether a text is an identifier that Python takes as it is written.

    Python normalises identifiers, so that two texts can be one name; and some, such as ``__debug__``, nothing may be
    called.

    Example:
        >>> is_plain_name("scale"), is_plain_name("\\ufb01ll"), is_plain_name("__debug__"), is_plain_name("if")
        (True, False, False, False)
    """
    if not text.isidentifier() or keyword.iskeyword(text) or len(text) > 200:
        return False
    return unicodedata.normalize("NFKC", text) == text and not text.startswith("__")
