"""Functions that call themselves: a choice by data on one side of which they do so again ends."""

from __future__ import annotations

import pytest
import torch

import tracepack

X = torch.rand(2, 2) + 0.5


def doubled(x, times):
    if times <= 0:
        return x
    return doubled(x * 2, times - 1)


def folded(x):
    return x if len(x) <= 1 else folded(x[::2]) + folded(x[1::2]).mean()


def bounded(x):
    if x.max() < 1:
        return x
    return bounded(x / 2)


def power(x, n):
    if n == 0:
        return torch.eye(x.shape[0])
    half = power(x, n // 2)
    return half @ half @ x if n % 2 else half @ half


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


CASES = {
    "a number ends it": (doubled, (X, 2), [(X, 0), (X, 5)]),
    "a size ends it": (folded, (torch.rand(4),), [(torch.rand(1),), (torch.rand(7),)]),
    "data end it": (bounded, (X * 3,), [(X * 9,), (X / 4,)]),
    "a power": (power, (X, 3), [(X, 0), (X, 6)]),
    "it calls itself twice": (fibonacci, (4,), [(0,), (9,)]),
    "two call each other": (even, (3,), [(0,), (6,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_recorded_and_answers_at_other_depths(name) -> None:
    function, example, others = CASES[name]
    mod = tracepack.trace(function, *example)
    for given in (example, *others):
        torch.testing.assert_close(mod(*given), function(*given), rtol=0, atol=0)


def test_a_cond_within_itself_shows_the_loop() -> None:
    def grown(x):
        return tracepack.cond(x.sum() > 10, lambda: x, lambda: grown(x * 2))

    with pytest.raises(tracepack.RecordError, match="a function calls itself on a side of a choice") as caught:
        tracepack.trace(grown, X)
    assert "tracepack.while_loop(condition, body, state)" in str(caught.value)

    def form(x):
        return tracepack.while_loop(lambda x: x.sum() <= 10, lambda x: x * 2, x)

    mod = tracepack.trace(form, X)
    for given in (X, X * 100, X / 100):
        torch.testing.assert_close(mod(given), form(given), rtol=0, atol=0)
