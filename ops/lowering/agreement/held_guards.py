"""Guards that say nothing: those that hold for all sizes, and those that follow from others.

All small sizes are tried. Where a sum, a product or a quotient grows with each size, it stays beyond its bound from
the last of them on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import product

from ...graph.guards import Expression

_LARGEST = {1: 1 << 10, 2: 65}
"""How many sizes of each symbol are tried, by the number of symbols."""


def holds_for_all(guard: Expression, others: Sequence[Expression]) -> bool:
    """Whether a guard holds for all sizes for which others do that are on its symbols."""
    symbols = sorted(guard.symbols)
    count = _LARGEST.get(len(symbols))
    if count is None:
        return False
    held = _ask(guard.tree, symbols, count - 1)
    beside = [_ask(other.tree, symbols, count - 1) for other in others if other.symbols <= guard.symbols]
    points = product(range(count), repeat=len(symbols))
    return all(held(sizes) or any(other(sizes) is False for other in beside) for sizes in points)


def without_implied(guards: Sequence[Expression]) -> list[Expression]:
    """The guards with one least size for each symbol on which there are such conditions only."""
    found = list(dict.fromkeys(guards))
    for symbol in sorted({name for guard in found for name in guard.symbols}):
        own = [guard for guard in found if guard.symbols == {symbol}]
        if own and (least := _least(own, symbol)) is not None:
            at = found.index(own[0])
            found = [guard for guard in found if guard not in own]
            found[at:at] = [Expression.parse(f"{symbol} >= {least}")] if least else []
    return found


def _least(guards: Sequence[Expression], symbol: str) -> int | None:
    """The size from which on all guards on a symbol hold; None where they hold for others, too, or it is not known."""
    asked = [_ask(guard.tree, [symbol], _LARGEST[1] - 1) for guard in guards]
    held = [[ask((size,)) for ask in asked] for size in range(_LARGEST[1])]
    least = next((size for size, each in enumerate(held) if all(each)), len(held))
    known = least < len(held) and all(map(all, held[least:]))
    return least if known and not any(None in each for each in held) else None


Ask = Callable[[tuple[int, ...]], bool | None]


def _ask(tree: ast.expr, symbols: Sequence[str], last: int) -> Ask:
    """Tells whether a condition holds for some sizes, where `last` is any from there on; None where that differs."""
    match tree:
        case ast.BoolOp(word, values):
            asked, decisive = [_ask(value, symbols, last) for value in values], isinstance(word, ast.Or)

            def of_several(sizes: tuple[int, ...]) -> bool | None:
                found = [ask(sizes) for ask in asked]
                return decisive if decisive in found else None if None in found else not decisive

            return of_several
        case ast.Compare(left, [_], [right]):
            condition = Expression.of(tree)
            holds, places = condition.compile(symbols), [symbols.index(name) for name in condition.symbols]
            value = Expression.of(left).compile(symbols)
            bound = right.value if isinstance(right, ast.Constant) and _grows(left) else None

            def of_one(sizes: tuple[int, ...]) -> bool | None:
                try:
                    beyond = bound is not None and value(*sizes) > bound
                    differs = not beyond and any(sizes[place] == last for place in places)
                    return None if differs else bool(holds(*sizes))
                except ArithmeticError:
                    return False

            return of_one
    return lambda sizes: None


def _grows(tree: ast.expr) -> bool:
    """Whether an expression is never less for larger sizes."""
    match tree:
        case ast.Name() | ast.Constant(int()) | ast.UnaryOp(ast.USub(), ast.Constant(int())):
            return True
        case ast.BinOp(left, ast.Add(), right):
            return _grows(left) and _grows(right)
        case ast.BinOp(left, ast.Sub(), ast.Constant(int())):
            return _grows(left)
        case ast.BinOp(left, ast.FloorDiv(), ast.Constant(int(by))) if by > 0:
            return _grows(left)
        case ast.BinOp(left, ast.Mult(), right):
            return all(_grows(each) and _at_nothing(each) >= 0 for each in (left, right))
        case ast.Call(ast.Name("max" | "min"), args):
            return all(map(_grows, args))
    return False


def _at_nothing(tree: ast.expr) -> int:
    """The value of an expression where all sizes are 0, the least of one that grows."""
    found = Expression.of(tree)
    return int(found.compile(names := sorted(found.symbols))(*(0 for _ in names)))
