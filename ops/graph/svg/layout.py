"""A layered layout of a directed acyclic graph, top to bottom.

The steps are those of Sugiyama, Tagawa and Toda (1981): every box goes one layer below the lowest of those that it
uses, long edges are cut by points that take part in the ordering, the layers are ordered by the medians of their
neighbours to avoid crossings, and then moved sideways towards their neighbours without overlapping. This module knows
boxes and edges only, nothing of graphs of operators or of SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from ..errors import GraphError

GAP_X, GAP_Y = 28.0, 46.0
GAP_POINT = 14.0  # between points of long edges
SWEEPS = 12  # rounds of ordering; more do not change the pictures
MOST_PLACES = 200_000  # boxes and points: a minute, and more than anybody looks at


@dataclass(eq=False)
class Box:
    """A box, or with ``width == 0`` a point through which a long edge runs.

    Attributes:
        x: its left side once laid out; y: its top.
        layer: its row.
    """

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    layer: int = 0
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """The x coordinate of its centre."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The y coordinate of its lower side."""
        return self.y + self.height


@dataclass(frozen=True)
class Layout:
    """The result of `lay_out`: the size of the picture, and for every edge the boxes and points on its way."""

    width: float
    height: float
    paths: list[list[Box]]


def lay_out(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], *, last: frozenset[int] = frozenset()) -> Layout:
    """Places boxes so that every edge goes down.

    Args:
        boxes: in an order in which every edge goes from an earlier to a later one; their places are set.
        edges: pairs of numbers of boxes.
        last: numbers of boxes that go to the lowest layer.

    Raises:
        GraphError: the boxes, and the points that long edges run through, are too many for a picture.

    Example:
        >>> a, b = Box(40, 20), Box(40, 20)
        >>> lay_out([a, b], [(0, 1)]).width, b.y > a.bottom
        (40.0, True)
    """
    if not boxes:
        return Layout(0.0, 0.0, [])
    _layers(boxes, edges, last)
    _require_few(boxes, edges)
    trunks: dict[tuple[int, int], Box] = {}
    steps: set[tuple[int, int]] = set()
    paths = [_cut(boxes[a], boxes[b], trunks, steps) for a, b in edges]
    rows = _rows(boxes, paths)
    _order(rows)
    _set_heights(rows)
    _set_widths(rows)
    _close_up(rows)
    left = min(box.x for row in rows for box in row)
    for row in rows:
        for box in row:
            box.x -= left
    return Layout(
        max(box.x + box.width for row in rows for box in row), max(box.bottom for row in rows for box in row), paths
    )


def _layers(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], last: frozenset[int]) -> None:
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        boxes[b].layer = max(boxes[b].layer, boxes[a].layer + 1)
    lowest = max(box.layer for box in boxes)
    for number in last:
        boxes[number].layer = lowest
    # A box without inputs is placed just above the first box that uses it.
    users: dict[int, list[int]] = {}
    for a, b in edges:
        users.setdefault(a, []).append(boxes[b].layer)
    for number in users.keys() - {b for _, b in edges}:
        boxes[number].layer = min(users[number]) - 1


