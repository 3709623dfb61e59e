"""Constants that are objects, such as the rules of a table, asked by what data decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check


@dataclass(frozen=True)
class Rule:
    name: str
    least: float
    points: int = 1

    def matches(self, score):
        return score >= self.least

    @property
    def label(self):
        return self.name.upper() + "!"


@dataclass(slots=True)
class SlottedRule:
    name: str
    least: float


class TupleRule(NamedTuple):
    name: str
    least: float
    points: int = 1


class PlainRule:
    def __init__(self, name, least, points=1):
        self.name, self.least, self.points = name, least, points


class CountedRule(PlainRule):
    asked = 0

    def matches(self, score):
        CountedRule.asked += 1
        return score >= self.least


class Words:
    def __init__(self, name, words):
        self.name, self.words, self.pattern = name, words, None

    def count(self, text):
        return sum(word in text for word in self.words)


_ROWS = [("gold", 0.9, 5), ("silver", 0.5, 3), ("bronze", 0.2, 1)]
RULES = [Rule(*row) for row in _ROWS]
SLOTTED = [SlottedRule(*row[:2]) for row in _ROWS]
PLAIN = [PlainRule(*row) for row in _ROWS]
COUNTED = [CountedRule(*row) for row in _ROWS]
WORDS = [Words("fruit", ["apple", "pear"]), Words("car", ["kia"])]
TABLE = {"a": RULES[0], "b": RULES[1]}
_SCORES = [0.6], [[0.1], [0.95], [0.2], [0.9]]
_TEXTS = ["apple kia"], [[""], ["kia"], ["pear, apple"]]


def of_kind(rules):
    def asked(score):
        found, first = [], "none"
        for rule in rules:
            if score >= rule.least:
                found.append(rule.name)  # noqa: PERF401  # the form is what is tested
        for rule in rules:
            if score >= rule.least:
                first = rule.name
                break
        return {
            "filter": [rule.name for rule in rules if score >= rule.least],
            "next": next((rule.name for rule in rules if score >= rule.least), "none"),
            "loop": found,
            "first": first,
            "sum": sum(rule.points for rule in rules if score >= rule.least),
            "dict": {rule.name: rule.points for rule in rules if rule.least > score},
            "nearest": min(rules, key=lambda rule: abs(rule.least - score)).name,
            "sorted": [rule.name for rule in sorted(rules, key=lambda rule: abs(rule.least - score))],
            "count": len([rule for rule in rules if score >= rule.least]),
            "entry": rules[int(score * 3)].name,
        }

    return asked


def with_methods(score):
    hits = [rule for rule in RULES if rule.matches(score)]
    near = sorted(RULES, key=lambda rule: abs(rule.least - score))
    return [hit.label for hit in hits], len(hits), [(at, rule.label) for at, rule in enumerate(near[:2])], near[0].label


def beside_others(score):
    numbered = [(at, rule.name) for at, rule in enumerate(RULES) if score >= rule.least]
    return numbered, [letter for letter, rule in zip("abc", RULES, strict=True) if rule.least > score]


def with_default(score):
    first = next((rule for rule in RULES if score >= rule.least), RULES[2])
    best = max((rule for rule in RULES if score < rule.least), key=lambda rule: rule.points, default=RULES[1])
    return first.name, first.label, best.points


def of_words(text):
    counts = {each.name: each.count(text) for each in WORDS}
    return counts, [each.name for each in WORDS if any(word in text for word in each.words)]


def of_key(key, score):
    found = TABLE.get(key, RULES[2])
    return found.name, found.matches(score), found.label


CASES = {
    "dataclasses": Case(of_kind(RULES), *_SCORES),
    "namedtuples": Case(of_kind([TupleRule(*row) for row in _ROWS]), *_SCORES),
    "objects": Case(of_kind(PLAIN), *_SCORES),
    "slots": Case(lambda score: [rule.name for rule in SLOTTED if score >= rule.least], *_SCORES),
    "methods": Case(with_methods, *_SCORES),
    "enumerate and zip": Case(beside_others, *_SCORES),
    "a default": Case(with_default, *_SCORES),
    "lists in them": Case(of_words, *_TEXTS),
    "a table of them": Case(of_key, ("a", 0.95), [("b", 0.6), ("c", 0.1), ("a", 0.2)]),
    "as results": Case(lambda score: [rule for rule in RULES if score >= rule.least], *_SCORES),
    "for each of a list": Case(
        lambda scores: [next((rule.name for rule in RULES if score >= rule.least), "none") for score in scores],
        ([0.3, 0.95],),
        [([],), ([0.1],), ([0.6, 0.1, 0.99],)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_objects_are_asked_by_what_a_call_gives(name) -> None:
    check(CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].example is _SCORES[0]])
def test_objects_are_asked_by_what_data_decides(name) -> None:
    case = CASES[name]
    given = [[torch.tensor([score, score])] for (score,) in (case.example, *case.others)]
    check(Case(lambda x: case.process(x.mean().item()), given[0], given[1:]))


@pytest.mark.parametrize(
    "process",
    [
        lambda x: [rule.name for rule in RULES if x.mean().item() >= rule.least and rule is not RULES[1]],
        lambda x: [rule.name for rule in PLAIN if x.mean().item() >= rule.least and rule != PLAIN[1]],
    ],
    ids=["is", "not equal"],
)
def test_a_loop_that_needs_the_objects_themselves_is_a_block(process) -> None:
    check(Case(process, (torch.tensor([0.95]),), [(torch.tensor([value]),) for value in (0.0, 0.55, 0.7, 2.0)]))


def test_a_loop_whose_objects_count_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match="a value that data decides cannot leave the graph"):
        tracepack.trace(
            lambda x: [rule.name for rule in COUNTED if rule.matches(x.mean().item())], torch.tensor([0.95])
        )


def test_objects_that_are_no_records_are_no_results() -> None:
    words = r"returns objects that are no records. Return what is asked of them: \[item.name for item in items\]"
    for process in (
        lambda x: [rule for rule in PLAIN if x.mean().item() >= rule.least],
        lambda x: sorted(PLAIN, key=lambda rule: abs(rule.least - x.mean().item())),
    ):
        with pytest.raises(tracepack.RecordError, match=words):
            tracepack.trace(process, torch.tensor([0.95]))
