"""Loops over lists that are written in the function, of its arguments: ``[part for part in (first, last) if part]``."""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded

NAMES = [["ann", "lee"], ["bob", ""], ["", "x"], ["", ""]]


def appended(first, last):
    found = []
    for part in (first, last, "z"):
        if part:
            found.append(part)  # noqa: PERF401  # the form is what is tested
    return found


def positive(a, b, c):
    total = 0.0
    for value in [a, b, c]:
        if value > 0:
            total += value
    return total, any(value > 1 for value in (a, b, c)), next((value for value in (a, b, c) if value > 0), 0.0)


NUMBERS = [[1.5, 2.0, -3.0], [-1.0, -2.0, 3.0], [0.0, 0.0, 0.0]]
CASES = {
    "joined": Case(lambda first, last: " ".join(part for part in (first, last) if part), NAMES[0], NAMES[1:]),
    "listed": Case(lambda first, last: [part.upper() for part in [first, last] if part], NAMES[0], NAMES[1:]),
    "filter": Case(lambda first, last: ", ".join(filter(None, [first, last])), NAMES[0], NAMES[1:]),
    "pairs": Case(lambda a, b: [name for name, text in (("a", a), ("b", b)) if text], NAMES[0], NAMES[1:]),
    "entries": Case(lambda a, b: {key: text for key, text in {"a": a, "b": b}.items() if text}, NAMES[0], NAMES[1:]),
    "appended": Case(appended, NAMES[0], NAMES[1:]),
    "numbers": Case(positive, NUMBERS[0], NUMBERS[1:]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_list_of_arguments_is_filtered_both_ways(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def rest_of(a, b):
    rest = iter([a, b])
    return any(value > 1 for value in rest), list(rest)


@pytest.mark.filterwarnings("ignore:.*is fixed to")
def test_an_iterator_with_which_other_code_goes_on_is_followed_as_python_does() -> None:
    mod = loaded(rest_of, 2, 5)
    assert mod(2, 5) == (True, [5])
    with pytest.raises(tracepack.GuardError):
        mod(0, 5)
