"""`with suppress(ValueError):` as the `try` that does the same, which is what all that reads source knows."""

from __future__ import annotations

import ast
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

Part = TypeVar("Part", bound=ast.AST)
_MODULE, _NAME = suppress.__module__, suppress.__name__


def as_tries(part: Part, source: str) -> Part:
    """A part of a file, changed in place, in which each `suppress` of contextlib is a `try`.

    Args:
        part: the part.
        source: the whole file, which says what is called so in it.
    """
    if names := _names_of_suppress(source):
        _Suppressing(names).visit(part)
    return part


@lru_cache(8)
def _names_of_suppress(source: str) -> frozenset[str]:
    """What a file calls `contextlib.suppress`, as expressions; nothing that it may have bound to another thing, too.

    A name that the file does not bind at all is one of another cell of a notebook.
    """
    if _NAME not in source:
        return frozenset()
    tree = ast.parse(source)
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    known, others = set[str](), _bound_names(tree)
    for line in imports:
        origin = getattr(line, "module", None)
        for each in line.names:
            name = each.asname or each.name
            if origin is None and each.name == _MODULE:
                known.add(f"{name}.{_NAME}")
            elif (origin, each.name) == (_MODULE, _NAME):
                known.add(name)
            else:
                others.add(name.partition(".")[0])
    bound = {name.partition(".")[0] for name in known} | others
    elsewhere = {_NAME, f"{_MODULE}.{_NAME}"} if "*" not in others else set[str]()
    known |= {name for name in elsewhere if name.partition(".")[0] not in bound}
    return frozenset(name for name in known if name.partition(".")[0] not in others)


def _bound_names(tree: ast.AST) -> set[str]:
    """The names that a file binds without an import."""
    found = set[str]()
    for part in ast.walk(tree):
        match part:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                found.add(name)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
                found.add(name)
    return found


class _Suppressing(ast.NodeTransformer):
    """Args: names: what `contextlib.suppress` is called."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_With(self, node: ast.With) -> ast.stmt:
        """A `with` whose items suppress errors as nested statements: the first item is the outermost."""
        self.generic_visit(node)
        kinds = [self._kinds(item) for item in node.items]
        if not any(kinds):
            return node
        body, kept = node.body, list[ast.withitem]()
        for item, kind in reversed([*zip(node.items, kinds, strict=True)]):
            if kind is None:
                kept.insert(0, item)
                continue
            body = [_placed(ast.With(kept, body), node)] if kept else body
            handler = ast.ExceptHandler(kind, None, [ast.Pass()])
            body, kept = [_placed(ast.Try(body, [handler], [], []), node)], []
        return _placed(ast.With(kept, body), node) if kept else body[0]

    def _kinds(self, item: ast.withitem) -> ast.expr | None:
        """What an item of a `with` suppresses, as the expression behind `except`; None where it does not."""
        match item:
            case ast.withitem(ast.Call(name, [first, *others], []), None) if ast.unparse(name) in self._names:
                alone = not others and not isinstance(first, ast.Starred)
                return first if alone else ast.Tuple([first, *others], ast.Load())
        return None


def _placed(made: ast.stmt, place: ast.stmt) -> ast.stmt:
    ast.copy_location(made, place)
    return ast.fix_missing_locations(made)
