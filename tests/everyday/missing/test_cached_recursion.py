"""A recursion with `functools.lru_cache`: what is fixed is said with forms that answer for any number."""

from __future__ import annotations

from functools import lru_cache

import pytest

import tracepack
from tests.everyday.case import Case, check


@lru_cache(maxsize=None)  # noqa: UP033  # the form is what is tested
def _remembered(n):
    return n if n < 2 else _remembered(n - 1) + _remembered(n - 2)


def _plain(n):
    return n if n < 2 else _plain(n - 1) + _plain(n - 2)


def _with_list(n):
    found = [0, 1]
    for k in range(2, n + 1):
        found.append(found[k - 1] + found[k - 2])
    return found[n]


def _with_dict(n):
    found = {0: 0, 1: 1}
    for k in range(2, n + 1):
        found[k] = found[k - 1] + found[k - 2]
    return found[n]


def test_trace_says_what_goes_both_ways() -> None:
    words = (
        "It cannot go both ways, since the function calls itself on one. A loop that fills a list or a dict does, and "
        "so does the recursion without lru_cache"
    )
    with pytest.warns(UserWarning, match=words):
        pipeline = tracepack.trace(lambda n: _remembered(n), 5)
    assert pipeline(5) == 5
    with pytest.raises(tracepack.GuardError, match="the recording holds for one value only"):
        pipeline(9)


@pytest.mark.parametrize("process", [lambda n: _plain(n), _with_list, _with_dict])
def test_the_forms_that_are_shown_answer_for_any_number(process) -> None:
    check(Case(process, [5], [[0], [1], [2], [9]]))
