"""Loops over lists of any length that change the items of the lists they fill, or take items out."""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded

_TEXTS = ["a", "-", "", "b", "a"], [["-", "-", "c"], ["a"], ["a", "", "", "b", "b", "-", "x"]]
_BRACKETS = ["(", "a", "(", ")"], [["("], ["a"], ["(", "(", ")", "b", "("]]


def counts(words):
    found = [0]
    for word in words:
        if word == "-":
            found.append(0)
        else:
            found[-1] += 1
    return found


def counts_from_none(words):
    found = []
    for word in words:
        if found and word == "":
            found[-1] += 1
        else:
            found.append(1)
    return found


def rows(words):
    found = [["first"]]
    for word in words:
        if word == "-":
            found.append([])
        else:
            found[-1].append(word)
    return [len(row) for row in found], ["".join(row) for row in found], found[0]


def runs(words):
    found = []
    for word in words:
        if found and found[-1][0] == word:
            found[-1] = (word, found[-1][1] + 1)
        else:
            found.append((word, 1))
    return found


def joined(words):
    parts = [""]
    for word in words:
        if word == "-":
            parts.append("")
        else:
            parts[-1] += word
    return " ".join(parts), len(parts)


def records(words):
    found = [{"text": "", "n": 0}]
    for word in words:
        if word == "-":
            found.append({"text": word, "n": 1})
        else:
            found[-1]["n"] += 1
    return found


def classes(words):
    found = [0, 0, 0]
    first = [0, 0]
    for word in words:
        found[len(word) % 3] += 1
        first[0] += 1
        if word == "-":
            first[1] = first[0] + len(word)
    return found, first


def window(words):
    found = []
    for word in words:
        found.append(word)
        if len(found) > 2:
            found.pop(0)
    return found, found[-1]


def depths(words):
    open_ones, found = [0], []
    for word in words:
        if word == "(":
            open_ones.append(len(found) + 1)
        elif word == ")":
            found.append(open_ones.pop())
    return found, open_ones


def swapped(words):
    found = [0]
    for _ in words:
        last = found.pop()
        found.append(last + 1)
        found.append(last)
    return found


CASES = {process.__name__: process for process in (counts, counts_from_none, rows, runs, joined, records)}
CASES |= {process.__name__: process for process in (classes, window, swapped)}


@pytest.mark.parametrize("name", CASES)
def test_items_are_changed_and_taken_out(name) -> None:
    check(Case(CASES[name], [_TEXTS[0]], [[words] for words in _TEXTS[1]]))


def test_a_stack() -> None:
    check(Case(depths, [_BRACKETS[0]], [[words] for words in _BRACKETS[1]]))


def dropped(words):
    found = ["start"]
    for word in words:
        if word == ")":
            found.pop()
        else:
            found.append(word)
    return found


def test_an_item_that_is_not_there_is_an_error() -> None:
    mod = loaded(dropped, ["a", ")"])
    assert mod([")", "b"]) == dropped([")", "b"]) == ["b"]
    with pytest.raises(tracepack.TracepackError):
        mod([")", ")"])


def other_name(words):
    found = [0]
    same = found
    for _ in words:
        found[-1] += 1
    return same


def test_a_list_that_has_another_name_is_one_list_in_a_block() -> None:
    mod = loaded(other_name, ["a", "b"])
    for words in ([], ["a"], ["a", "b", "c"]):
        assert mod(words) == other_name(words)


@pytest.mark.usefixtures("no_blocks")
def test_a_list_that_has_another_name_keeps_its_length() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the length is fixed
        mod = loaded(other_name, ["a", "b"])
    assert mod(["c", "d"]) == [2]
    with pytest.raises(tracepack.GuardError, match="the length of the list was read"):
        mod(["a"])
