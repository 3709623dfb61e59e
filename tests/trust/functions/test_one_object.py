"""Whether two inputs are one object is decided by who calls: a function that asks is refused, with its line."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.trust.trials import refused, trial

X, Y = torch.ones(2), torch.zeros(2)
ROWS = [{"a": 1}, {"a": 2}]
ASKING: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "tensors": (lambda a, b: a * 2 if a is b else a + b, (X, Y)),
    "dicts of tensors": (lambda a, b: a["x"] * 2 if a is not b else b["x"], ({"x": X}, {"x": Y})),
    "lists of numbers": (lambda a, b: len(a) if a is b else len(b), ([1, 2], [3])),
    "numbers": (lambda a, b: 1 if a is b else 2, (2.5, 3.5)),
    "tuples": (lambda a, b: 1 if a is b else 2, ((1, 2), (3, 4))),
    "items of a list": (lambda rows: [r["a"] for r in rows if r is not rows[0]], (ROWS,)),
    "all pairs": (lambda rows: any(rows[i] is rows[0] for i in range(1, len(rows))), (ROWS,)),
    "their ids": (lambda a, b: id(a) == id(b), (X, Y)),
    "a table of ids": (lambda rows: len({id(row) for row in rows}), (ROWS,)),
    "a tensor among others": (lambda x, ys: [y for y in ys if y is not x], (X, [X, Y])),
    "the function of the operator": (lambda a, b: a * 2 if operator.is_(a, b) else a + b, (X, Y)),
}


@pytest.mark.parametrize("name", ASKING)
def test_whether_two_inputs_are_one_object_is_refused(name: str) -> None:
    function, example = ASKING[name]
    said = "(whether two values are one object|the id of a value, which says).*is no part of a graph"
    refused(trial(lambda: function, *example), said, "test_one_object.py")


def seen_once(rows: list[dict[str, int]]) -> int:
    kept: list[dict[str, int]] = []
    for row in rows:
        if any(row is other for other in kept):
            continue
        kept.append(row)
    return len(kept)


def test_rows_that_are_one_object_are_not_told_apart_by_a_recording() -> None:
    refused(trial(lambda: seen_once, ROWS), "whether two values are one object", "in <genexpr>")


def test_what_the_function_makes_itself_is_known() -> None:
    def process(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = x + y
        best, items = z, [z, z * 2]
        for item in items:
            best = item if item is not z else best
        return best, [item is z for item in items], z is x, x is x

    assert trial(lambda: process, X, Y, others=[(X, X)]) == "right"


def test_a_default_is_told_from_what_is_given() -> None:
    def process(x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
        other = x if other is None else other
        return x * 2 if other is x else x + other

    assert trial(lambda: process, X) == "right"
