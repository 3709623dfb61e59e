"""Converts the facts about sizes that torch.export found to the Facts of a body.

torch.export reports its guards as Python text over ``L['x'].size()[0]``. Here they become expressions over symbols
(`guards`), equal sizes become one symbol, and fixed sizes become integers in the input types. The text is parsed once;
expressions are trees from then on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..graph.errors import GraphError, LoweringError
from ..graph.graph import Facts
from ..graph.guards import Expression, renamed, syntax_tree

_ALPHABET = "NMKLPQRSTUVWABCDEFGHIJ"


@dataclass
class Sizes:
    """The facts about the sizes of flat inputs.

    Attributes:
        shapes: the shape of each in symbols.
        facts: the symbols, and the guards over them.
        letters: torch's symbol -> our symbol, or its fixed size.
    """

    shapes: list[tuple[int | str, ...]]
    facts: Facts
    letters: dict[str, str | int]


def names() -> Iterator[str]:
    """Names for symbols: N, M, K …, then N1, M1 …"""
    yield from _ALPHABET
    count = 1
    while True:
        yield from (f"{letter}{count}" for letter in _ALPHABET)
        count += 1


def read_sizes(
    shapes: Sequence[tuple[object, ...]],
    ranges: dict[str, tuple[int, int | None]],
    guards: Sequence[str],
    sources: Sequence[str],
) -> Sizes:
    """Reads the result of torch.export.

    Args:
        shapes: for each flat input its shape: integers, or torch's symbol as text.
        ranges: the least and the largest value of each symbol, None for no bound.
        guards: the conditions, as torch.export prints them.
        sources: the text of each flat input in torch.export, such as ``"L['x']"``.

    Raises:
        LoweringError: a condition is on something else than sizes.
    """
    over_places = _OverPlaces(sources)
    return settle(shapes, ranges, [over_places.expression(guard) for guard in guards])


def settle(
    shapes: Sequence[tuple[object, ...]], ranges: dict[str, tuple[int, int | None]], asked: Sequence[Expression]
) -> Sizes:
    """Joins equal dimensions, fixes those that are known, and keeps the other conditions over symbols.

    Args:
        shapes: for each flat input its shape: integers, or a symbol as text.
        ranges: the least and the largest value of each of these symbols.
        asked: conditions over dimensions, which have the names of `dimension`.
    """
    classes = _Classes(shapes)
    rest = [condition for condition in asked if not classes.absorb(condition)]
    symbols, shaped = classes.shapes()
    names = classes.renaming(symbols)
    conditions = [condition.renamed(names) for condition in rest]
    conditions += classes.bounds(ranges, names)
    kept = [c for c in dict.fromkeys(conditions) if not _trivial(c)]
    letters = {symbol: names[name] for symbol, name in classes.torch_symbols.items()}
    return Sizes(shaped, Facts(symbols, tuple(kept)), letters)


def dimension(index: int, dim: int) -> str:
    """The name of a dimension of an input in conditions that `settle` takes: ``d0_1`` is the second of the first."""
    return f"d{index}_{dim}"


def equal_sizes(place: tuple[int, int], size: int | tuple[int, int]) -> Expression:
    """The condition that a dimension has a size, or that of another dimension."""
    return Expression.parse(f"{dimension(*place)} == {size if isinstance(size, int) else dimension(*size)}")


def over_letters(size: str, letters: Mapping[str, str | int]) -> int | str:
    """A size that torch computed, written over our symbols.

    Example:
        >>> over_letters("(((s2 - 1)//2)) + 1", {"s2": "M"}), over_letters("2*s7", {"s7": 4})
        ('(M - 1) // 2 + 1', 8)
    """
    tree = renamed(syntax_tree(size).body, letters)
    try:
        found = Expression.of(tree)
    except GraphError:  # a function of torch that is not in the grammar of guards
        return ast.unparse(tree)
    return found.text if found.symbols else int(found.compile([])())


def with_numbers(sizes: Sizes, numbers: Sequence[int]) -> Sizes:
    """The sizes where some inputs are numbers: each number becomes a symbol of its own.

    Args:
        sizes: the facts with a tensor in place of each number, which is its first size.
        numbers: which inputs are numbers.
    """
    symbols, guards = dict(sizes.facts.symbols), list(sizes.facts.guards)
    unused = (name for name in names() if name not in symbols)
    for index in numbers:
        symbol = sizes.shapes[index][0]
        if symbols.get(str(symbol)) != (index, 0):
            own = next(unused)
            symbols[own] = (index, 0)
            guards.append(Expression.parse(f"{own} == {symbol}"))
            symbol = own
        guards.append(Expression.parse(f"{symbol} >= 0"))
    return replace(sizes, facts=Facts(symbols, tuple(guards)))


class _OverPlaces(ast.NodeTransformer):
    """Rewrites conditions of torch.export over dimensions, which get the names of `dimension`.

    Args:
        sources: the text of each flat input in torch.export.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._place = {ast.unparse(syntax_tree(source)): index for index, source in enumerate(sources)}
        self._guard = ""

    def expression(self, guard: str) -> Expression:
        """A condition from torch's text.

        Raises:
            LoweringError: the condition is on something else than sizes of inputs.
        """
        self._guard = guard
        tree = self.visit(syntax_tree(guard))
        if any(isinstance(node, ast.Name) and node.id == "L" for node in ast.walk(tree)):
            raise LoweringError("the model depends on more than the sizes of its inputs", got=guard)
        return Expression.of(tree.body)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replaces ``L['x'].size()[0]`` by the name of the dimension."""
        match node:
            case ast.Subscript(ast.Call(ast.Attribute(source, "size"), [], []), ast.Constant(int(dim))):
                if (name := ast.unparse(source)) not in self._place:
                    raise LoweringError(
                        "the model depends on the size of something that is not an input", got=self._guard
                    )
                return ast.Name(dimension(self._place[name], dim), ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replaces ``torch.sym_max`` and ``math.ceil`` by the functions ``max`` and ``ceil`` of the grammar."""
        match node:
            case ast.Attribute(ast.Name("torch" | "math"), name):
                return ast.Name(name.removeprefix("sym_"), ast.Load())
        return node


