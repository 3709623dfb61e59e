"""`%` of a constant text, or of bytes, in lambdas and in the middle of statements: recorded as an f-string is."""

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
    "a width": Case(lambda w, n: "%*d|%-*d|%0*x%%" % (w, n, w, n, w, abs(n)), [4, 7], [[1, 123], [9, -5], [-6, 3]]),
    "a precision": Case(lambda p, v: "%.*f|%8.*f" % (p, v, p, v), [2, 1.5], [[0, 2.25], [5, -1.0], [-3, 2.5]]),
    "a width and a precision": Case(lambda w, p, s: "%*.*s!" % (w, p, s), [5, 1, "ab"], [[2, 2, "abc"], [1, 0, ""]]),
    "a constant width": Case(lambda n: "%*d %s" % (5, n, "x"), *WHOLE),
    "a width alone": Case(lambda w: "%*d" % (w, 7), [3], [[1], [-4]]),
    "the width of a column": Case(
        lambda words: ["%-*s|" % (max(map(len, words)), word) for word in words],
        [["a", "bcd"]], [[["q"]], [["ab", ""]]],
    ),
    "bytes": Case(lambda n: (b"%d;%5x %%" % (n, abs(n))).hex(), *WHOLE),
    "bytes of a decimal number": Case(lambda v: len(b"%.2f" % v), *DECIMAL),
    "bytes in bytes": Case(lambda data: (b"<%s|%b|%.2s>" % (data, data, data)).hex(), [b"ab"], [[b""], [b"\xff\x00z"]]),
    "bytes by name": Case(lambda n: (b"%(n)d!" % {b"n": n}).decode(), *WHOLE),
    "bytes of a text": Case(lambda s, n: (b"%s=%d\n" % (s.encode(), n)).decode(), ["ä", 1], [["", 2], ["xyz", -3]]),
    "bytes of a width": Case(lambda w, n: (b"%0*d" % (w, n)).decode(), [4, 7], [[1, 12], [6, -5]]),
    "one byte": Case(lambda n: (b"%c%c" % (n, b"z")).hex(), [65], [[0], [255]]),
    "as Python writes it": Case(lambda n, s: (b"%r %a" % (n, s)).decode(), [1, "a"], [[-2, "ä"]]),
    "an argument that is a tuple": Case(lambda pair: "%d %s" % pair, [(1, "x")], [[(3, "yy")]]),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_formats_by_percent_are_recorded(name) -> None:
    check(CASES[name])


def test_they_are_texts_of_the_signature() -> None:
    mod = tracepack.trace(counted, *ROWS[0])
    assert mod.signature == "(x: f32[N,4]) -> {'message': str, 'y': f32[N,3]}"


def test_bytes_take_what_bytes_take() -> None:
    with pytest.raises(TypeError, match="%b requires a bytes-like object"):
        tracepack.trace(lambda n: (b"%s" % n).hex(), 3)
    with pytest.raises(tracepack.RecordError, match="by how Python writes them. Write %s for %r and %a"):
        tracepack.trace(lambda data: (b"%r" % data).hex(), b"ab")
    mod = tracepack.trace(lambda n: (b"%c" % n).hex(), 65)
    with pytest.raises(tracepack.TracepackError):
        mod(300)


def test_a_width_is_as_long_as_a_text_may_be() -> None:
    mod = tracepack.trace(lambda w: "%*d" % (w, 7), 3)
    assert mod(9999) == "%*d" % (9999, 7)
    with pytest.raises(tracepack.GuardError, match="a text"):
        mod(10**9)
