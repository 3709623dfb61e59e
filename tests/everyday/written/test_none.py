"""Numbers that may be None, as a choice written anew gives them, where the code asks whether they are None."""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import loaded

EXAMPLES = ([5, 6], [-1, -4], [3, 1, 9])
ARGUMENTS = ([5, 6], [-1, -4], [-1, 5], [1, -2, 3])


def first(xs):
    found = None
    if xs[0] > 2:
        found = xs[0]
    return found


def asked(xs):
    found = None
    if xs[0] > 2:
        found = xs[0]
    return found is None


def asked_by_name(xs):
    found, nothing = None, None
    if xs[0] > 2:
        found = xs[0]
    return found is nothing, found is not nothing


def asked_of_truth(xs):
    found = None
    if xs[0] > 2:
        found = xs[0] > 4
    return found is True, found is not False


def asked_in_a_helper(xs):
    return _wrapped(xs[0] if xs[0] > 2 else None)


def _wrapped(found):
    return None if found is None else [found]


def asked_of_a_helper(xs):
    found = first(xs)
    return None if found is None else [found]


def asked_in_a_loop(xs):
    found, i = None, 0
    while i < len(xs) and found is None:
        if xs[i] > 2:
            found = xs[i]
        i += 1
    return found


def chosen(xs):
    found = tracepack.cond(xs[0] > 2, lambda: xs[0], lambda: None)
    return found is None


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(
    "process",
    [asked, asked_by_name, asked_of_truth, asked_in_a_helper, asked_of_a_helper, asked_in_a_loop, chosen],
)
def test_a_test_for_none_is_right_or_stopped(process, example) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, example)
    assert mod(list(example)) == process(example)
    for given in ARGUMENTS:
        try:
            found = mod(list(given))
        except (tracepack.GuardError, tracepack.SignatureError):
            continue
        assert found == process(given)


@pytest.mark.parametrize("process", [asked, asked_by_name, chosen])
def test_a_test_for_none_goes_both_ways(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, [5, 6])
    assert [mod(given) for given in ARGUMENTS] == [process(given) for given in ARGUMENTS]