def _require_few(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> None:
    """Refuses a picture that takes too long, before its points are made; a path has all of its points, too."""
    lengths = sum(max(boxes[b].layer - boxes[a].layer, 1) for a, b in edges)
    if len(boxes) + lengths > MOST_PLACES:
        raise GraphError(
            "the graph is too large for a picture", got=f"{len(boxes)} boxes and {lengths} steps of edges",
            expected=f"{MOST_PLACES} in all at most", fix="Look at it as text, or at the picture of one op.",
        )  # fmt: skip


def _cut(start: Box, end: Box, trunks: dict[tuple[int, int], Box], steps: set[tuple[int, int]]) -> list[Box]:
    """The edge as a path with a point in every layer between its ends; edges from one box share their points."""
    layers = range(start.layer + 1, end.layer)
    points = [trunks.setdefault((id(start), layer), Box(0.0, 0.0, layer=layer)) for layer in layers]
    path = [start, *points, end]
    for upper, lower in pairwise(path):
        if (id(upper), id(lower)) not in steps:
            steps.add((id(upper), id(lower)))
            upper.below.append(lower)
            lower.above.append(upper)
    return path


def _rows(boxes: Sequence[Box], paths: Sequence[Sequence[Box]]) -> list[list[Box]]:
    rows: list[list[Box]] = [[] for _ in range(1 + max(box.layer for box in boxes))]
    for box in boxes:
        rows[box.layer].append(box)
    for point in {id(point): point for path in paths for point in path[1:-1]}.values():
        rows[point.layer].append(point)
    return rows


# -- the order within a layer ----------------------------------------------------------------------------------


def _order(rows: list[list[Box]]) -> None:
    best, fewest = [list(row) for row in rows], _crossings(rows)
    places = {id(box): index for row in rows for index, box in enumerate(row)}
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows[1:] if down else reversed(rows[:-1]):
            _sort(row, places, (lambda box: box.above) if down else (lambda box: box.below))
        found = _crossings(rows)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    for row, ordered in zip(rows, best, strict=True):
        row[:] = ordered


def _sort(row: list[Box], places: dict[int, int], neighbours: Callable[[Box], list[Box]]) -> None:
    def median(box: Box) -> float:
        found = sorted(places[id(other)] for other in neighbours(box))
        if not found:
            return float(places[id(box)])
        half = len(found) // 2
        return float(found[half]) if len(found) % 2 else (found[half - 1] + found[half]) / 2

    row.sort(key=median)
    places.update((id(box), index) for index, box in enumerate(row))


def _crossings(rows: list[list[Box]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        places = {id(box): index for index, box in enumerate(lower)}
        ends = [sorted(places[id(b)] for b in box.below) for box in upper]
        counts = _SumTree(len(lower))
        for mine in ends:
            total += sum(map(counts.after, mine))
            for end in mine:
                counts.add(end)
    return total


class _SumTree:
    """How many numbers were added, below some size: a tree of sums (Fenwick, 1994), each step of which is a bit."""

    def __init__(self, size: int) -> None:
        self._sums, self._all = [0] * (size + 1), 0

    def add(self, number: int) -> None:
        """Adds a number."""
        self._all += 1
        at = number + 1
        while at < len(self._sums):
            self._sums[at] += 1
            at += at & -at

    def after(self, number: int) -> int:
        """How many larger ones were added."""
        at, found = number + 1, self._all
        while at:
            found -= self._sums[at]
            at -= at & -at
        return found


# -- coordinates -----------------------------------------------------------------------------------------------


def _set_heights(rows: list[list[Box]]) -> None:
    y = 0.0
    for row in rows:
        tall = max(box.height for box in row)
        for box in row:
            box.y = y + (tall - box.height) / 2
        y += tall + GAP_Y


def _set_widths(rows: list[list[Box]]) -> None:
    for row in rows:
        x = 0.0
        for box, following in zip(row, [*row[1:], row[-1]], strict=True):
            box.x = x
            x += box.width + _gap(box, following)
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for row in rows[1:] if down else reversed(rows[:-1]):
            _pull(row, (lambda box: box.above) if down else (lambda box: box.below))


def _close_up(rows: list[list[Box]]) -> None:
    """Moves the unconnected parts of a graph together, from left to right, as near as their rows allow."""
    parts = sorted(_parts(rows), key=lambda part: min(box.x for box in part))
    ends: dict[int, float] = {}
    for part in parts:
        starts: dict[int, float] = {}
        for box in part:
            starts[box.layer] = min(starts.get(box.layer, box.x), box.x)
        room = [start - ends[layer] - GAP_X for layer, start in starts.items() if layer in ends]
        shift = min(room) if room else 0.0
        for box in part:
            box.x -= shift
            ends[box.layer] = max(ends.get(box.layer, box.x), box.x + box.width)


def _parts(rows: list[list[Box]]) -> list[list[Box]]:
    """The connected parts of the graph."""
    seen: set[int] = set()
    parts: list[list[Box]] = []
    for start in (box for row in rows for box in row):
        if id(start) in seen:
            continue
        part, waiting = [], [start]
        seen.add(id(start))
        while waiting:
            box = waiting.pop()
            part.append(box)
            fresh = [other for other in (*box.above, *box.below) if id(other) not in seen]
            seen |= {id(other) for other in fresh}
            waiting += {id(other): other for other in fresh}.values()
        parts.append(part)
    return parts


def _pull(row: list[Box], neighbours: Callable[[Box], list[Box]]) -> None:
    """Moves the boxes of a row towards the mean of their neighbours, in order and without overlapping.

    Neighbours on a row that want to overlap are joined into a block, which goes to the mean of what its boxes want:
    the least-squares solution (pool adjacent violators). In a block every box has its place from the first one of the
    row on, as if all stood side by side, so that a block is told by where that first one would be.
    """
    gaps = [box.width + _gap(box, following) for box, following in pairwise(row)]
    places = list(accumulate(gaps, initial=0.0))
    blocks: list[tuple[float, int]] = []  # the sum of what the boxes want for the first one of the row, and how many
    for box, place in zip(row, places, strict=True):
        near = neighbours(box)
        wish = sum(other.middle for other in near) / len(near) - box.width / 2 if near else box.x
        wishes, count = wish - place, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > wishes / count:
            before, several = blocks.pop()
            wishes, count = before + wishes, several + count
        blocks.append((wishes, count))
    starts = [wishes / count for wishes, count in blocks for _ in range(count)]
    for box, start, place in zip(row, starts, places, strict=True):
        box.x = start + place


def _gap(a: Box, b: Box) -> float:
    return GAP_X if a.width and b.width else GAP_POINT
