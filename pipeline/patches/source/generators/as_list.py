"""A generator function as one that fills a list with what it yields, and gives an iterator over that.

`yield item` becomes `items.append(item)`, and `yield from more` becomes `items.extend(more)`: loops that fill a list
are those of which a recording makes loops of any length.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from ..choice_expressions import called
from ..scoping import parameters
from .simple import adds_to, first_line, is_generator, is_simple, shared

Key = tuple[str, int]
"""The name of a function, and its first line."""


def with_lists(function: ast.AST, keys: Collection[Key]) -> int:
    """Writes generator functions anew in a tree, that of the function itself among them; returns how many.

    Args:
        function: changed in place.
        keys: those of the generators.
    """
    found = [each for each in ast.walk(function) if isinstance(each, ast.FunctionDef)]
    found = [each for each in found if (each.name, first_line(each)) in keys and is_generator(each) and is_simple(each)]
    for each in found:
        _write(each)
    return len(found)


def _write(function: ast.FunctionDef) -> None:
    taken = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)} | parameters(function.args)
    items, start = _free("items", taken), _free("start", taken)
    place = function.body[0]
    given = [ast.Name(name, ast.Load()) for name in _given(function.args)]
    begun = called("begun", place, *(ast.copy_location(each, place) for each in given))
    writer = _Yields(items, start, parameters(function.args), adds_to(function))
    body = [found for line in function.body for found in [writer.visit(line)]]
    function.body = [
        _set(start, begun, place), _set(items, ast.List([], ast.Load()), place), *body,
        writer.end(function.body[-1]),
    ]  # fmt: skip


def _given(arguments: ast.arguments) -> list[str]:
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _free(name: str, taken: set[str]) -> str:
    """A name that no variable has."""
    while name in taken:
        name += "_"
    return name


def _set(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    made = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), place)
    for part in (made.targets[0], value):
        ast.copy_location(part, place)
    return made


class _Yields(ast.NodeTransformer):
    """Writes the statements of a generator.

    Args:
        items: the name of the list.
        start: that of what its beginning gave.
        given: the parameters.
        added: the variables that `+=` may change in place.
    """

    def __init__(self, items: str, start: str, given: set[str], added: set[str]) -> None:
        self.items, self.start, self.given, self.added = items, start, given, added

    def end(self, place: ast.AST) -> ast.stmt:
        """The return of the iterator."""
        names = (ast.copy_location(ast.Name(name, ast.Load()), place) for name in (self.items, self.start))
        return ast.copy_location(ast.Return(called("yielded", place, *names)), place)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function inside, whose yields are its own."""
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """The generator ends."""
        return self.end(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop."""
        if not _has_end(node.iter, self.given):
            node.iter = called("finite", node.iter, node.iter)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """A yield, which is a statement."""
        match node.value:
            case ast.Yield(value):
                item = ast.copy_location(ast.Constant(None), node) if value is None else value
                changed = sorted(shared(item, self.added, slices=True))
                names = (ast.copy_location(ast.Name(name, ast.Load()), item) for name in changed)
                return self._filled("append", called("unchanging", item, item, *names) if changed else item, node)
            case ast.YieldFrom(value):
                end = _has_end(value, self.given)
                return self._filled("extend", value if end else called("finite", value, value), node)
        return node

    def _filled(self, method: str, value: ast.expr, place: ast.AST) -> ast.stmt:
        items = ast.copy_location(ast.Name(self.items, ast.Load()), place)
        bound = ast.copy_location(ast.Attribute(items, method, ast.Load()), place)
        return ast.copy_location(ast.Expr(ast.copy_location(ast.Call(bound, [value], []), place)), place)


_ENDS = ("enumerate", "zip", "reversed", "sorted", "list", "tuple", "set", "map", "filter")
_METHODS = tuple(
    "split rsplit splitlines items keys values tolist unbind chunk findall finditer partition flatten numpy".split()
)


def _has_end(value: ast.expr, given: set[str]) -> bool:
    """Whether what a loop goes through has an end by its form; parameters are looked at where the generator begins."""
    match value:
        case ast.Name(name):
            return name in given
        case ast.Call(ast.Name("range")) | ast.Subscript() | ast.List() | ast.Tuple() | ast.ListComp() | ast.Constant():
            return True
        case ast.Call(ast.Name(name), args) if name in _ENDS and args:
            return all(_has_end(each, given) or isinstance(each, ast.Lambda) for each in args)
        case ast.Call(ast.Attribute(_, name)):
            return name in _METHODS
    return False
