"""Guard expressions: conditions over the symbols of a signature, such as ``"N % 3 == 0"``.

Archives hold them as text in a small part of Python's grammar: integers, floats, symbols, ``+ - * / // % **``,
comparisons, ``and or not``, and calls of `FUNCTIONS`. In memory each is an `Expression`: parsed once, checked against
that grammar, so that it can run nothing else, and changed as a tree, never as text.
"""

from __future__ import annotations

import ast
import copy
import keyword
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import Any

from .errors import GraphError
from .frozen_class import frozen

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
_TRIES = 20
_MOST_POWERS = 4  # each with an exponent of 8 at most: so nested powers stay small
_LARGEST_POWER = 8
_MOST_BITS = 64  # of an integer
_LONGEST_NAME = 200


def syntax_tree(text: str) -> ast.Expression:
    """`ast.parse` of an expression, once more where other threads disturb it.

    Before 3.11.8 and 3.12.2, CPython raises `SystemError` where a collection of garbage inside of `ast.parse` lets
    another thread parse, too: one count of levels served all threads.
    """
    for _ in range(_TRIES):
        with suppress(SystemError):
            return ast.parse(text, mode="eval")
    return ast.parse(text, mode="eval")


def parse(text: str) -> ast.Expression:
    """Parses an expression and checks that it is in the grammar.

    Raises:
        GraphError: it is not.
    """
    if len(text) > _LONGEST:
        raise GraphError("a guard expression is too long", got=f"{len(text)} characters", expected=_LONGEST)
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphError("a guard expression cannot be parsed", got=repr(text[:200])) from error
    powers = 0
    for node in _levels(tree, text):
        powers += isinstance(node, ast.Pow)
        if not _allowed(node) or powers > _MOST_POWERS:
            raise GraphError(
                "a guard expression is outside of the grammar", got=f"{type(node).__name__} in {text[:200]!r}"
            )
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
        long = type(node.value) is int and node.value.bit_length() > _MOST_BITS
        return type(node.value) in (int, float, bool) and not long
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
        several = isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
        return named and (len(node.args) >= 2 if several else len(node.args) == 1)
    if isinstance(node, ast.Name):
        return is_plain_name(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant) and node.right.value in (*range(_LARGEST_POWER + 1), 0.5)
    return isinstance(node, _NODES)


@frozen
class Expression:
    """An expression that was parsed and is in the grammar. Two are equal where their texts are.

    Attributes:
        text: the text in an archive: the one that was parsed, or the printed form of an expression built from others.
        tree: the parsed text; it is never changed.
    """

    text: str
    tree: ast.expr = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Reads an expression.

        Raises:
            GraphError: it is not in the grammar.
        """
        return cls(text, parse(text).body)

    @classmethod
    def of(cls, tree: ast.expr) -> Expression:
        """The expression of a tree.

        Raises:
            GraphError: it is not in the grammar.
        """
        return cls.parse(ast.unparse(tree))

    @classmethod
    def any_of(cls, parts: Iterable[Expression]) -> Expression:
        """An expression that holds where one of the parts holds; a single part is returned as it is."""
        return cls._joined(ast.Or(), list(parts))

    @classmethod
    def all_of(cls, parts: Iterable[Expression]) -> Expression:
        """An expression that holds where all parts hold; a single part is returned as it is."""
        return cls._joined(ast.And(), list(parts))

    @classmethod
    def _joined(cls, operator: ast.boolop, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else cls.of(ast.BoolOp(operator, [part.tree for part in parts]))

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> str:
        """The text as a person would write it, without needless brackets.

        Example:
            >>> Expression.parse("((1 + (((-1) + M) // 2)) != 1)").plain
            '1 + (-1 + M) // 2 != 1'
        """
        return ast.unparse(self.tree)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols in it."""
        return frozenset(n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id not in FUNCTIONS)

    def renamed(self, names: Mapping[str, str | int]) -> Expression:
        """The expression with other symbols, or with numbers in place of symbols.

        Example:
            >>> str(Expression.parse("(N + M) % 2 == 0").renamed({"N": "K", "M": 3}))
            '(K + 3) % 2 == 0'
        """
        return Expression.of(renamed(self.tree, names))

    def shown(self, names: Mapping[str, str]) -> str:
        """The plain text with other words, such as ``x.size(0)``, in place of symbols."""
        return ast.unparse(renamed(self.tree, names))

    def compile(self, names: Iterable[str]) -> Callable[..., Any]:
        """A function of the symbols, given by position in the order of `names`.

        Raises:
            GraphError: it uses a symbol that is not among the names.
        """
        places = {name: index for index, name in enumerate(names)}
        used = sorted(self.symbols)
        if not all(name in places and is_plain_name(name) for name in used):
            got, expected = repr(self.text[:200]), str(sorted(places))[:200]
            raise GraphError("a guard expression names an unknown symbol", got=got, expected=expected)
        function = syntax_tree(f"lambda {', '.join(used)}: 0")
        assert isinstance(function.body, ast.Lambda)
        function.body.body = self.tree
        code = compile(ast.fix_missing_locations(function), "<guard>", "eval")
        compiled: Callable[..., Any] = eval(code, {"__builtins__": {}, **FUNCTIONS})
        if used == list(places):
            return compiled
        chosen = [places[name] for name in used]
        return lambda *values: compiled(*(values[index] for index in chosen))


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str | int]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A symbol, or the name of a function, which no symbol has."""
        name = self._names.get(node.id, node.id)
        return ast.Constant(name) if isinstance(name, int) else ast.Name(name, ast.Load())


def renamed(tree: ast.expr, names: Mapping[str, str | int]) -> ast.expr:
    """A copy of a tree with other names, or numbers, in place of names; functions keep theirs."""
    found: ast.expr = _Renaming(names).visit(copy.deepcopy(tree))
    return found


def plain(text: str) -> str:
    """An expression as a person would write it; see `Expression.plain`."""
    return Expression.parse(text).plain


def compile_expression(text: str, names: Iterable[str]) -> Callable[..., Any]:
    """Compiles an expression to a function of its symbols; see `Expression.compile`.

    Raises:
        GraphError: the text is not in the grammar, or uses a symbol that is not among the names.
    """
    return Expression.parse(text).compile(names)


def is_plain_name(text: str) -> bool:
    r"""Whether a text is an identifier that Python takes as it is written.

    Python normalises identifiers, so that two texts can be one name, and reserves some, such as ``__debug__``.

    Example:
        >>> is_plain_name("scale"), is_plain_name("\\ufb01ll"), is_plain_name("__debug__"), is_plain_name("if")
        (True, False, False, False)
    """
    if not text.isidentifier() or keyword.iskeyword(text) or len(text) > _LONGEST_NAME:
        return False
    return unicodedata.normalize("NFKC", text) == text and not text.startswith("__")
