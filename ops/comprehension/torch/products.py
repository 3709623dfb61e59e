"""Sums of products as contractions, so that the space of all axes is never materialised.

The factors of a product are evaluated each over its own axes, which for plain accesses is a view, and contracted
pair by pair, the pair with the smallest result first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from ..expr.ir import Access, Const, Expr, Op, variables
from .values import Evaluator, Window

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Product:
    """`scale * product of factors / product of divisors`; divisors use no reduced axis."""

    scale: float | int
    factors: tuple[Expr, ...]
    divisors: tuple[Expr, ...] = ()


def split_product(e: Expr, left: Sequence[str]) -> Product:
    """Takes a product apart; what is no product is one factor."""
    if isinstance(e, Const) and not e.dtype.is_bool:
        return Product(e.value, ())
    if isinstance(e, Op) and e.name == "neg":
        inner = split_product(e.args[0], left)
        return Product(-inner.scale, inner.factors, inner.divisors)
    if isinstance(e, Op) and e.name == "*" and e.args[0].dtype == e.args[1].dtype:
        a, b = (split_product(x, left) for x in e.args)
        return Product(a.scale * b.scale, a.factors + b.factors, a.divisors + b.divisors)
    if isinstance(e, Op) and e.name == "/" and e.dtype.is_float and e.args[0].dtype == e.args[1].dtype:
        above, below = e.args
        if set(variables(below)) <= set(left):
            a = split_product(above, left)
            return Product(a.scale, a.factors, (*a.divisors, below))
    return Product(1, (e,))


@dataclass
class Operand:
    """A tensor with a name for each dimension."""

    tensor: torch.Tensor
    axes: list[str]


def contract(product: Product, left: list[str], reduced: list[str], values: Evaluator, window: Window) -> torch.Tensor:
    """The sum over the reduced axes, with one dimension for each axis of the left side (1 where unused)."""
    operands = [_operand(f, values) for f in product.factors]
    keep = set(left)
    while len(operands) > 1:
        a, b = _cheapest_pair(operands, keep, window)
        rest = [o for o in operands if o is not a and o is not b]
        operands = [*rest, _join(a, b, keep.union(*(o.axes for o in rest)))]
    last = operands[0]
    gone = [d for d, a in enumerate(last.axes) if a not in keep]
    total = last.tensor.sum(gone, dtype=last.tensor.dtype) if gone else last.tensor
    kept = [a for a in last.axes if a in keep]
    unused = set(reduced).difference(*(variables(f) for f in product.factors))
    scale = product.scale * prod(window[a][1] - window[a][0] for a in unused)
    result = total if scale == 1 else total * scale
    sizes = [window[a][1] - window[a][0] if a in kept else 1 for a in left]
    result = result.permute([kept.index(a) for a in left if a in kept]).reshape(sizes)
    outer = values.over(left)
    for divisor in product.divisors:
        result = result / outer.tensor(divisor)
    return result


def _operand(factor: Expr, values: Evaluator) -> Operand:
    axes = variables(factor)
    return Operand(values.over(axes).tensor(factor).expand(values.over(axes).shape), axes)


def _cheapest_pair(operands: list[Operand], keep: set[str], window: Window) -> tuple[Operand, Operand]:
    def cost(pair: tuple[Operand, Operand]) -> int:
        others = keep.union(*(o.axes for o in operands if o is not pair[0] and o is not pair[1]))
        return prod(window[a][1] - window[a][0] for a in {*pair[0].axes, *pair[1].axes} if a in others)

    pairs = [(a, b) for i, a in enumerate(operands) for b in operands[i + 1 :]]
    return min(pairs, key=cost)


def _join(a: Operand, b: Operand, needed: set[str]) -> Operand:
    axes = [x for x in dict.fromkeys([*a.axes, *b.axes]) if x in needed]
    if (product := _matrix_product(a, b, axes)) is not None:
        return product
    letter = {x: LETTERS[i] for i, x in enumerate(dict.fromkeys([*a.axes, *b.axes]))}
    left, right, out = ("".join(letter[x] for x in names) for names in (a.axes, b.axes, axes))
    if a.tensor.is_floating_point():
        return Operand(torch.einsum(f"{left},{right}->{out}", a.tensor, b.tensor), axes)
    # What einsum sums over first becomes an int64 there, and then does not fit the other; a cast back wraps.
    found = torch.einsum(f"{left},{right}->{out}", a.tensor.long(), b.tensor.long())
    return Operand(found.to(a.tensor.dtype), axes)


def _matrix_product(a: Operand, b: Operand, axes: list[str]) -> Operand | None:
    """`mm` where it fits: einsum would go through `bmm`, which takes a tenth longer on one matrix."""
    shared = [x for x in a.axes if x in b.axes and x not in axes]
    if len(a.axes) != 2 or len(b.axes) != 2 or len(shared) != 1 or len(axes) != 2:
        return None
    left = a.tensor if a.axes[1] == shared[0] else a.tensor.T
    right = b.tensor if b.axes[0] == shared[0] else b.tensor.T
    return Operand(torch.mm(left, right), axes)


def largest_operand(product: Product, left: list[str], window: Window) -> int:
    """Elements of the largest tensor that a contraction materialises, views not counted."""

    def size(names: Sequence[str]) -> int:
        return prod(window[a][1] - window[a][0] for a in names)

    computed = [size(variables(f)) for f in product.factors if not isinstance(f, Access)]
    overlapping = [size(variables(f)) for f in product.factors if isinstance(f, Access) and len(product.factors) > 1]
    return max([size(left), *computed, *overlapping])


def is_contraction(product: Product, reduced: Sequence[str]) -> bool:
    """Whether contracting beats evaluating over all axes and summing."""
    return bool(reduced) and len(product.factors) > 1 and all(variables(f) for f in product.factors)
