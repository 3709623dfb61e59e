"""What a block gives has its kind in the signature where its text leaves no doubt, and no kind where it does."""

from __future__ import annotations

import math

import pytest

from tests.everyday.case import loaded


def larger(a, b):
    return max(a, b)


def joined_and_larger(a, b):
    return a + " " + b, max(a, b), min(a, b, key=len)


def apart(p, q):
    far = math.dist(p, q)
    return far, math.floor(far), round(far, 2), round(far)


def grown(a, n):
    x = max(a, "m")
    while len(x) < n:
        x += a + "-"
    return x, x.upper(), f"{x}!", x.startswith("a"), x.split("-"), len(x)


def halved(n, a):
    k, name = n, max(a, "m")
    while k > 0 and k % 2 == 0:
        k //= 2
    return k, k / 2, abs(-k), max(k, 1.5), name if k > 1 else k, name


def of_other_kinds(a):
    x, n = max(a, "m"), 0
    for each in a.split():
        n += 0.5
        x = each if n < 1 else n
    return x, n


def of_a_float(a, f):
    return max(a, "m"), f * 2, f / 2, round(f), max(f, 1.0)


@pytest.mark.parametrize(
    ("process", "example", "others", "kinds"),
    [
        (larger, ("a", "b"), [("c", "b"), ("", "")], ["str"]),
        (joined_and_larger, ("a", "b"), [("cc", "b"), ("", "")], ["str", "str", "str"]),
        (apart, ((1.0, 2.0), (3.0, 4.5)), [((1, 2), (4, 6))], ["float", "int", "float", "int"]),
        (grown, ("ab", 7), [("z", 0), ("q", 30)], ["str", "str", "str", "bool", "any", "int"]),
        (halved, (12, "a"), [(7, "z"), (1, ""), (0, "q")], ["int", "float", "int", "any", "any", "str"]),
        (of_other_kinds, ("a b",), [("",), ("a",), ("a b c",)], ["any", "any"]),
        (of_a_float, ("z", 2.5), [("a", 3), ("", -1.0)], ["str", "any", "float", "int", "any"]),
    ],
)
def test_a_result_has_the_kind_that_it_has_in_each_run(process, example, others, kinds) -> None:
    mod = loaded(process, *example)
    assert [field.kind for field in mod.outputs] == kinds
    for given in (example, *others):
        wanted, got = process(*given), mod(*given)
        assert got == wanted
        parts = [wanted, got] if len(kinds) == 1 else [*wanted, *got]
        assert [*map(type, parts[: len(kinds)])] == [*map(type, parts[len(kinds) :])]
