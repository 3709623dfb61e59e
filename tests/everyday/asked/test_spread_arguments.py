"""Calls with the items of a list as arguments: ``max(*scores)``, ``print(*words)``."""

from __future__ import annotations

import functools
import itertools
import math
import os

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

WHOLE = [[1, 2]], [[[3, 4, 5]], [[7, -1]], [[2, 2]]]
NEAR = [[1.5, 2.5]], [[[3.0, 4.0, float("nan")]], [[7.0, -1.0]]]


def told(xs):
    print(*xs)
    print("of", *xs)
    print(*xs, sep=", ")
    print("n", *[x * 2 for x in xs], sep="-", end=";")
    return [x + 1 for x in xs]


def told_rows(x):
    print(*x)
    print(*x.tolist())
    return x * 2


CASES = {
    "max": Case(lambda xs: max(*xs), *WHOLE),
    "min": Case(lambda xs: min(*xs), *NEAR),
    "of a comprehension": Case(lambda xs: max(*[x * 2 for x in xs]), *WHOLE),
    "of a generator": Case(lambda xs: max(*(x * 2 for x in xs)), *WHOLE),
    "with a key": Case(lambda xs: max(*xs, key=lambda x: -x), *WHOLE),
    "beside a constant": Case(lambda xs: max(0, *xs), [[1, 2]], [[[3]], [[-5, -1]]]),
    "beside others": Case(lambda xs, y: max(y, *xs, 3), [[1, 2], 5], [[[3, 4, 5], 1], [[], 9], [[7], 0]]),
    "beside one, with a key": Case(lambda xs: max(1, *xs, key=lambda x: -x), *WHOLE),
    "of texts": Case(lambda words: max(*words, key=len), [["a", "bb"]], [[["q", "zzz", "yy"]]]),
    "of letters": Case(lambda text: max(*text), ["ab"], [["xyz"]]),
    "of words": Case(lambda text: max(*text.split()), ["ab c"], [["x y z"]]),
    "of lengths": Case(lambda text: max(*map(len, text.split())), ["ab c"], [["x yyy z"]]),
    "of what a tensor holds": Case(lambda x: max(*x.tolist()), [torch.tensor([0.5, 0.2])], [[torch.rand(5)]]),
    "of the rows of a tensor": Case(lambda x: max(*x), [torch.tensor([0.5, 0.2])], [[torch.rand(5)]]),
    "of tensors": Case(
        lambda xs: max(*xs), [[torch.tensor(1.0), torch.tensor(2.0)]], [[[torch.tensor(x) for x in (3.0, 2.0, 9.0)]]]
    ),
    "in rounds": Case(lambda xss: [max(*xs) for xs in xss], [[[1, 2], [3, 1]]], [[[[3, 4, 5], [1, 9, 2]]], [[]]]),
    "where there are two": Case(lambda xs: max(*xs) if len(xs) > 1 else -1, [[1, 2]], [[[3, 4, 5]], [[3]], [[]]]),
    "print": Case(told, [[1, 2]], [[[3, 4, 5]], [[]]]),
    "print of rows": Case(told_rows, [torch.rand(2)], [[torch.rand(3)]]),
    "of a plain list": Case(lambda n: max(*[1, 2]) + max(n, *[3, 4]), [1], [[9]]),
    "a list of tensors": Case(lambda xs: torch.cat([*xs]), [[torch.rand(2), torch.rand(3)]], [[[torch.rand(1)] * 3]]),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_functions_that_take_a_list_as_well_take_it(name) -> None:
    check(CASES[name])


@pytest.mark.parametrize("others", [[3], []])
def test_one_item_and_none_are_refused_in_the_run(others) -> None:
    mod = loaded(lambda xs: max(*xs), [1, 2])
    assert mod.signature == "(xs: list[int]) -> int where len(xs) >= 2"
    with pytest.raises(tracepack.GuardError, match=r"max\(\*items\) takes two items or more"):
        mod(others)


def test_the_only_item_of_the_example_is_gone_through_as_python_does() -> None:
    with pytest.raises(tracepack.RecordError, match="a branch on a tensor cannot be recorded"):  # as of `max(x)`
        tracepack.trace(lambda xs: max(*xs), [torch.tensor([1.0, 5.0])])


def summed(*xs):
    return sum(xs)


def summed_list(xs):
    return sum(xs)


ADVICE = {
    "own": (lambda xs: summed(*xs), lambda xs: summed_list(xs), "A function that takes the list itself, summed(xs) in"),
    "gcd": (
        lambda xs: math.gcd(*xs), lambda xs: functools.reduce(math.gcd, xs, 0),
        "Instead of gcd(*…) functools.reduce(math.gcd, xs, 0) keeps it free",
    ),
    "lcm": (
        lambda xs: math.lcm(*xs), lambda xs: functools.reduce(math.lcm, xs, 1),
        "Instead of lcm(*…) functools.reduce(math.lcm, xs, 1) keeps it free",
    ),
}  # fmt: skip
OF_LISTS = {
    "chain": (
        lambda xs: list(itertools.chain(*xs)), lambda xs: list(itertools.chain.from_iterable(xs)),
        "Instead of chain(*…) itertools.chain.from_iterable(xs) keeps it free",
    ),
    "union": (
        lambda xs: len(set().union(*xs)), lambda lists: len({x for xs in lists for x in xs}),
        "Instead of union(*…) {x for xs in lists for x in xs} keeps it free",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spread", "form", "words"), ADVICE.values(), ids=ADVICE)
def test_other_calls_fix_the_length_and_show_a_form_that_does_not(spread, form, words, recwarn) -> None:
    tracepack.trace(spread, [4, 6])
    (line,) = recwarn
    assert f"the length is fixed to 2. {words}" in str(line.message)
    check(Case(form, [[4, 6]], [[[9, 6, 12]], [[]]]))
    assert len(recwarn) == 1


@pytest.mark.parametrize(("spread", "form", "words"), OF_LISTS.values(), ids=OF_LISTS)
def test_other_calls_with_lists_show_such_a_form(spread, form, words) -> None:
    with pytest.warns(UserWarning, match="is fixed to 2") as lines:
        tracepack.trace(spread, [["a"], ["b"]])
    assert any(f"the length is fixed to 2. {words}" in str(line.message) for line in lines)
    check(Case(form, [[["a"], ["b"]]], [[[["a", "c"], ["b"], ["c"]]], [[]]]))


def test_a_tuple_of_items_has_a_form() -> None:
    with pytest.warns(UserWarning, match=r"fixed to 2\. Instead of \(\*xs,\) \[\*xs\], a list, keeps it free"):
        tracepack.trace(lambda xs: torch.cat((*xs,)), [torch.rand(2), torch.rand(3)])


def test_joined_paths_have_a_form() -> None:
    with pytest.raises(tracepack.RecordError, match=r"Use '/'\.join\(parts\)\."):
        tracepack.trace(lambda parts: os.path.join(*parts), ["a", "b"])
    check(Case(lambda parts: "/".join(parts), [["a", "b"]], [[["c", "d", "e"]]]))
