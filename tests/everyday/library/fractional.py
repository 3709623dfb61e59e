"""Fractions of numbers and texts: written, added up, compared, rounded, near a number."""

from __future__ import annotations

import fractions
import statistics
from fractions import Fraction

import torch

from tests.everyday.case import Case

HALF = Fraction(1, 2)
X = [[torch.tensor([0.25, 0.5])], [torch.tensor([0.1, 0.2, 0.3])], [torch.tensor([-7.0])]]


def written(n):
    return str(Fraction(n, 12)), repr(fractions.Fraction(n, 6)), f"{Fraction(n, 3)}"


def summed(ns):
    total = Fraction(0)
    for n in ns:
        total += Fraction(1, n)
    return float(total), total.numerator, total.denominator


def of_texts(texts):
    return str(sum((Fraction(text) for text in texts), Fraction(0)))


def aspect(width, height):
    ratio = Fraction(width, height).limit_denominator(20)
    return f"{ratio.numerator}:{ratio.denominator}"


def near(x):
    return str(Fraction(x.mean().item()).limit_denominator(10))


def of_size(x):
    ratio = float(Fraction(x.shape[0], 3))
    return x * ratio


def of_both_sizes(x):
    ratio = float(Fraction(x.shape[0], x.shape[1]))
    return ratio * x


def of_a_number(k, x):
    ratio = float(Fraction(k, 4))
    return ratio * x


def of_screen(width, height):
    text = str(Fraction(width, height))
    return text.replace("/", ":")


def reckoned(a, b):
    one = Fraction(a, b)
    other = one + HALF
    quotients = str(one - other), str(one * other), str(other / 3), str(2 - one), str(7 // other), str(other % 2)
    powers = str(one**2), str(other**-2), str(2**one), str(one**0.5)
    return quotients, powers, other > one, one == HALF, round(other), str(round(other, 1)), int(other), str(-abs(one))


def described(scores):
    low, mean = statistics.median_low(scores), statistics.harmonic_mean([abs(s) + 1 for s in scores])
    return low, mean, statistics.correlation(scores, [s * s for s in scores])


CASES = {
    "written": Case(written, [3], [[4], [5], [-7], [0]]),
    "summed": Case(summed, [[1, 2]], [[[3, 4, 5]], [[7]]]),
    "of texts": Case(of_texts, [["1/2", "1/3"]], [[["2", "0.5", "1e2"]], [["-1/6"]]]),
    "aspect": Case(aspect, [1920, 1080], [[640, 480], [1279, 720]]),
    "near": Case(near, X[0], X),
    "of size": Case(of_size, X[0], X),
    "of both sizes": Case(of_both_sizes, [torch.ones(2, 3)], [[torch.ones(4, 3)], [torch.ones(5, 2)]]),
    "of a number": Case(of_a_number, [1, torch.ones(2)], [[3, torch.ones(2)], [0, torch.ones(1)]]),
    "of a screen": Case(of_screen, [16, 9], [[4, 2], [32, 18]]),
    "reckoned": Case(reckoned, [1, 3], [[5, 2], [1, 2], [4, 2]]),
    "described": Case(described, [[1.0, 2.0, 4.0]], [[[3.0, 4.0]], [[1.0, 2.0, 0.5, 9.0]]]),
}


def read(text):
    found = Fraction(text)
    return found.numerator


FAILING = {
    "a text that is none": (read, "1/2", "x", "Invalid literal for Fraction: 'x'"),
    "a denominator of zero": (read, "1/2", "1/0", r"ZeroDivisionError: Fraction\(1, 0\)"),
}
