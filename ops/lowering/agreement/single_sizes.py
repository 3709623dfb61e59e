"""Guards that torch adds since it treats a computed size of 1 as special, such as ``M - 2 != 1`` behind a convolution.

By it torch decides how results lie in memory, and whether they are broadcast; few models answer otherwise there. So
model and body run at the sizes that such a guard excludes, one by one and then together, and the guard allows those at
which they agree.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Protocol

from ...graph.guards import Expression
from ..call import Leaves
from .held_guards import holds_for_all, without_implied

MOST_SECONDS = 10.0  # spent on these runs: only large models keep guards
_MOST_SYMBOLS = 2  # of a guard
_LARGEST = 64  # of the sizes of two symbols at which a guard is looked at
_FEW = 4  # sizes that are tried one by one; of a box of more, its corners and its middle are


class SizeTrial(Protocol):
    """Runs model and body at other sizes than those of the example."""

    def agrees_at(self, sizes: Mapping[str, int], tensors: Leaves) -> bool:
        """Whether both answer alike where some symbols have other sizes."""
        ...

    def differs_at(self, sizes: Mapping[str, int], tensors: Leaves) -> bool:
        """Whether both answer, and otherwise, where some symbols have other sizes."""
        ...


@dataclass(frozen=True)
class _SizeBox:
    """Sizes of some symbols, each from the least to the largest."""

    ends: tuple[tuple[str, int, int], ...]

    def condition(self) -> Expression:
        """Holds for these sizes."""
        texts = (f"{n} == {a}" if a == b else f"{n} >= {a} and {n} <= {b}" for n, a, b in self.ends)
        return Expression.parse(" and ".join(texts))

    def others(self) -> Expression:
        """Holds for all other sizes."""
        texts = (f"{n} != {a}" if a == b else f"{n} < {a} or {n} > {b}" for n, a, b in self.ends)
        return Expression.parse(" or ".join(texts))

    def largest(self) -> dict[str, int]:
        """The largest size of each symbol."""
        return {name: most for name, _, most in self.ends}

    def tried(self) -> Iterator[dict[str, int]]:
        """The sizes that stand for all of them: the ends and the middle of each symbol."""
        for sizes in product(*(sorted({least, (least + most) // 2, most}) for _, least, most in self.ends)):
            yield {name: size for (name, _, _), size in zip(self.ends, sizes, strict=True)}


def allowing(
    guards: Sequence[Expression], present: Mapping[str, int], trial: SizeTrial, tensors: Leaves
) -> list[Expression]:
    """The guards, where those that set computed sizes apart allow the sizes at which model and body agree.

    Args:
        guards: of the body.
        present: the size of each of its symbols in the example; larger ones are not tried.
        trial: runs model and body.
        tensors: the example.
    """
    until = time.perf_counter() + MOST_SECONDS
    parts = list(dict.fromkeys(part for guard in guards for part in _parts(guard)))
    others = [part for part in parts if not _sets_some_apart(part)]

    def agrees(sizes: Mapping[str, int]) -> bool:
        return time.perf_counter() < until and trial.agrees_at(sizes, tensors)

    found, boxes = list[Expression](), list[_SizeBox]()
    for part in parts:
        own = [] if part in others else list(_agreeing(part, others, present, agrees))
        boxes += own
        wide = Expression.any_of([part, *(box.condition() for box in own)]) if own else part
        found += [] if part not in others and holds_for_all(wide, others) else [wide]
    for sizes, apart in _together(list(dict.fromkeys(boxes)), [*present]):
        if time.perf_counter() > until:
            return list(guards)
        found += [apart] if trial.differs_at(sizes, tensors) else []
    return without_implied(found)


def sets_apart(tree: ast.expr) -> bool:
    """Whether an expression ends in a comparison by which torch excludes a computed size of 0 or 1."""
    match tree:
        case ast.BoolOp(_, [*_, last]):
            return sets_apart(last)
        case ast.Compare(
            ast.Call(ast.Name("min"), [ast.Constant(one), ast.BinOp(ast.Constant(step), ast.Mult(), ast.Name())]),
            [ast.Eq()],
            [ast.Constant(least)],
        ):  # a step in memory, which is another one for a size of 0
            return bool(one == step == least)
        case ast.Compare(_, [*_, operator], [*_, ast.Constant(bound)]):
            return (type(operator), bound) in ((ast.GtE, 2), (ast.Gt, 1), (ast.NotEq, 1), (ast.NotEq, 0))
        case ast.Compare():  # of the steps in memory, which torch counts as if no size were 0
            return any(map(_is_step, ast.walk(tree)))
    return False


def holds_at(condition: Callable[..., Any], sizes: Mapping[str, int]) -> bool:
    """Whether a compiled condition holds for some sizes."""
    try:
        return bool(condition(*sizes.values()))
    except ArithmeticError:
        return False


def _is_step(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Name("max"), args):
            return any(isinstance(each, ast.Constant) and each.value == 1 for each in args)
    return False


def _parts(guard: Expression) -> list[Expression]:
    """The conditions of which all must hold."""
    match guard.tree:
        case ast.BoolOp(ast.And(), values):
            return [part for value in values for part in _parts(Expression.of(value))]
    return [guard]


def _sets_some_apart(guard: Expression) -> bool:
    """Whether some part of a condition sets a computed size of 0 or 1 apart: not one that sets that of an input."""
    compared = [each for each in ast.walk(guard.tree) if isinstance(each, ast.Compare)]
    return any(sets_apart(each) and not isinstance(each.left, ast.Name) for each in compared)


def _agreeing(
    guard: Expression,
    others: Sequence[Expression],
    present: Mapping[str, int],
    agrees: Callable[[Mapping[str, int]], bool],
) -> Iterator[_SizeBox]:
    """Sizes that a guard excludes and the others do not, and at which model and body agree."""
    symbols = sorted(guard.symbols)
    if len(symbols) > _MOST_SYMBOLS:
        return
    alone = len(symbols) == 1
    beside = [other.compile(symbols) for other in others if other.symbols <= guard.symbols]
    holds = guard.compile(symbols)
    sizes = [
        range(2 if alone else 0, present[name] + 1 if alone else min(present[name], _LARGEST) + 1) for name in symbols
    ]
    points = [dict(zip(symbols, point, strict=True)) for point in product(*sizes)]
    excluded = [p for p in points if not holds_at(holds, p) and all(holds_at(each, p) for each in beside)]
    for box, inside in _boxes(excluded, symbols):
        if all(map(agrees, box.tried())):
            yield box
        else:
            yield from (_of_point(point) for point in inside[-_FEW:] if agrees(point))


def _boxes(points: Sequence[dict[str, int]], symbols: Sequence[str]) -> Iterator[tuple[_SizeBox, list[dict[str, int]]]]:
    """Boxes with the points in them: of one symbol the runs of sizes that follow each other."""
    runs = list[list[dict[str, int]]]()
    for point in points:
        if runs and (len(symbols) > 1 or runs[-1][-1][symbols[0]] == point[symbols[0]] - 1):
            runs[-1].append(point)
        else:
            runs.append([point])
    for run in runs:
        ends = tuple((name, min(p[name] for p in run), max(p[name] for p in run)) for name in symbols)
        count = 1
        for _, least, most in ends:
            count *= most - least + 1
        if count == len(run):
            yield _SizeBox(ends), run
        elif len(run) <= _FEW:
            yield from ((_of_point(point), [point]) for point in run)


def _of_point(point: Mapping[str, int]) -> _SizeBox:
    return _SizeBox(tuple((name, size, size) for name, size in point.items()))


def _together(boxes: Sequence[_SizeBox], symbols: Sequence[str]) -> Iterator[tuple[dict[str, int], Expression]]:
    """Sizes of several symbols at once, with the guard against them: what is right one by one may not be together."""
    ones = [_of_point({symbol: 1}) for symbol in symbols]
    pairs = [*combinations(boxes, 2), *product(boxes, ones)]
    whole = dict[str, int]()
    several = list[_SizeBox]()
    for box in boxes:
        if not box.largest().keys() & whole.keys():
            whole |= box.largest()
            several.append(box)
    for each in (*pairs, tuple(several)):
        sizes = {name: size for box in each for name, size in box.largest().items()}
        if len(each) > 1 and len(sizes) == sum(len(box.ends) for box in each):
            yield sizes, Expression.any_of(box.others() for box in each)
