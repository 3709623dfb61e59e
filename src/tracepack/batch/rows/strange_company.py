"""Rows that the source need not have, to run beside those that it has: of other sizes of numbers, and other texts.

A row that a pipeline cannot take is tried in vain. What is made of a row is company only, but for large numbers: those
of a row may be tied to others by their size alone, `y[y > 40] = y[y > 40].mean()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...ops.graph.graph import Operator
from ...ops.graph.traverse import every_node
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.rows.strange_rows import LARGE, integer_ranges, integers, is_floating, is_integer, scaled
from .columns import Values

_FACTORS = {
    1000.0: "1000 times as large", float("inf"): "that are infinite", float("nan"): "of NaN", 0.0: "of zeros",
}  # fmt: skip
_LONGER, _LONGEST = 9, 1000  # times that a text is repeated, and its characters


def picked(values: Values, rows: Sequence[int]) -> Values:
    """The values of some rows."""
    return [
        (name, value[list(rows)] if isinstance(value, torch.Tensor) else [value[row] for row in rows])
        for name, value in values
    ]


def joined(*parts: Values) -> Values:
    """The rows of several tables, one after the other."""
    return [
        (each[0][0], torch.cat([v for _, v in each]) if isinstance(each[0][1], torch.Tensor) else _sum(each))
        for each in zip(*parts, strict=True)
    ]


def _sum(each: Sequence[tuple[str, Any]]) -> list[Any]:
    return [item for _, values in each for item in values]


def companies(pipeline: Pipeline, values: Values) -> Iterator[tuple[str, Values]]:
    """What some rows become, with words that say it.

    Args:
        pipeline: that may run beside them.
        values: of the rows.
    """
    if any(map(_is_texts, dict(values).values())):
        yield "empty texts", _changed(values, lambda value: [""] * len(value) if _is_texts(value) else value)
        yield (
            "longer texts",
            _changed(
                values, lambda value: [" ".join([t[:_LONGEST]] * _LONGER) for t in value] if _is_texts(value) else value
            ),
        )
    if _loops(pipeline):
        return
    if any(is_floating(value) for _, value in values):
        for factor, said in _FACTORS.items():
            yield f"rows {said}", _scaled(values, factor)
    for whole in _of_integers(pipeline, values):
        yield "rows of other integers", whole


def large_rows(pipeline: Pipeline, values: Values) -> Iterator[Values]:
    """What some rows become whose numbers are large."""
    if _loops(pipeline):
        return
    if any(is_floating(value) for _, value in values):
        yield from (_scaled(values, factor) for factor in LARGE)
    yield from _of_integers(pipeline, values)


def _changed(values: Values, change: Callable[[Any], Any]) -> Values:
    return [(name, change(value)) for name, value in values]


def _scaled(values: Values, factor: float) -> Values:
    return _changed(values, lambda value: scaled(value, factor))


def _loops(pipeline: Pipeline) -> bool:
    """Whether data decides how many rounds there are: of infinity, there might be no end."""
    targets = [node.target for node in every_node(pipeline.graph)]
    return any(isinstance(target, Operator) and target.name == "while_loop" for target in targets)


def _of_integers(pipeline: Pipeline, values: Values) -> list[Values]:
    names = [name for name, value in values if is_integer(value)]
    if not names:
        return []
    found = integer_ranges(pipeline.graph, pipeline.placement, names, [dict(values)])
    return [[(name, integers(value, limits.get(name))) for name, value in values] for limits in found]


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
