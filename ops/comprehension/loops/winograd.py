"""Convolutions with 3x3 kernels by Winograd's F(2x2, 3x3), which needs 16 products where the sum as written has 36.

The method is a choice of the schedule like any other: the analysis rates it, the tuner tries and checks it. Its
rounding errors are of the size of those of the plain sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ...kernels.cpu import Target
from ..expr.ir import Load, Op
from .ir import Loops

LEAST = 8
"""The number of input and output channels below which the transforms cost more than the products save."""


@dataclass(frozen=True)
class Convolution:
    """`O(n,m,h,w) += I(n,c,h+kh,w+kw) * F(m,c,kh,kw)` over whole tensors.

    Attributes:
        image, weights: the tensors that are read.
        sizes: N, C, H, W, M.
    """

    image: Load
    weights: Load
    sizes: tuple[int, int, int, int, int]

    def call(self, target: Target, pointers: dict[str, str], output: str, threads: int) -> str:
        """The statement that computes it."""
        lanes, rows = target.vector_bytes // 4, target.registers // 4
        sizes = ", ".join(map(str, (*self.sizes, threads)))
        args = ", ".join((pointers[self.image.tensor], pointers[self.weights.tensor], pointers[output]))
        return f"Winograd<{lanes}, {rows}>::run<{sizes}>({args});"

    def cycles(self, target: Target) -> float:
        """Its cost in the units of `Cost`: products near the peak, and transforms of one row of tiles at a time."""
        n, c, h, w, m = self.sizes
        lanes, rows = target.vector_bytes // 4, target.registers // 4
        down, across = ceil((h - 2) / 2), ceil((w - 2) / 2)
        products = 16 * c * ceil(m / rows) * rows * ceil(down * across / lanes) * 1.25
        transforms = down * ceil(across / lanes) * (110 * c + 60 * m)
        return n * (products + transforms) + 60.0 * m * c


def match(nest: Loops) -> Convolution | None:
    """The convolution that a nest is, where the method fits it and pays."""
    if nest.op != "+" or nest.base or nest.final is not None or nest.scatter or not nest.covers:
        return None
    if not isinstance(nest.value, Op) or nest.value.name != "*" or nest.value.dtype.name != "float32":
        return None
    a, b = nest.value.args
    if not isinstance(a, Load) or not isinstance(b, Load):
        return None
    return _matched(nest, a, b) or _matched(nest, b, a)


def _matched(nest: Loops, image: Load, weights: Load) -> Convolution | None:
    if any(x.dynamic or x.guarded or x.offset or x.dtype.name != "float32" for x in (image, weights, nest.store)):
        return None
    if len(nest.reduced) != 3 or len(nest.left) not in (3, 4):
        return None
    left, reduced = dict(nest.left), dict(nest.reduced)
    c, kh, kw = sorted(reduced, key=lambda axis: -weights.stride(axis))
    *n, m, h, w = sorted(left, key=lambda axis: -nest.store.stride(axis))
    batch, height, width = (left[n[0]] if n else 1), left[h] + 2, left[w] + 2
    channels, outputs = reduced[c], left[m]
    expected = [
        (weights, {m: 9 * channels, c: 9, kh: 3, kw: 1}),
        (image, {c: height * width, h: width, kh: width, w: 1, kw: 1}),
        (nest.store, {m: left[h] * left[w], h: left[w], w: 1}),
    ]
    if n:
        expected[1][1][n[0]] = channels * height * width
        expected[2][1][n[0]] = outputs * left[h] * left[w]
    fits = reduced[kh] == reduced[kw] == 3 and all(dict(load.strides) == strides for load, strides in expected)
    if not fits or min(channels, outputs) < LEAST:
        return None
    return Convolution(image, weights, (batch, channels, height, width, outputs))
