"""Sizes between those at which an engine was compared with the nodes: where it may answer alone.

A box is a range for each free size. It counts where the engine agreed with the nodes at all of its corners, and where
torch's exporter took no branch on a size that some size inside would take otherwise. The corners say that sizes fit:
those that must be equal, or one below the other, are so at every corner, or the nodes would have raised there. One is
no end of a range: a size of one fits what others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import torch

Sizes = tuple[torch.Size, ...]
Range = tuple[int, int]
Box = Mapping[str, Range]
Quad = tuple[int, int, int, int]

BOXES = "between"
"""The key of an artefact's description that holds them."""

MOST_FREE = 4  # sizes of a box: it has a corner for each choice of their ends
MOST_BOXES = 8


@dataclass(frozen=True)
class SizeBoxes:
    """Boxes of sizes, of the inputs of a region.

    Attributes:
        shapes: for each input its sizes, a name for each that is free; those of one name are equal.
        boxes: for each box, and each name, the least and the largest size.
    """

    shapes: tuple[tuple[int | str, ...], ...]
    boxes: tuple[Box, ...]

    def agreed(self, sizes: Collection[Sizes]) -> SizeBoxes:
        """The boxes at all corners of which the engine agreed, where it did so at some sizes."""
        kept = (box for box in self.boxes if all(self._at(corner) in sizes for corner in _corners(box)))
        found = SizeBoxes(self.shapes, tuple(kept))
        assert found._ends is not None  # they are found here, where there is time
        return found

    def hold(self, sizes: Sequence[Sequence[int]]) -> bool:
        """Whether some sizes lie in a box.

        It is asked in the first call at new sizes, so it only compares: each function that it calls would be read from
        memory anew.
        """
        ranks, equal, ends = self._ends
        for number, rank in ranks:
            if len(sizes[number]) != rank:
                return False
        for first, first_dim, number, dim in equal:
            if sizes[first][first_dim] != sizes[number][dim]:
                return False
        for box in ends:
            for number, dim, low, high in box:
                if not low <= sizes[number][dim] <= high:
                    break
            else:
                return True
        return False

    @cached_property
    def _ends(self) -> tuple[list[tuple[int, int]], list[Quad], list[list[Quad]]]:
        """The rank of each input, places of equal sizes, and for each box places with their least and largest sizes."""
        places = [(number, dim, size) for number, shape in enumerate(self.shapes) for dim, size in enumerate(shape)]
        first = {size: (number, dim) for number, dim, size in reversed(places)}
        named = [(*first[size], number, dim) for number, dim, size in places if isinstance(size, str)]
        ends = [
            [(number, dim, *(box[size] if isinstance(size, str) else (size, size))) for number, dim, size in places]
            for box in self.boxes
        ]
        return [*enumerate(map(len, self.shapes))], [each for each in named if each[:2] != each[2:]], ends

    def _at(self, point: Mapping[str, int]) -> Sizes:
        return tuple(
            torch.Size(point[size] if isinstance(size, str) else size for size in each) for each in self.shapes
        )

    def described(self) -> dict[str, Any]:
        """The boxes as plain data."""
        return {
            "shapes": [list(shape) for shape in self.shapes],
            "boxes": [{name: list(ends) for name, ends in box.items()} for box in self.boxes],
        }

    @classmethod
    def read_all(cls, data: Any) -> list[SizeBoxes]:
        """The boxes of the description of an artefact."""
        return [cls.read(each) for each in data[:MOST_BOXES]] if isinstance(data, list | tuple) else []

    @classmethod
    def read(cls, data: Any) -> SizeBoxes:
        """The boxes of plain data; none where it is malformed, and then all sizes are compared anew."""
        try:
            shapes = tuple(
                tuple(size if isinstance(size, str) else int(size) for size in each) for each in data["shapes"]
            )
            names = {size for shape in shapes for size in shape if isinstance(size, str)}
            boxes = tuple({name: _range(*box[name]) for name in names} for box in data["boxes"][:MOST_BOXES])
        except (TypeError, ValueError, KeyError):
            return cls((), ())
        return cls(shapes, boxes) if len(names) <= MOST_FREE else cls((), ())

    @classmethod
    def among(
        cls, shapes: Sequence[Sequence[int | str]], compared: Iterable[Sequence[Sequence[int]]],
        proven: Callable[[Box], bool],
    ) -> SizeBoxes:  # fmt: skip
        """The largest boxes whose corners are among the sizes that are compared.

        Args:
            shapes: for each input its sizes, names for the free ones.
            compared: sizes of the inputs.
            proven: whether all that was fixed for the example holds in a box.
        """
        kept = tuple(map(tuple, shapes))
        points = {tuple(point.items()) for sizes in compared if (point := _bound(kept, sizes)) and all(point.values())}
        names = {size for shape in kept for size in shape if isinstance(size, str)}
        if not 0 < len(names) <= MOST_FREE:
            return cls(kept, ())
        found = [box for box in _between(points) if all(tuple(corner.items()) in points for corner in _corners(box))]
        right = [box for box in found if proven(box)]
        largest = [box for box in right if not any(box is not other and _within(box, other) for other in right)]
        largest.sort(key=lambda box: sum(low < high for low, high in box.values()), reverse=True)
        return cls(kept, tuple(largest[:MOST_BOXES]))


def _range(low: int, high: int) -> Range:
    if not 0 < int(low) <= int(high):
        raise ValueError("an empty range")
    return int(low), int(high)


def _bound(shapes: Sequence[Sequence[int | str]], sizes: Sequence[Sequence[int]]) -> dict[str, int] | None:
    """The sizes that names stand for; None where some sizes do not fit the shapes."""
    found: dict[str, int] = {}
    if list(map(len, shapes)) != list(map(len, sizes)):
        return None
    for shape, given in zip(shapes, sizes, strict=True):
        for name, size in zip(shape, given, strict=True):
            if (found.setdefault(name, size) if isinstance(name, str) else name) != size:
                return None
    return found


def _corners(box: Box) -> Iterator[dict[str, int]]:
    for point in product(*(dict.fromkeys(ends) for ends in box.values())):
        yield dict(zip(box, point, strict=True))


def _between(points: Iterable[tuple[tuple[str, int], ...]]) -> Iterator[Box]:
    """The boxes from each point to each that is smaller in no size; a size of one is in a range of its own."""
    known = [dict(point) for point in points]
    for low in known:
        for high in known:
            if low != high and all(low[name] == high[name] or 1 < low[name] < high[name] for name in low):
                yield {name: (low[name], high[name]) for name in low}


def _within(box: Box, other: Box) -> bool:
    return all(other[name][0] <= low and high <= other[name][1] for name, (low, high) in box.items())


def _read_size(size: Any) -> int | str:
    return size if isinstance(size, str) else int(size)
