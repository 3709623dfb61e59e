"""Inputs at the corners of the sizes around an example: half and double of each that is free, in all combinations.

An engine that agrees with the flat function at all of them answers alone for the sizes between. A batch is also made of
one row, which is a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from ...ops.engines.size_boxes import MOST_FREE
from ...ops.graph.program import Program
from ...ops.graph.types import TensorType
from ..recheck.vary import with_sizes

Leaves = Sequence[Any]
Change = Callable[[Leaves, int], list[Any]]


@dataclass(frozen=True)
class _Free:
    """A size that may change: of a letter, of several that are equal, of a list of texts, or of texts.

    Attributes:
        size: that of the example.
        counts: whether it is a number of rows or texts.
        change: gives inputs with another one.
    """

    size: int
    counts: bool
    change: Change

    def others(self) -> set[int]:
        """A smaller and a larger size, and one where that is likely to be met."""
        alone = {1} if self.counts or self.size < 3 else set()
        return (alone | {max(2, self.size // 2), max(4, 2 * self.size)}) - {self.size}


def try_corners(program: Program, leaves: Leaves, accepts: Callable[[Leaves], bool]) -> None:
    """Tries inputs of other sizes around an example.

    Sizes that are equal change together at first, since a function may want them equal; then each alone.

    Args:
        program: the pipeline's.
        leaves: the example.
        accepts: runs inputs and keeps them; false where the pipeline refuses them, or there is no time.
    """
    found = list(letters(program, leaves).values())
    alike: dict[int, list[tuple[int, int]]] = {}
    for places in found:
        alike.setdefault(_size(leaves, places), []).extend(places)
    texts = list(_texts(leaves))
    _combine(leaves, [*(_resizing(leaves, places) for places in alike.values()), *texts], accepts)
    if len(alike) < len(found):
        _combine(leaves, [*(_resizing(leaves, places) for places in found), *texts], accepts)


def _combine(leaves: Leaves, free: Sequence[_Free], accepts: Callable[[Leaves], bool]) -> None:
    """Tries a smaller and a larger one of each size, then all combinations of those that were accepted."""
    found: list[tuple[_Free, list[int]]] = []
    for each in free:
        sizes = [each.size, *(size for size in each.others() if accepts(each.change(leaves, size)))]
        several = [size for size in sizes if size > 1]
        if len(sizes) > 1:
            found.append((each, sorted({min(sizes), min(several), max(several)})))
    for corner in product(*(sizes for _, sizes in found)) if 1 < len(found) <= MOST_FREE else ():
        changed = list(leaves)
        for (each, _), size in zip(found, corner, strict=True):
            changed = each.change(changed, size)
        accepts(changed)


def _texts(leaves: Leaves) -> Iterator[_Free]:
    """The number of texts in lists, and their length."""
    texts = [leaf for leaf in leaves if _is_texts(leaf)]
    if texts:
        longest = max(map(len, texts[0]))
        yield _Free(len(texts[0]), True, lambda given, size: [_of_count(leaf, size) for leaf in given])
        yield _Free(longest, False, lambda given, size: [_of_length(leaf, size, longest) for leaf in given])


def _size(leaves: Leaves, places: Sequence[tuple[int, int]]) -> int:
    (index, dim), *_ = places
    return int(leaves[index].shape[dim])


def letters(program: Program, leaves: Leaves) -> Mapping[str, list[tuple[int, int]]]:
    """For each letter in the signature the inputs and dimensions that it stands for."""
    found: dict[str, list[tuple[int, int]]] = {}
    for index, (value, leaf) in enumerate(zip(program.graph.inputs, leaves, strict=True)):
        if isinstance(value.type, TensorType) and isinstance(leaf, torch.Tensor) and leaf.numel():
            for dim, size in enumerate(value.type.shape):
                if isinstance(size, str) and size.isidentifier():
                    found.setdefault(size, []).append((index, dim))
    return found


def _resizing(leaves: Leaves, places: Sequence[tuple[int, int]]) -> _Free:
    def change(given: Leaves, size: int) -> list[Any]:
        sizes: dict[int, dict[int, int]] = {}
        for index, dim in places:
            sizes.setdefault(index, {})[dim] = size
        return [with_sizes(leaf, sizes[index]) if index in sizes else leaf for index, leaf in enumerate(given)]

    return _Free(_size(leaves, places), any(dim == 0 for _, dim in places), change)


def _is_texts(leaf: Any) -> bool:
    return isinstance(leaf, list) and bool(leaf) and all(isinstance(item, str) for item in leaf)


def _of_count(leaf: Any, count: int) -> Any:
    """As many texts, the longest first: fewer have the same length then."""
    if not _is_texts(leaf):
        return leaf
    longest_first = sorted(leaf, key=len, reverse=True)
    return [longest_first[index % len(leaf)] for index in range(count)]


def _of_length(leaf: Any, length: int, longest: int) -> Any:
    """Texts of which the longest has that many characters, or words."""
    if not _is_texts(leaf):
        return leaf
    return [text[: length * len(text) // longest] if length < longest else f"{text} {text}" for text in leaf]
