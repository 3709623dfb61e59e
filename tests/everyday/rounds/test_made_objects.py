"""Lists of objects that the function makes: their methods, properties and fields in later loops."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, NamedTuple

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

LABELS = ["cat", "dog", "owl"]


@dataclasses.dataclass
class Box:
    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def area(self) -> float:
        return max(0.0, self.x2 - self.x1) * max(0.0, self.y2 - self.y1)

    def iou(self, other: Box) -> float:
        low = Box(max(self.x1, other.x1), max(self.y1, other.y1), min(self.x2, other.x2), min(self.y2, other.y2))
        return low.area / (self.area + other.area - low.area + 1e-9)


@dataclasses.dataclass(frozen=True)
class Found:
    label: str
    box: Box

    @cached_property
    def large(self) -> bool:
        return self.box.area > 0.1


class Score:
    def __init__(self, label: str, value: float) -> None:
        self.label, self.value = label, value
        self.rank = int(value * 10)

    def __lt__(self, other: Score) -> bool:
        return self.value < other.value

    def shown(self) -> str:
        return f"{self.label}: {self.value:.2f}"


class Point(NamedTuple):
    x: float
    y: float

    def norm(self) -> float:
        return (self.x**2 + self.y**2) ** 0.5


def label(value):
    return LABELS[int(value * 2.99)]


def overlaps(rows):
    boxes = [Box(*row) for row in rows.tolist()]
    return any(box.area > 0.2 for box in boxes), [[round(one.iou(other), 4) for other in boxes] for one in boxes]


def kept(rows):
    found = []
    for row in rows.tolist():
        box = Box(row[0], row[1], row[2], row[3])
        if box.area > 0.05:
            found.append(Found(label(row[1]), box))
    large = [each.label for each in found if each.large]
    first = next((each.label for each in found if each.label != "cat"), "none")
    return large, first, sum(each.box.area for each in found), len(found), [each.label for each in found + found[:1]]


def best(rows):
    scores = [Score(label(row[0]), row[1]) for row in rows.tolist()]
    first = max(scores, key=lambda each: each.value)
    return first.shown(), first.rank, [each.rank for each in sorted(scores, key=lambda each: -each.value)]


def points(rows):
    found = [Point(row[0], row[1]) for row in rows.tolist()]
    return [each.norm() for each in found], [each for each in found if each.x > 0.5]


def replaced(rows):
    boxes = [Box(*row) for row in rows.tolist()]
    boxes = [dataclasses.replace(box, x2=1.0) if box.x2 < 0.5 else box for box in boxes]
    return [box.area for box in boxes]


def by_label(rows):
    found = [Found(label(row[0]), Box(*row)) for row in rows.tolist()]
    groups: dict[str, list[float]] = {}
    for each in found:
        groups.setdefault(each.label, []).append(each.box.area)
    return {name: max(areas) for name, areas in groups.items()}


def mixed_arguments(rows):
    return [Box(0.0, *row[1:], y2=1.0).area for row in rows[:, :3].tolist()], [(0.5, *row) for row in rows.tolist()]


torch.manual_seed(8)
ROWS = [[torch.rand(size, 4)] for size in (3, 5, 1, 8)]
FUNCTIONS = (overlaps, kept, best, points, replaced, by_label, mixed_arguments)
CASES = {each.__name__: Case(each, ROWS[0], ROWS[1:]) for each in FUNCTIONS}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*because a call takes its items as arguments")
def test_objects_that_the_function_makes(name) -> None:
    check(CASES[name])


def changed(rows):
    scores = [Score("cat", row[0]) for row in rows.tolist()]
    for each in scores:
        each.value = each.value * 2
    return [each.value for each in scores]


def others(rows):
    scores = [Score("cat", row[0]) for row in rows.tolist()]
    return [sum(1 for other in scores if other is not each) for each in scores]


def noted(rows):
    scores = [Score("cat", row[0]) for row in rows.tolist()]
    for each in scores:
        each.seen = True  # type: ignore[attr-defined]  # what is tested
    return [each.value for each in scores]


def in_order(rows):
    scores = [Score("cat", row[0]) for row in rows.tolist()]
    return [each.value for each in sorted(scores)]


def highest(rows):
    scores = [Score("cat", row[0]) for row in rows.tolist()]
    return max(scores).value, scores == scores[:1]


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("function", [in_order, highest], ids=lambda function: function.__name__)
def test_objects_are_not_compared_as_the_tuples_that_stand_for_them(function) -> None:
    with pytest.raises(tracepack.RecordError, match="the objects of a list are compared, .* of Score") as caught:
        tracepack.trace(function, ROWS[0][0])
    assert "sorted(items, key=…)" in str(caught.value)


FIXED: dict[Any, str] = {
    changed: "an object of a list of any length is changed, a Score",
    noted: "an object of a list of any length is changed, a Score",
}


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("function", FIXED, ids=lambda function: function.__name__)
def test_what_copies_of_objects_cannot_do_fixes_the_length(function) -> None:
    with pytest.warns(UserWarning, match=f"fixed to 3, because lists of any length were refused.*{FIXED[function]}"):
        mod = tracepack.trace(function, ROWS[0][0])
    assert mod(ROWS[0][0] / 2) == function(ROWS[0][0] / 2)
    with pytest.raises(tracepack.SignatureError, match="dimension 0 has a wrong size"):
        mod(ROWS[1][0])


@pytest.mark.usefixtures("no_blocks")
def test_whether_two_objects_of_a_list_are_one_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match="whether two objects of a list of any length are one, of Score"):
        tracepack.trace(others, ROWS[0][0])


@pytest.mark.parametrize("function", [*FIXED, others, in_order, highest], ids=lambda function: function.__name__)
def test_blocks_answer_as_python_does(function) -> None:
    mod = loaded(function, ROWS[0][0])
    for (rows,) in ROWS:
        try:
            wanted = function(rows)
        except (TypeError, ValueError) as error:
            with pytest.raises(tracepack.TracepackError, match=type(error).__name__):
                mod(rows)
        else:
            assert mod(rows) == wanted
