"""Shows that a pipeline works row by row: that what a row gives does not depend on the rows beside it.

Only then requests may be run together. The signature must say that all tensors share a free first size, the graph that
nothing outlives a run, and runs, on the golden examples and on random rows, that each row gives the same together as
alone, within rounding. What looks at all rows at once may depend on the others only where they are unlike this one, as
`x / x.max()` and `(x > 1).any()` do. So rows of zeros and of small numbers are among those that are compared, and the
others are also far larger, infinite and NaN. Rounding alone would tell large rows apart from what they give alone: they
are compared with what they give at the same place among as many copies of themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import torch

from ...ops.graph.errors import TracepackError
from ...ops.runtime.interrupts.unheard import Unheard
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.fields import FIXED
from ...pipeline.signature.rows.row_sharing import refused_by_signature
from ...pipeline.signature.rows.strange_rows import FILLS, LARGE, Ranges, integer_ranges, integers, is_integer, scaled

ROWS = 5  # of a random feed; odd, so that it is no multiple of a size that a pipeline may like
MOST_EXAMPLES, MOST_ROWS = 3, 16
MOST_ELEMENTS = 1 << 26  # of a random feed, whose sizes the file fixes
MOST_FIELDS = 1000  # inputs and outputs, each of which is compared some hundred times
SIZES = (2, 4, 6, 12)  # of companies beside those of odd sizes: what a row gives may depend on their number
COMPARED = 3  # rows of a feed that are compared beside each company
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}

Feed = dict[str, Any]
Company = tuple[Feed, list[tuple[int, int]]]  # rows, and which of them stand where for which rows of a feed


def why_not_by_rows(pipeline: Pipeline, examples: Sequence[Mapping[str, Any]], most: int = 64) -> str:
    """Why requests to a pipeline cannot be run together; empty where it was shown to work row by row.

    Args:
        pipeline: that is to be run on rows of several requests.
        examples: its golden examples.
        most: rows that are to be run together; so many are tried, too.

    Example:
        >>> import tracepack
        >>> why_not_by_rows(tracepack.trace(lambda x: x.softmax(-1), torch.rand(2, 3)), [])
        ''
        >>> why_not_by_rows(tracepack.trace(lambda x: x - x.mean(), torch.rand(2, 3)), [])
        'a row gives other outputs beside other rows than alone'
    """
    fields = [*pipeline.inputs, *pipeline.outputs]
    if len(fields) > MOST_FIELDS:
        return f"it has more than {MOST_FIELDS} inputs and outputs"
    guards = pipeline.program.facts.guards
    if reason := refused_by_signature(pipeline.stateful, fields, guards, pipeline.signature, pipeline.graph):
        return reason
    feeds = [*(dict(feed) for feed in examples[:MOST_EXAMPLES] if _count(feed)), *_random_feeds(pipeline)]
    if not feeds:
        return "no rows were found that it takes"
    names = [field.name for field in pipeline.inputs if field.kind != FIXED]
    ranges = integer_ranges(pipeline.graph, pipeline.placement, names, examples)
    with Unheard("the engine .* does not answer on "):  # of NaN and infinity, which nobody sent
        # The last feed is the random one, where there is one; the largest company is tried once, for its time.
        sizes = [SIZES] * (len(feeds) - 1) + [(*SIZES, _fitting(feeds[-1], most))]
        found = (_difference(pipeline, feed, ranges, each) for feed, each in zip(feeds, sizes, strict=True))
        return next(filter(None, found), "")


def _count(feed: Mapping[str, Any]) -> int:
    """The number of rows of a feed."""
    return next((len(value) for value in feed.values() if isinstance(value, torch.Tensor) and value.dim()), 0)


def _fitting(feed: Mapping[str, Any], most: int) -> int:
    """As many rows as are asked for, or as have no more elements than a random feed may."""
    width = sum(value.numel() for value in feed.values() if isinstance(value, torch.Tensor)) / max(_count(feed), 1)
    return max(1, min(most, int(MOST_ELEMENTS / max(width, 1))))


def _random_feeds(pipeline: Pipeline) -> list[Feed]:
    """A feed of random rows, of the first sizes that the pipeline takes."""
    for size in (8, 4, 2, 3, 16, 32, 64):
        generator = torch.Generator().manual_seed(0)
        shapes = [_shape(field, size) for field in pipeline.inputs if field.kind != FIXED]
        if sum(map(prod, shapes)) > MOST_ELEMENTS or any(dim < 0 for shape in shapes for dim in shape):
            continue
        feed = {field.name: _random(field, size, generator) for field in pipeline.inputs if field.kind != FIXED}
        if _runs(pipeline, feed):
            rows = [{name: row(value[:1]) for name, value in feed.items()} for row in (torch.zeros_like, _small)]
            parts = [_rows(feed, [0]), *(row for row in rows if _runs(pipeline, row)), _rows(feed, range(1, ROWS))]
            return [{name: torch.cat([part[name] for part in parts]) for name in feed}]
    return []


def _small(row: torch.Tensor) -> torch.Tensor:
    """A row far smaller than others; of integers and flags, whose least is 0, one of ones."""
    return row * 1e-4 if row.is_floating_point() else torch.ones_like(row)


def _runs(pipeline: Pipeline, feed: Feed) -> bool:
    try:
        pipeline.run(feed)
    except TracepackError:
        return False
    return True


def _shape(field: Any, size: int) -> list[int]:
    return [ROWS, *(dim if isinstance(dim, int) else size for dim in field.shape[1:])]


def _random(field: Any, size: int, generator: torch.Generator) -> torch.Tensor:
    shape = _shape(field, size)
    dtype = getattr(torch, field.dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype)
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


def _difference(pipeline: Pipeline, feed: Feed, ranges: Sequence[Ranges], sizes: Sequence[int]) -> str:
    """Whether the rows of a feed give the same alone and beside others; a text where they do not."""
    feed = {name: value[:MOST_ROWS] if isinstance(value, torch.Tensor) else value for name, value in feed.items()}
    count = _count(feed)
    try:
        alone = [_leaves(pipeline.run(_rows(feed, [index]))) for index in range(count)]
        companies = [*_companies(feed, count, sizes), *_companies_of_integers(pipeline, feed, count, ranges)]
        for company, mine in companies:
            together = _leaves(pipeline.run(company))
            for place, index in mine:
                if not all(map(_alike, [leaf[place] for leaf in together], [leaf[0] for leaf in alone[index]])):
                    return "a row gives other outputs beside other rows than alone"
    except (TracepackError, IndexError) as error:
        return f"its rows do not run by themselves: {error}"
    return _difference_of_large(pipeline, feed, ranges)


def _difference_of_large(pipeline: Pipeline, feed: Feed, ranges: Sequence[Ranges]) -> str:
    """Whether large rows give the same beside others as beside copies of themselves; a text where they do not."""
    floating = [(_scaled(feed, fill), _scaled(feed, most)) for fill in LARGE for most in (1.0, 1e6)]
    whole = [(rows, others) for rows in _of_integers(feed, ranges) for others in (feed, rows)]
    for rows, others in [*floating, *whole]:
        for index in {0, _count(feed) - 1}:
            row = _rows(rows, [index])
            copies = _rows(row, [0] * (_count(others) + 1))
            try:
                wanted = _leaves(pipeline.run(copies))
                above, below = (_leaves(pipeline.run(_joined(*each))) for each in ((row, others), (others, row)))
            except (TracepackError, IndexError):  # such rows are none of the pipeline's
                continue
            if any(
                not _alike(found[place], each[place])
                for together, place in ((above, 0), (below, -1))
                for found, each in zip(together, wanted, strict=True)
            ):
                return "a row gives other outputs beside other rows than alone"
    return ""


def _scaled(feed: Feed, factor: float) -> Feed:
    return {name: scaled(value, factor) for name, value in feed.items()}


def _of_integers(feed: Feed, ranges: Sequence[Ranges]) -> list[Feed]:
    """Feeds of other integers; none where a feed has no integers."""
    if not any(map(is_integer, feed.values())):
        return []
    return [{name: integers(value, limits.get(name)) for name, value in feed.items()} for limits in ranges]


def _companies(feed: Feed, count: int, sizes: Sequence[int]) -> Iterator[Company]:
    """Feeds of the rows among others, with the places at which which rows stand."""
    yield feed, [(index, index) for index in range(count)]
    order = [*range(count - 1, -1, -1), *(4 * [*range(count)])]  # many: a row far below is like one at the top
    yield _rows(feed, order), list(enumerate(order))
    for size in sizes:
        order = [index % count for index in range(size)]
        yield _rows(feed, order), list(enumerate(order))
    for fill in FILLS:
        yield from _among(feed, count, _scaled(feed, fill))


def _companies_of_integers(pipeline: Pipeline, feed: Feed, count: int, ranges: Sequence[Ranges]) -> Iterator[Company]:
    """Feeds of the rows among others of other integers, as far as those run."""
    for others in _of_integers(feed, ranges):
        if _runs(pipeline, others):
            yield from _among(feed, count, others)


def _among(feed: Feed, count: int, others: Feed) -> Iterator[Company]:
    """Some rows, each above and below all rows of another feed."""
    for first in range(min(count, COMPARED)):
        row, rolled = _rows(feed, [first]), _rows(others, [count - 1, *range(count - 1)])
        yield _joined(row, rolled, row), [(0, first), (count + 1, first)]


def _joined(*feeds: Feed) -> Feed:
    """The rows of some feeds, one after the other."""
    return {
        name: torch.cat([feed[name] for feed in feeds]) if isinstance(value, torch.Tensor) else value
        for name, value in feeds[0].items()
    }


def _rows(feed: Feed, order: Sequence[int]) -> Feed:
    index = torch.tensor(order)
    return {name: value[index] if isinstance(value, torch.Tensor) else value for name, value in feed.items()}


def _leaves(tree: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    parts = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list | tuple) else ()
    return [leaf for part in parts for leaf in _leaves(part)]


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.dtype.is_floating_point:
        return torch.equal(a, b)
    tolerance = TOLERANCES.get(a.dtype, 5e-2)
    largest = float(b.double().nan_to_num(0, 0, 0).abs().max()) if b.numel() else 0.0
    return torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance * largest, equal_nan=True)
