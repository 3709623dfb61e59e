"""Whether two answers for a row are the same but for rounding, and the error where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...ops.graph.errors import BatchError
from ...ops.graph.graph import Graph, Value
from ...ops.graph.traverse import every_node, leaves
from ...ops.graph.types import TensorType

DEPENDS = "the answer for a row depends on the rows beside it"
ALONE = "Run each row alone: batch_size=1."
_CLOSE = {pa.float32(): 1e-4, pa.float64(): 1e-8}
_NARROW, _NARROW_CLOSE = ("float16", "bfloat16"), 2e-2


def is_narrow(graph: Graph) -> bool:
    """Whether a graph computes with floats of 16 bits somewhere: its answers, of any dtype, are as exact as those."""
    values = [*leaves(graph.output), *(leaf for node in every_node(graph) for leaf in leaves(node.output))]
    kinds = [value.type for value in values if isinstance(value, Value)]
    return any(isinstance(kind, TensorType) and kind.dtype in _NARROW for kind in kinds)


def usual_sizes(rows: Sequence[Sequence[Any]]) -> list[float]:
    """For each column how large its largest number usually is: the median over the answers for some rows.

    Rounding is held against it: a small number may be the difference of two that are as large as others are.
    """
    return [float(np.median([_largest(each) for each in column])) for column in zip(*rows, strict=True)]


def _largest(column: Any) -> float:
    if pa.types.is_list(column.type):
        return _largest(column.flatten())
    if pa.types.is_struct(column.type):
        return max(map(_largest, column.flatten()), default=0.0)
    if not pa.types.is_floating(column.type):
        return 0.0
    numbers = column.to_numpy(zero_copy_only=False)
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))


def differing(found: Sequence[Any], wanted: Sequence[Any], sizes: Sequence[float], narrow: bool) -> int | None:
    """The first column in which two answers differ; None where there is none.

    Args:
        found: an array for each column.
        wanted: as many.
        sizes: how large numbers of each column usually are.
        narrow: whether they are as exact as floats of 16 bits.
    """
    pairs = enumerate(zip(found, wanted, sizes, strict=True))
    return next((index for index, (a, b, size) in pairs if not equal(a, b, size, narrow)), None)


def equal(left: Any, right: Any, size: float, narrow: bool) -> bool:
    """Whether two arrays are equal, floating numbers but for rounding."""
    if left.type != right.type or len(left) != len(right):
        return False
    if pa.types.is_list(left.type):
        lengths = pc.list_value_length(left).equals(pc.list_value_length(right))
        return lengths and equal(left.flatten(), right.flatten(), size, narrow)
    if pa.types.is_struct(left.type):
        return all(equal(a, b, size, narrow) for a, b in zip(left.flatten(), right.flatten(), strict=True))
    if not pa.types.is_floating(left.type):
        return bool(left.equals(right))
    close = _NARROW_CLOSE if narrow else _CLOSE.get(left.type, _NARROW_CLOSE)
    a, b = left.to_numpy(zero_copy_only=False), right.to_numpy(zero_copy_only=False)
    largest = max(1.0, size, float(np.abs(a[np.isfinite(a)]).max(initial=0)))
    with np.errstate(invalid="ignore"):
        return bool(np.allclose(a, b, rtol=close, atol=close * largest, equal_nan=True))


def shown(column: Any) -> str:
    """The one value of a column, for an error."""
    return repr(column[0].as_py())[:150]


def dependence(where: str, got: str, expected: str, fix: str = ALONE) -> BatchError:
    """The error of a row that gives something else beside other rows than alone."""
    return BatchError(DEPENDS, where=where, got=got, expected=f"{expected}, as alone", fix=fix)
