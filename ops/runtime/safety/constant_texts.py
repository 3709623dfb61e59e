r"""The texts that an expression in a block of plain Python may be, where its text has all of them.

So it is for what a loop takes of a table in the block: ``for pattern, label in ((r"\d+", "int"), ...)``. A block of a
file that is not trusted may try to put another text into a table, so a table is used for nothing but to read of it,
and what it holds cannot be changed.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

_GIVE = frozenset(("items", "keys", "values", "get"))  # methods of a table
_WALK = frozenset(("enumerate", "list", "reversed", "sorted", "tuple"))  # functions that only read of it
_MOST_STEPS = 20  # from a name to its table


class ConstantTexts:
    """The constant texts of a block.

    Args:
        tree: the block, which was checked.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._sources: defaultdict[str, list[ast.expr | None]] = defaultdict(list)
        self._loads: defaultdict[str, list[int]] = defaultdict(list)
        self._reads: set[int] = set()
        known: set[int] = set()
        for node in ast.walk(tree):
            for target, source in _bound(node):
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        known.add(id(each))
                        self._sources[each.id].append(source)
            self._reads.update(map(id, _read(node)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._loads[node.id].append(id(node))
            elif not (isinstance(node, ast.Name) and id(node) in known):
                for name in _other_names(node):
                    self._sources[name].append(None)

    def of(self, expression: ast.expr, table: bool = False, steps: int = 0) -> list[str] | None:
        """The texts that an expression, or an item of it, may be; None where the block does not have all of them.

        Args:
            expression: the expression.
            table: whether something is taken of it, so that it may be a list.
            steps: how many were made before.
        """
        if steps > _MOST_STEPS:
            return None
        match expression:
            case ast.Name(name):
                sources = self._sources.get(name, [])
                if not sources or (table and not self._reads.issuperset(self._loads[name])):
                    return None
                return self._of_all(sources, table or any(map(_is_walked, sources)), steps)
            case ast.Subscript(held):
                return self.of(held, True, steps + 1)
            case ast.Call(ast.Attribute(held, name), arguments, []) if name in _GIVE:
                return self._of_all([held, *arguments[1:]], True, steps)
            case ast.Call(ast.Name(name), [held], []) if name in _WALK and name not in self._sources:
                return self.of(held, True, steps + 1)
            case ast.IfExp(_, body, orelse):
                return self._of_all([body, orelse], table, steps)
        return _of_literal(expression, inner=False)

    def _of_all(self, sources: Iterable[ast.expr | None], table: bool, steps: int) -> list[str] | None:
        found = [None if each is None else self.of(each, table, steps + 1) for each in sources]
        texts = [each for each in found if each is not None]
        return [text for each in texts for text in each] if len(texts) == len(found) else None


def _is_walked(source: ast.expr | None) -> bool:
    return not isinstance(source, ast.Constant | ast.IfExp)


def _of_literal(expression: ast.expr | None, inner: bool) -> list[str] | None:
    """The texts in a literal; what is inside of another can be changed only where it is a tuple."""
    match expression:
        case ast.Constant(value):
            return [value] if isinstance(value, str) else []
        case ast.Tuple(items):
            found = [_of_literal(each, inner=True) for each in items]
        case ast.List(items) | ast.Set(items) if not inner:
            found = [_of_literal(each, inner=True) for each in items]
        case ast.Dict(keys, values) if not inner:
            found = [_of_literal(each, inner=True) for each in (*keys, *values)]
        case _:
            return None
    texts = [each for each in found if each is not None]
    return [text for each in texts for text in each] if len(texts) == len(found) else None


def _bound(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement or a loop binds, each with what it comes from."""
    match node:
        case ast.For(target, source) | ast.comprehension(target, source):
            yield target, source
        case ast.Assign(targets, source):
            yield from ((target, source) for target in targets if isinstance(target, ast.Name))


def _read(node: ast.AST) -> Iterator[ast.Name]:
    """The names that something is read of, and nothing else."""
    match node:
        case ast.For(_, ast.Name() as held) | ast.comprehension(_, ast.Name() as held):
            yield held
        case ast.Subscript(ast.Name() as held, _, ast.Load()):
            yield held
        case ast.Call(ast.Attribute(ast.Name() as held, name)) if name in _GIVE:
            yield held
        case ast.Call(ast.Name(name), [ast.Name() as held], []) if name in _WALK:
            yield held


def _other_names(node: ast.AST) -> Iterator[str]:
    """The names that a node binds in any other way."""
    match node:
        case (
            ast.Name(name)
            | ast.arg(name)
            | ast.FunctionDef(name)
            | ast.ClassDef(name)
            | ast.ExceptHandler(_, str(name))
        ):
            yield name
        case ast.alias(name, other):
            yield (other or name).partition(".")[0]
        case ast.Global(names) | ast.Nonlocal(names):
            yield from names
        case ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)) | ast.MatchMapping(_, _, str(name)):
            yield name
