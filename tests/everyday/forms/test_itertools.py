"""Functions of itertools and collections that fix the length: said at the trace, with a form that keeps it free."""

from __future__ import annotations

import ast
import bisect
import itertools
import math
import warnings
from collections import deque
from pathlib import Path

import pytest

import tracepack
from tests.everyday.case import Case, check
from tracepack.pipeline.rules.advice.instead import _ITERATING

XS, YS = [3, 1, 2], [5, 4]


FORMS = {
    "combinations": (
        lambda xs, ys: list(itertools.combinations(xs, 2)),
        lambda xs, ys: [(a, b) for i, a in enumerate(xs) for b in xs[i + 1 :]],
    ),
    "permutations": (
        lambda xs, ys: list(itertools.permutations(xs, 2)),
        lambda xs, ys: [(a, b) for i, a in enumerate(xs) for j, b in enumerate(xs) if i != j],
    ),
    "product": (lambda xs, ys: list(itertools.product(xs, ys)), lambda xs, ys: [(a, b) for a in xs for b in ys]),
    "zip_longest": (
        lambda xs, ys: list(itertools.zip_longest(xs, ys, fillvalue=0)),
        lambda xs, ys, fill=0: list(
            zip(xs + [fill] * (len(ys) - len(xs)), ys + [fill] * (len(xs) - len(ys)), strict=True)
        ),
    ),
    "deque": (
        lambda xs, ys: [*deque(xs, maxlen=3)],
        lambda xs, ys: [xs[max(0, i - 2) : i + 1] for i in range(len(xs))][-1],
    ),
    "bisect": (
        lambda xs, ys: bisect.bisect(sorted(xs), 3),
        lambda xs, ys, value=3: sum([x <= value for x in xs]),
    ),
    "bisect_right": (
        lambda xs, ys: bisect.bisect_right(sorted(xs), 3),
        lambda xs, ys, value=3: sum([x <= value for x in xs]),
    ),
    "bisect_left": (
        lambda xs, ys: bisect.bisect_left(sorted(xs), 3),
        lambda xs, ys, value=3: sum([x < value for x in xs]),
    ),
    "takewhile": (
        lambda xs, ys: list(itertools.takewhile(lambda x: x > 1, xs)),
        lambda xs, ys: xs[: next((i for i, x in enumerate(xs) if not x > 1), len(xs))],
    ),
    "dropwhile": (
        lambda xs, ys: list(itertools.dropwhile(lambda x: x > 1, xs)),
        lambda xs, ys: xs[next((i for i, x in enumerate(xs) if not x > 1), len(xs)) :],
    ),
    "filterfalse": (
        lambda xs, ys: list(itertools.filterfalse(lambda x: x > 1, xs)),
        lambda xs, ys: [x for x in xs if not x > 1],
    ),
    "starmap": (
        lambda xs, ys: list(itertools.starmap(pow, zip(xs, ys, strict=False))),
        lambda xs, ys, function=lambda a, b: a**b: [function(*each) for each in zip(xs, ys, strict=False)],
    ),
    "compress": (
        lambda xs, ys: list(itertools.compress(xs, [y > 4 for y in ys])),
        lambda xs, ys: [x for x, keep in zip(xs, [y > 4 for y in ys], strict=False) if keep],
    ),
    "repeat": (lambda xs, ys: list(zip(xs, itertools.repeat(7))), lambda xs, ys, value=7: [(x, value) for x in xs]),
    "cycle": (
        lambda xs, ys: list(zip(itertools.cycle("ab"), xs)),
        lambda xs, ys, table="ab": [(table[i % len(table)], x) for i, x in enumerate(xs)],
    ),
}


_BLOCKS = ("bisect", "bisect_left", "bisect_right")  # which take any length here as they are


@pytest.mark.parametrize("name", FORMS)
def test_a_function_that_fixes_the_length_is_said_with_a_form_that_keeps_it_free(name) -> None:
    plain, form = FORMS[name]
    if name in _BLOCKS:
        check(Case(plain, (XS, YS), [([4], [1, 9]), ([2, 2, 7, 1, 0], [5, 6, 1]), ([3, 3], [])]))
    else:
        with pytest.warns(UserWarning, match=f"the length is fixed to [23]. Instead of {name} .* keeps it free"):
            tracepack.trace(plain, XS, YS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(form, XS, YS)
    for xs, ys in ((XS, YS), ([4], [1, 9]), ([2, 2, 7, 1, 0], [5, 6, 1])):
        assert mod(xs, ys) == plain(xs, ys)


def test_the_forms_that_are_shown_are_those_that_are_tried() -> None:
    tried = ast.unparse(ast.parse(Path(__file__).read_text()))
    for given in (("x > 1", "wanted(x)"), (", strict=False", ""), (", strict=True", "")):
        tried = tried.replace(*given)
    for given in (("zip(xs, [y > 4 for y in ys])", "zip(xs, mask)"), ("in zip(xs, ys)]", "in items]")):
        tried = tried.replace(*given)
    assert FORMS.keys() == _ITERATING.keys()
    for form in (each.partition(", the last")[0] for each in _ITERATING.values()):
        lines = ast.unparse(ast.parse(form)).splitlines()
        assert all(line.strip() in tried for line in lines)


@pytest.mark.parametrize(
    ("plain", "words", "form"),
    [
        (
            lambda xs: list(deque(xs, maxlen=2)),
            r"Instead of list\(deque\(xs, maxlen=2\)\) xs\[-2:\]",
            lambda xs: xs[-2:],
        ),
        (
            lambda xs: math.hypot(*xs),
            r"Instead of hypot\(\*…\) math\.sqrt\(sum\(\[x \* x for x in xs\]\)\)",
            lambda xs: math.sqrt(sum([x * x for x in xs])),
        ),
    ],
    ids=["deque", "hypot"],
)
def test_a_form_for_a_line_as_a_whole(plain, words, form) -> None:
    with pytest.warns(UserWarning, match=f"the length is fixed to 3. {words} keeps it free"):
        tracepack.trace(plain, XS)
    mod = tracepack.trace(form, XS)
    for xs in (XS, [4], [2, 2, 7, 1, 0]):
        assert mod(xs) == pytest.approx(plain(xs))


def test_the_place_of_a_bisection_is_an_int_in_the_signature() -> None:
    module = tracepack.trace(lambda xs: bisect.bisect_left(sorted(xs), 3), [1, 2])
    assert [each.kind for each in module.outputs] == ["int"]
