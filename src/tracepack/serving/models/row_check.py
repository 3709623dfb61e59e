"""Shows that a pipeline works row by row: that what a row gives does not depend on the rows beside it.

Only then requests may be run together. The signature must say that all tensors share a free first size, the graph that
nothing outlives a run, and runs, on the golden examples and on random rows, that each row gives the same together as
alone, within rounding: next to rows of other data, of data a thousand times as large, and of NaNs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import torch

from ...ops.graph.errors import TracepackError
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.fields import FIXED
from ...pipeline.signature.row_sharing import refused_by_signature

ROWS = 5  # of a random feed; odd, so that it is no multiple of a size that a pipeline may like
MOST_EXAMPLES, MOST_ROWS = 3, 16
MOST_ELEMENTS = 1 << 26  # of a random feed, whose sizes the file fixes
MOST_FIELDS = 1000  # inputs and outputs, each of which is compared some hundred times
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}

Feed = dict[str, Any]


def why_not_by_rows(pipeline: Pipeline, examples: Sequence[Mapping[str, Any]]) -> str:
    """Why requests to a pipeline cannot be run together; empty where it was shown to work row by row.

    Args:
        pipeline: that is to be run on rows of several requests.
        examples: its golden examples.

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
    if reason := refused_by_signature(pipeline.stateful, fields, guards, pipeline.signature):
        return reason
    feeds = [*(dict(feed) for feed in examples[:MOST_EXAMPLES] if _count(feed)), *_random_feeds(pipeline)]
    if not feeds:
        return "no rows were found that it takes"
    return next(filter(None, (_difference(pipeline, feed) for feed in feeds)), "")


def _count(feed: Mapping[str, Any]) -> int:
    """The number of rows of a feed."""
    return next((len(value) for value in feed.values() if isinstance(value, torch.Tensor) and value.dim()), 0)


def _random_feeds(pipeline: Pipeline) -> list[Feed]:
    """A feed of random rows, of the first sizes that the pipeline takes."""
    for size in (8, 4, 2, 3, 16, 32, 64):
        generator = torch.Generator().manual_seed(0)
        shapes = [_shape(field, size) for field in pipeline.inputs if field.kind != FIXED]
        if sum(map(prod, shapes)) > MOST_ELEMENTS or any(dim < 0 for shape in shapes for dim in shape):
            continue
        feed = {field.name: _random(field, size, generator) for field in pipeline.inputs if field.kind != FIXED}
        try:
            pipeline.run(feed)
        except TracepackError:
            continue
        return [feed]
    return []


def _shape(field: Any, size: int) -> list[int]:
    return [ROWS, *(dim if isinstance(dim, int) else size for dim in field.shape[1:])]


def _random(field: Any, size: int, generator: torch.Generator) -> torch.Tensor:
    shape = _shape(field, size)
    dtype = getattr(torch, field.dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype)
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


def _difference(pipeline: Pipeline, feed: Feed) -> str:
    """Whether the rows of a feed give the same alone and beside others; a text where they do not."""
    feed = {name: value[:MOST_ROWS] if isinstance(value, torch.Tensor) else value for name, value in feed.items()}
    count = _count(feed)
    try:
        alone = [_leaves(pipeline.run(_rows(feed, [index]))) for index in range(count)]
        for company, mine in _companies(feed, count):
            together = _leaves(pipeline.run(company))
            for place, index in mine:
                if not all(map(_alike, [leaf[place] for leaf in together], [leaf[0] for leaf in alone[index]])):
                    return "a row gives other outputs beside other rows than alone"
    except (TracepackError, IndexError) as error:
        return f"its rows do not run by themselves: {error}"
    return ""


def _companies(feed: Feed, count: int) -> Iterator[tuple[Feed, list[tuple[int, int]]]]:
    """Feeds of the rows among others, with the places at which which rows stand."""
    yield feed, [(index, index) for index in range(count)]
    order = [*range(count - 1, -1, -1), *range(count)]
    yield _rows(feed, order), list(enumerate(order))
    for fill in (1000.0, float("nan")):
        for first in range(min(count, 2)):
            among = {name: _among(value, first, fill) for name, value in feed.items()}
            yield among, [(0, first), (count + 1, first)]


def _among(value: Any, first: int, fill: float) -> Any:
    """A row, then all rows, those of floating numbers scaled, then the row again."""
    if not isinstance(value, torch.Tensor):
        return value
    row, others = value[first : first + 1], value.roll(1, 0)
    return torch.cat([row, others * fill if value.is_floating_point() else others, row])


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
