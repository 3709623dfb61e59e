"""The number of rows of a batch, and the place of a row in it, where they are used as numbers. No torch.

`x / max(1, len(x) // 64)` gives a row another answer from 128 rows on, and no run of a few rows shows that. So a number
that is made of the count of rows, or of a place among them, may only say how large something is (`zeros(n, 3)`,
`view(n, -1)`), or which rows are meant (`x[i]`, `x[:n]`, `x[arange(n), best]`). Anything else with it is refused,
whether it would show or not. What is made of sizes alone, as `zeros(n, 3)`, must not be summed up along its rows
either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from ....ops.graph.graph import Node, Value
from ....ops.graph.traverse import leaves, uses
from ....ops.graph.types import BOOL, FLOAT, INT, STR
from .counted_sizes import CountedSizes
from .operator_names import (
    ALONG,
    EACH_ALIKE,
    FILLED,
    HANDED_ON,
    INDICES,
    MADE_OF_SIZES,
    PLACES,
    SAME_PLACES,
    SHAPES,
    WRITES,
    operator_name,
)

NUMBERS = (INT, FLOAT, BOOL, STR)


class DependsOn(IntEnum):
    """What a value depends on; of several, the highest."""

    NOTHING = 0
    SHAPED = 1  # as large as there are rows, with the same in each: `zeros(n, 3)`
    COUNTER = 2  # of a loop as long as all rows are
    COUNT = 3  # a size that may be the number of rows, or a multiple of it
    SIZE = 4  # what is computed of one
    PLACE = 5  # of a loop that may go over the rows, or all places: `arange(n)`
    ROW = 6  # one row alone
    PAIR = 7  # a place, and what depends on the row there alone
    PAIRS = 8  # a list of such
    ROWS = 9  # a list with an item for each row, which depends on its row alone
    INPUT = 10  # as it is given
    ALL = 11  # the data of all rows
    CHOICE = 12  # what is true of all rows, or of their number


SIZES = (DependsOn.COUNT, DependsOn.SIZE, DependsOn.PLACE)
DATA = (DependsOn.PAIRS, DependsOn.ROWS, DependsOn.INPUT, DependsOn.ALL, DependsOn.CHOICE)


class NumberOfRowsError(Exception):
    """A node uses the number of rows, or a place among them, as a number."""


def sizes_in(node: Node, of: Callable[[Any], DependsOn], counted: CountedSizes) -> DependsOn | None:
    """What a node gives where sizes and places alone decide it; None where data or nothing does.

    Args:
        node: of an operator or a kernel.
        of: what a part of its arguments depends on.
        counted: which sizes may hold the number of rows.

    Raises:
        NumberOfRowsError: it uses one as a number, and what it gives is no plain number of them alone.
    """
    name = operator_name(node)
    states = [of(leaf) for leaf in uses(node)]
    sizes = {state for state in states if state in SIZES}
    if name in MADE_OF_SIZES:
        return _made_of_sizes(node, name, of)
    most = max(states, default=DependsOn.NOTHING)
    if not sizes:
        if most is DependsOn.SHAPED and not _alike_in_each_row(node, name, counted):
            raise NumberOfRowsError
        return None
    if name in INDICES and of(node.args[:1]) is not DependsOn.NOTHING and _only_in_index(node, of):
        return None if most >= DependsOn.ROW else DependsOn.SHAPED
    if name in WRITES and DependsOn.SIZE not in sizes and of(node.args[2:]) not in SIZES:
        return DependsOn.ALL
    if all(isinstance(leaf, Value) and leaf.type in NUMBERS for leaf in leaves(node.output)):
        return _plain(node, name, states)
    return _of_a_size(name, sizes, most)


def _made_of_sizes(node: Node, name: str, of: Callable[[Any], DependsOn]) -> DependsOn:
    """A tensor of a shape: the shape may be made of the number of rows, what fills it may not."""
    base = node.args[:1] if name.startswith("new_") or name.endswith("_like") else ()
    shape = [of(leaf) for leaf in uses(node) if not any(leaf is each for each in base)]
    fill = node.kwargs.get("fill_value", node.args[-1]) if name in FILLED else None
    if max(shape, default=DependsOn.NOTHING) > DependsOn.COUNT or of(fill) is not DependsOn.NOTHING:
        raise NumberOfRowsError
    by_rows = [*shape, of(base) if name.endswith("_like") else DependsOn.NOTHING]
    return DependsOn.SHAPED if any(by_rows) else DependsOn.NOTHING


def _plain(node: Node, name: str, states: Sequence[DependsOn]) -> DependsOn | None:
    """A multiple of the number of rows is one; anything else that is computed of it, or of a place, is a number."""
    truth = all(leaf.type == BOOL for leaf in leaves(node.output))
    if max(states) >= DependsOn.ROW:
        if not truth:
            raise NumberOfRowsError
        return None
    held = [state for state in states if state is not DependsOn.NOTHING]
    if name == "mul" and held == [DependsOn.COUNT]:
        return DependsOn.COUNT
    if name == "getitem" and held == [DependsOn.PLACE] * 2:  # the place of a round, of a list of all places
        return DependsOn.PLACE
    constants = [leaf for leaf in uses(node) if not isinstance(leaf, Value)]
    if name in HANDED_ON and len(held) == 1 and all(leaf is None or leaf == 0 for leaf in constants):
        return held[0]
    return None if truth else DependsOn.SIZE


def _of_a_size(name: str, sizes: set[DependsOn], most: DependsOn) -> DependsOn | None:
    """What comes out of a size, or a place, that goes into something that is no plain number."""
    if name == "enumerate":
        return None
    if sizes == {DependsOn.COUNT}:
        if name in PLACES:
            return DependsOn.PLACE
        if name in SHAPES or (name == "mul" and most is DependsOn.COUNT):  # of a list of constants
            return DependsOn.SHAPED if most is DependsOn.COUNT else None
    if most is DependsOn.PLACE and DependsOn.SIZE not in sizes and name in SAME_PLACES:
        return DependsOn.PLACE
    raise NumberOfRowsError


def _only_in_index(node: Node, of: Callable[[Any], DependsOn]) -> bool:
    """Whether the number of rows and places are in the index of a tensor or a list only, as they are."""
    within = [of(leaf) for leaf in leaves((node.args[1:], node.kwargs))]
    return of(node.args[:1]) not in SIZES and DependsOn.SIZE not in within


def _alike_in_each_row(node: Node, name: str, counted: CountedSizes) -> bool:
    """Whether an operator gives each row of what is made of sizes the same, however many there are."""
    if name in EACH_ALIKE:
        return True
    dim = node.kwargs.get("dim", node.kwargs.get("axis", node.args[1] if len(node.args) > 1 else None))
    dims = [dim] if isinstance(dim, int) else list(dim) if isinstance(dim, tuple | list) else []
    return name in ALONG and bool(dims) and not any(counted.holds(node.args[0], each) for each in dims)
