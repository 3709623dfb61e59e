"""A block in which variables are set from each other on both sides of many choices is looked at once, not each way."""

from __future__ import annotations

from tests.everyday.case import loaded


def chosen_from_each_other(xs, text):
    best = rest = [0]
    for item in xs:
        best = best if item > 3 else rest
        rest = rest if item % 2 else best
        best = rest if text.count("z") == 2 else best
        if text.count("q") == 2:
            best = [item]
        rest = best if len(text) > 9 else rest
    while sum(best) < len(text):
        best = [*best, 1] if best else rest
    return best, rest


def test_a_chain_of_choices_is_traced_at_once() -> None:
    mod = loaded(chosen_from_each_other, [1, 2, 3], "abc")
    for xs, text in (([4, 5], "zz"), ([], "qq"), ([9, 2, 1], "qqzz"), ([1], "a" * 10)):
        assert mod(xs, text) == chosen_from_each_other(xs, text)
