"""Conditions of a signature: none is shown that always holds, or that others imply, and no other one is left out."""

from __future__ import annotations

import itertools

import pytest
import torch

import tracepack
from tracepack.pipeline.signature.plain_conditions import plain_conditions

SHOWN = {
    "differences that vanish": (["M + -1 * M <= 0 and N >= 1"], ["N >= 1"]),
    "what is equal to itself": (["M <= M", "N == N", "2 * N - N == N"], []),
    "an alternative that a bound implies": (["N >= 1 and (N >= 2 or (N == 1 and N == 1))"], ["N >= 1"]),
    "no size is negative": (["N >= 0", "N + 1 > 0"], []),
    "lower bounds": (["N >= 2", "N >= 4", "not N >= 6"], ["N >= 4", "not N >= 6"]),
    "all of both": (["N == 1 or N != 1"], []),
    "twice": (["N % 3 == 0", "N % 3 == 0"], ["N % 3 == 0"]),
    "an alternative that is none": (["N >= 5 or M != M"], ["N >= 5"]),
    "no size": (["n == n", "x != x"], ["n == n", "x != x"]),
    "two sizes": (["N != M or N == 1"], ["N != M or N == 1"]),
    "products of numbers": (["3 * (N + 5) >= 50", "N >= 11"], ["3 * (N + 5) >= 50"]),
    "joined lists": (
        ["len(cat_strings(cat_strings([], xs), [3])) >= 2", "2 <= len(cat_strings([0], ys))"],
        ["len(xs) >= 1", "len(ys) >= 1"],
    ),
    "joined texts": (
        ["cat_strings(s, t) == 'ab'", "len(cat_strings(xs, ys)) > 1"],
        ["s + t == 'ab'", "len(xs) + len(ys) > 1"],
    ),
    "no expression": (["a b", "N >= 2"], ["a b", "N >= 2"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_says_nothing_is_not_shown(name):
    given, shown = SHOWN[name]
    assert plain_conditions(given, {"N", "M"}) == shown


PIECES = [
    "N >= 1",
    "N == 1",
    "N >= 2 or M == 0",
    "N * 2 <= M + M",
    "not N > 3",
    "M - 1 >= N",
    "N != 2",
    "N < 1 or N > 3",
]


@pytest.mark.parametrize("chosen", [*itertools.combinations(PIECES, 3)])
def test_what_is_shown_says_the_same(chosen):
    shown = plain_conditions(chosen, {"N", "M"})
    for n, m in itertools.product(range(7), repeat=2):
        names = {"N": n, "M": m}
        assert all(eval(each, names) for each in shown) == all(eval(each, names) for each in chosen), shown


def test_a_signature_shows_no_source_of_a_block_and_no_long_table():
    def process(words):
        found = []
        for word in words:
            parts = word.split("=")
            while parts and not parts[0]:
                parts.pop(0)
            found.append(parts)
        return found[0] if len(found) == 2 else words

    mod = tracepack.trace(process, ["=a=b", "c"])
    assert "def block" not in mod.signature

    def squared(x):
        return x @ x if x.shape[0] == x.shape[1] and x.shape[0] - x.shape[0] <= 0 else x

    assert tracepack.trace(squared, torch.rand(3, 3)).signature.startswith("(x: f32[N,")
