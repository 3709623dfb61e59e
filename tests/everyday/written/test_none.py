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


def taken(xs, n):
    left, count = iter([1, 2, 3]), 0
    while n > 0 and next(left, None):
        n -= 1
        count += 1
    return count, n


def test_a_loop_that_asks_an_iterator_over_constants_is_no_loop_of_any_length() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(taken, [1, 2, 3], 2)
    assert mod([1, 2, 3], 2) == (2, 0)
    with pytest.raises(tracepack.GuardError):
        mod([1, 2, 3], 4)


def steps(n):
    count = 0
    if n < 1:
        return -1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def test_a_loop_that_never_ends_on_the_example_ends_no_trace() -> None:
    """Its side is not the one that Python takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(steps, -2)
    assert mod(-2) == -1
