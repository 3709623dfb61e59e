"""Shows that a pipeline works row by row: that what a row gives does not depend on the rows beside it.

Only then requests may be run together. The signature must say that all tensors share a free first size, the graph that
nothing outlives a run, and runs, on the golden examples and on random rows, that each row gives the same together as
alone, within rounding. What looks at all rows at once may depend on the others only where they are unlike this one, as
`x / x.max()` and `(x > 1).any()` do. So rows of zeros and of small numbers are among those that are compared, and the
others are also far larger, infinite and NaN. Large rows are company only: rounding alone would tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import torch

from ...ops.graph.errors import TracepackError
from ...ops.graph.graph import KernelCall
from ...ops.graph.traverse import every_node
from ...ops.runtime.interrupts.unheard import Unheard
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.fields import FIXED
from ...pipeline.signature.rows.row_sharing import refused_by_signature

ROWS = 5  # of a random feed; odd, so that it is no multiple of a size that a pipeline may like
MOST_EXAMPLES, MOST_ROWS = 3, 16
MOST_ELEMENTS = 1 << 26  # of a random feed, whose sizes the file fixes
MOST_FIELDS = 1000  # inputs and outputs, each of which is compared some hundred times
FILLS = (1000.0, 1e9, float("inf"), float("nan"))  # what floating numbers of the company are multiplied by
RANGES = ((0, 10), (0, 100), (0, 1000), (-100, 100))  # of the integers of the company, as far as they run
CHECKED = ("torchscript", "onnx")  # the kernels that run native code, and refuse an index beyond a table
SIZES = (2, 4, 6, 12)  # of companies beside those of odd sizes: what a row gives may depend on their number
COMPARED = 3  # rows of a feed that are compared beside each company
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}

Feed = dict[str, Any]
Ranges = dict[str, tuple[int, int]]  # of the integers of each input
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
    ranges = _ranges(pipeline, examples)
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


def _ranges(pipeline: Pipeline, examples: Sequence[Mapping[str, Any]]) -> list[Ranges]:
    """The ranges of integers that may stand beside others.

    Any range may be tried where an index beyond a table is an error of its run alone. A GPU, and code of which nobody
    knows, may be broken by one for all that follows: there, only what the examples show.
    """
    names = [field.name for field in pipeline.inputs if field.kind != FIXED]
    kernels = [node.target.kernel for node in every_node(pipeline.graph) if isinstance(node.target, KernelCall)]
    unknown = any(kernel.runs_code and kernel.kind not in CHECKED for kernel in kernels)
    if not unknown and set(pipeline.placement.values()) <= {"cpu"}:
        return [dict.fromkeys(names, limits) for limits in RANGES]
    seen: Ranges = {}
    for name in names:
        tensors = [feed[name] for feed in examples if isinstance(feed.get(name), torch.Tensor)]
        filled = [tensor for tensor in tensors if _is_integer(tensor) and tensor.numel()]
        if filled:
            seen[name] = min(int(each.min()) for each in filled), max(int(each.max()) for each in filled) + 1
    return [seen] if seen else []


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
    return ""


def _companies(feed: Feed, count: int, sizes: Sequence[int]) -> Iterator[Company]:
    """Feeds of the rows among others, with the places at which which rows stand."""
    yield feed, [(index, index) for index in range(count)]
    order = [*range(count - 1, -1, -1), *(4 * [*range(count)])]  # many: a row far below is like one at the top
    yield _rows(feed, order), list(enumerate(order))
    for size in sizes:
        order = [index % count for index in range(size)]
        yield _rows(feed, order), list(enumerate(order))
    for fill in FILLS:
        scaled = {name: value * fill if _is_floating(value) else value for name, value in feed.items()}
        yield from _among(feed, count, scaled)


def _companies_of_integers(pipeline: Pipeline, feed: Feed, count: int, ranges: Sequence[Ranges]) -> Iterator[Company]:
    """Feeds of the rows among others of other integers, as far as those run."""
    if any(_is_integer(value) for value in feed.values()):
        for limits in ranges:
            others = {name: _integers(value, limits.get(name)) for name, value in feed.items()}
            if _runs(pipeline, others):
                yield from _among(feed, count, others)


def _among(feed: Feed, count: int, others: Feed) -> Iterator[Company]:
    """Some rows, each above and below all rows of another feed."""
    for first in range(min(count, COMPARED)):
        company = {
            name: torch.cat([value[first : first + 1], others[name].roll(1, 0), value[first : first + 1]])
            if isinstance(value, torch.Tensor) else value
            for name, value in feed.items()
        }  # fmt: skip
        yield company, [(0, first), (count + 1, first)]


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _is_integer(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not (
        value.is_floating_point() or value.is_complex() or value.dtype == torch.bool
    )


def _integers(value: Any, limits: tuple[int, int] | None) -> Any:
    """Random integers of a range in place of those of a tensor."""
    if limits is None or not _is_integer(value):
        return value
    held, generator = torch.iinfo(value.dtype), torch.Generator().manual_seed(0)
    low, high = max(limits[0], held.min), min(limits[1] - 1, held.max)
    return torch.randint(low, high + 1, value.shape, generator=generator).to(value.dtype)


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
