"""Members of an Enum that a choice, a table or a loop gives, and what is asked of them."""

from __future__ import annotations

import enum
import warnings
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check
from tracepack import RecordError


class Priority(enum.IntEnum):
    OFF = 0
    LOW = 1
    HIGH = 2


class Level(enum.Enum):
    LOW = ("low", 0.1)
    HIGH = ("high", 0.9)

    def __init__(self, label, least):
        self.label, self.least = label, least

    @property
    def title(self):
        return self.label.title()

    def shout(self, mark="!"):
        return self.label + mark

    @classmethod
    def of(cls, score):
        return cls.HIGH if score > 0.5 else cls.LOW


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


PRIORITIES = {"off": Priority.OFF, "low": Priority.LOW, "high": Priority.HIGH}
RATES = {"DE": Decimal("0.19"), "FR": Decimal("0.20")}
DUE = {"DE": date(2024, 1, 1), "FR": date(2024, 2, 29)}
TERMS = {"DE": timedelta(days=30), "FR": timedelta(days=7, hours=1)}


def chosen(score):
    level = Level.HIGH if score > 0.5 else Level.LOW
    return {"name": level.name, "is": level is Level.HIGH, "is not": level != Level.HIGH, "label": level.label}


def graded(score):
    if score > 0.8:
        return Priority.HIGH
    if score > 0.3:
        return Priority.LOW
    return Priority.OFF


def shown(score):
    level, grade = Level.of(score), graded(score)
    return (
        f"{level} {grade} {level!r} {grade:>4}",
        str(level),
        repr(grade),
        level.title,
        level.shout(),
        level.shout("?"),
    )


def computed(score):
    grade = graded(score)
    return grade + 1, 2 * grade, -grade, int(grade), float(grade), bool(grade), not grade, grade >= Priority.LOW


def triage(scores, names):
    levels = [Level.of(score) for score in scores]
    urgent = [name for name, level in zip(names, levels, strict=False) if level is Level.HIGH]
    return {"levels": [level.label for level in levels], "urgent": urgent, "top": urgent[0] if urgent else "-"}


def graded_records(scores):
    out = []
    for score in scores:
        grade = graded(score)
        out.append({"name": grade.name, "rank": int(grade)})
    return out


def ordered(words):
    grades = [PRIORITIES.get(word, Priority.OFF) for word in words]
    return {
        "words": sorted(words, key=lambda word: (-PRIORITIES.get(word, Priority.OFF), word)),
        "names": [grade.name for grade in sorted(grades)],
        "most": max(grades, default=0) + 0,
        "any": Priority.HIGH in grades,
    }


def decided_by_data(x):
    grade = Priority(int(x.argmax()))
    return "on" if grade else "off", f"{grade.name}:{grade}", ["a", "b", "c"][grade]


SCORES = [[0.1], [0.5], [0.31]]
WORDS = [[[]], [["low"]], [["zz", "high"]], [["off", "low", "high", "low"]]]
CASES = {
    "of a choice": Case(chosen, [0.9], SCORES),
    "as texts": Case(shown, [0.9], SCORES),
    "as numbers": Case(computed, [0.9], SCORES),
    "of a cond": Case(
        lambda score: tracepack.cond(score > 0.5, lambda: Level.HIGH, lambda: Level.LOW).least, [0.9], SCORES
    ),
    "of a text": Case(lambda text: (Colour(text).upper(), Colour(text) + "!"), ["red"], [["blue"]]),
    "in lists": Case(triage, [[0.1, 0.9], ["a", "b"]], [[[], []], [[0.9], ["c"]], [[0.1, 0.2, 0.9], ["d", "e", "f"]]]),
    "in a loop": Case(graded_records, [[0.1, 0.9]], [[[]], [[0.5]], [[0.9, 0.5, 0.0]]]),
    "in order": Case(ordered, [["low", "high", "off"]], WORDS),
    "of data": Case(decided_by_data, [torch.tensor([0.1, 0.2, 0.9])], [[torch.eye(3)[0]], [torch.eye(3)[1]]]),
    "decimal numbers": Case(
        lambda key: (str(RATES[key] * 2), str(RATES.get(key.lower(), Decimal("0.21")) + 1)), ["DE"], [["FR"]]
    ),
    "dates": Case(lambda key: (DUE[key].isoformat(), DUE.get(key + "?", date(2020, 1, 1)).weekday()), ["DE"], [["FR"]]),
    "spans of time": Case(lambda key: (datetime(2024, 1, 1) + TERMS[key]).isoformat(), ["FR"], [["DE"]]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_asked_of_a_member(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_a_member_as_a_result_is_refused_with_what_to_return() -> None:
    with pytest.raises(RecordError, match=r"returns a member of Level, which .* Return member\.value, or member\.name"):
        tracepack.trace(lambda text: Level[text.upper()] if text == "x" else Level.LOW, "low")
