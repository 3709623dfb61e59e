"""`%` of a constant text, in lambdas and in the middle of statements: it is recorded as an f-string is."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

OP = tracepack.script(torch.nn.Linear(4, 3).eval(), device="cpu")
ROWS = [torch.rand(2, 4)], [[torch.rand(5, 4)], [torch.rand(0, 4)], [torch.rand(12, 4)]]
WHOLE = [3], [[0], [-7], [10**12]]
DECIMAL = [1.5], [[2.25], [-0.0], [1e22], [float("nan")]]


def counted(x):
    y = OP(x)
    return {"message": "%d rows" % len(x), "y": y}


def listed(x, score, name):
    y = OP(x)
    return ["%.3f" % score, "%s: %d" % (name, len(x)), y]


def inside_of_calls(x):
    y = OP(x)
    return len("%d" % x.shape[0]), " ".join(["%d" % len(x), "%05.1f%%" % (100 * len(x))]), y


def chosen(x, n):
    y = OP(x)
    return "%+d" % (n if n > 2 else -n), y


class Captioned:
    def __init__(self):
        self.title = "%d of %d"

    def __call__(self, x, n):
        return {"title": self.title % (n, len(x)), "y": OP(x)}


CASES = {
    "a length": Case(lambda s: "%d%%" % len(s), ["ab"], [["abcd"], [""]]),
    "a decimal number": Case(lambda v: "%.2f" % v, *DECIMAL),
    "a whole number": Case(lambda n: "hi %d" % n, *WHOLE),
    "all kinds": Case(lambda n: "%x %o %5d|%-5d|%+d %s %r %a" % (n, n, n, n, n, n, n, n), *WHOLE),
    "a letter": Case(lambda n: "%c" % n, [65], [[97], [0x4E2D]]),
    "exponents": Case(lambda v: "%g %e %5.1f" % (v, v, v), *DECIMAL),
    "a size": Case(lambda x: "%d rows of %d" % x.shape, *ROWS),
    "a dict": Case(lambda words: "%(n)d rows" % {"n": len(words)}, [["a", "b"]], [[["a"]], [[]]]),
    "with constants": Case(lambda n: "%d %s %d" % (n, "x", 7), *WHOLE),
    "a text beside": Case(lambda name, n: "%s: %d" % (name, n), ["a", 1], [["b", 2], ["", -1]]),
    "for each": Case(lambda xs: ["%d:%s" % (i, x) for i, x in enumerate(xs)], [["a", "b"]], [[["q"]], [[]]]),
    "keys": Case(lambda xs: {"%02d" % x: x for x in xs}, [[1, 2]], [[[3]], [[4, 5, 6]]]),
    "in a dict": Case(counted, *ROWS),
    "in a list": Case(listed, [torch.rand(2, 4), 1.5, "q"], [[torch.rand(5, 4), 2.5, "rr"]]),
    "in calls": Case(inside_of_calls, *ROWS),
    "of a choice": Case(chosen, [torch.rand(2, 4), 2], [[torch.rand(1, 4), 3]]),
    "of an attribute": Case(Captioned(), [torch.rand(2, 4), 1], [[torch.rand(5, 4), 2]]),
    "an argument that is a tuple": Case(lambda pair: "%d %s" % pair, [(1, "x")], [[(3, "yy")]]),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_formats_by_percent_are_recorded(name) -> None:
    check(CASES[name])


def test_they_are_texts_of_the_signature() -> None:
    mod = tracepack.trace(counted, *ROWS[0])
    assert mod.signature == "(x: f32[N,4]) -> {'message': str, 'y': f32[N,3]}"
