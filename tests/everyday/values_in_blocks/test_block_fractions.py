"""Fractions in blocks stay within the bounds of other numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tracepack
from tests.everyday.case import loaded


def squared(n):
    found = Fraction(n, 3)
    for _ in range(n):
        found = found * found
    return found.numerator % 7


def read(text):
    found = Fraction(text)
    return found.denominator


def raised(n):
    found = Fraction(n, 1) ** n
    return found.numerator % 7


def of_base(n):
    found = 3 ** Fraction(n, 1)
    return found % 7


@pytest.mark.parametrize(
    ("process", "example", "other", "large", "words"),
    [
        (squared, 2, 5, 40, "a fraction grows too large"),
        (read, "1/4", "1e-30", "1e-99999999", "a text of a fraction stands for very many digits"),
        (read, "1/4", "2.5e-3", "1" * 5000, "a text of a fraction stands for very many digits"),
        (raised, 2, -3, 10**9, "a fraction grows too large"),
        (of_base, 2, 30, 10**9, "grows too large"),
    ],
)
def test_what_would_grow_without_end_is_refused(process, example, other, large, words) -> None:
    mod = loaded(process, example)
    assert mod(other) == process(other)
    with pytest.raises(tracepack.GuardError, match=words):
        mod(large)