class _Classes:
    """Dimensions that are equal, as a union-find over names like ``d0_1``."""

    def __init__(self, shapes: Sequence[tuple[object, ...]]) -> None:
        self.given = shapes
        self.parent: dict[str, str] = {}
        self.fixed: dict[str, int] = {}
        self.torch_symbols: dict[str, str] = {}
        for index, shape in enumerate(shapes):
            for dim, size in enumerate(shape):
                self._add(dimension(index, dim), size)

    def _add(self, name: str, size: object) -> None:
        self.parent[name] = name
        if isinstance(size, int):
            self.fixed[name] = size
        elif str(size).isidentifier():
            self.join(self.torch_symbols.setdefault(str(size), name), name)

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def join(self, a: str, b: str) -> None:
        first, second = sorted((self.find(a), self.find(b)), key=_order)
        self.parent[second] = first
        if second in self.fixed:
            self.fixed.setdefault(first, self.fixed[second])

    def absorb(self, condition: Expression) -> bool:
        """Applies a condition that fixes a size or makes two equal; returns whether it was one."""
        match condition.tree:
            case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(int(size))]) if name in self.parent:
                self.fixed[self.find(name)] = size
                return True
            case ast.Compare(ast.Name(a), [ast.Eq()], [ast.Name(b)]) if a in self.parent and b in self.parent:
                self.join(a, b)
                return True
        return False

    def shapes(self) -> tuple[dict[str, tuple[int, int]], list[tuple[int | str, ...]]]:
        """The place of each symbol's definition, and the inputs' shapes."""
        supply, symbol_of = names(), {}
        symbols: dict[str, tuple[int, int]] = {}
        shaped: list[tuple[int | str, ...]] = []
        for index, shape in enumerate(self.given):
            dims: list[int | str] = []
            for dim in range(len(shape)):
                root = self.find(dimension(index, dim))
                if root in self.fixed:
                    dims.append(self.fixed[root])
                    continue
                if root not in symbol_of:
                    symbol_of[root] = next(supply)
                    symbols[symbol_of[root]] = (index, dim)
                dims.append(symbol_of[root])
            shaped.append(tuple(dims))
        return symbols, shaped

    def renaming(self, symbols: dict[str, tuple[int, int]]) -> dict[str, str | int]:
        """The name of a dimension, such as ``d0_1`` -> its symbol or its fixed size."""
        by_root = {self.find(dimension(*place)): name for name, place in symbols.items()}
        return {n: self.fixed.get(self.find(n), by_root.get(self.find(n), n)) for n in self.parent}

    def bounds(self, ranges: dict[str, tuple[int, int | None]], names: Mapping[str, str | int]) -> Iterator[Expression]:
        """Conditions for the ranges of those of torch's symbols that are dimensions."""
        for symbol, (least, most) in ranges.items():
            name = names.get(self.torch_symbols.get(symbol, ""))
            if isinstance(name, str):
                if least > 0:
                    yield Expression.parse(f"{name} >= {least}")
                if most is not None:
                    yield Expression.parse(f"{name} <= {most}")


def _order(name: str) -> tuple[int, int]:
    index, dim = name[1:].split("_")
    return int(index), int(dim)


def _trivial(condition: Expression) -> bool:
    """Whether a condition over fixed sizes alone already holds."""
    return not condition.symbols and bool(condition.compile([])())
