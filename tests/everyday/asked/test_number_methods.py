"""What numbers and texts have by Python, asked as methods, by builtins and by functions of math."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

LABELS = np.array(["cat", "dog"])
WHOLE = [[0], [1], [-1], [-7], [10**12], [2**61 - 1], [2**61], [-(2**61)], [2**70]]
DECIMAL = [[0.0], [-0.0], [-1.5], [1e22], [float("inf")], [float("nan")]]
TEXTS = [["ab cd"], ["é中"], [""], ["x" * 9]]
X, OTHERS = torch.tensor([0.0, 1.0]), [[torch.tensor([1.0, 0.0])]]


def whole(process):
    return Case(process, [3], WHOLE)


def text(process):
    return Case(process, ["abc"], TEXTS)


CASES = {
    "an entry of an array of texts": Case(lambda x: LABELS[int(x.argmax())].item(), [X], OTHERS),
    "entries of an array of texts": Case(
        lambda ids: [LABELS[i].item() for i in ids.tolist()], [torch.tensor([0, 1])], [[torch.zeros(0).long()]]
    ),
    "a list of an array of texts": Case(lambda ids: LABELS[ids.numpy()].tolist(), [torch.tensor([0, 1])], OTHERS[:0]),
    "the length of a text": text(lambda s: s.__len__()),
    "the length of a list": Case(lambda words: words.__len__(), [["a", "b"]], [[["a"]], [[]]]),
    "a part of a text": text(lambda s: (s.__contains__("a"), "abcab cd".__contains__(s))),
    "methods of a number": whole(
        lambda n: (n.__str__(), n.__repr__(), n.__format__("+d"), n.__int__() + 1, n.__bool__())
    ),
    "ascii": text(lambda s: (ascii(s), ascii([s, len(s)]))),
    "a width by name": text(lambda s: "{:>{w}}".format(s, w=len(s) + 2)),  # the form is tested
    "widths by place": Case(lambda s, n: "{:{}{}}|{}".format(s, ">", n, n), ["abc", 5], [["a", 9], ["abcdef", 2]]),
    "fields of fields": Case(
        lambda record: "{0[name]}: {0[n]:.{p}f}".format(record, p=2),
        [{"name": "a", "n": 1.5}],
        [[{"name": "é", "n": 2.25}]],
    ),
    "parts of a whole number": whole(lambda n: (n.real, n.imag, n.numerator, n.denominator, n.conjugate())),
    "bits of a whole number": whole(lambda n: (n.bit_length(), n.bit_count(), n.as_integer_ratio())),
    "parts of a flag": Case(lambda b: (b.real, b.imag, b.numerator, b.conjugate(), b.bit_length()), [True], [[False]]),
    "parts of a decimal number": Case(lambda v: (v.real, v.imag, v.conjugate()), [3.5], DECIMAL),
    "whether it is whole": Case(lambda v: (v.is_integer(), 1 if v.is_integer() else 2), [3.5], DECIMAL),
    "bytes with a sign": whole(lambda n: n.to_bytes(9, "big", signed=True).hex()),
    "bytes without one": Case(lambda n: list(n.to_bytes(2, "little")), [3], [[0], [258], [65535]]),
    "a hash": whole(lambda n: (hash(n), hash(n) == n, hash(n) % 16)),
    "a factorial": Case(lambda n: math.factorial(n), [4], [[0], [1], [20], [300]]),
    "combinations": Case(lambda n, k: math.comb(n, k), [4, 2], [[0, 0], [1, 5], [20, 3], [100, 50], [2**80, 2]]),
    "permutations": Case(lambda n, k: (math.perm(n, k), math.perm(k)), [4, 2], [[0, 0], [1, 5], [20, 3], [5, 5]]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_answers_as_python_does(name) -> None:
    check(CASES[name])


@pytest.mark.parametrize(
    ("process", "example", "bad", "words"),
    [
        (lambda n: math.factorial(n), [4], [-1], "not defined for negative"),
        (lambda n, k: math.comb(n, k), [4, 2], [-1, 2], "non-negative"),
        (lambda n, k: math.perm(n, k), [4, 2], [4, -2], "non-negative"),
        (lambda n: math.factorial(n), [4], [10**9], "an integer grows too large"),
        (lambda n, k: math.comb(n, k), [4, 2], [10**9, 10**8], "an integer grows too large"),
        (lambda n, k: math.perm(n, k), [4, 2], [10**9, 10**8], "an integer grows too large"),
        (lambda n: n.to_bytes(2, "big").hex(), [3], [65536], "too large for its bytes"),
        (lambda n: n.to_bytes(2, "big").hex(), [3], [-1], "below 0"),
        (lambda n: n.to_bytes(1, "big", signed=True).hex(), [3], [128], "too large for its bytes"),
    ],
)
def test_what_python_refuses_is_refused(process, example, bad, words) -> None:
    mod = loaded(process, *example)
    with pytest.raises(tracepack.TracepackError, match=words):
        mod(*bad)


@pytest.mark.parametrize(
    ("process", "example", "words"),
    [
        (lambda v: v.hex(), 1.5, r"written as float.hex does. Write f'\{v!r\}'"),
        (lambda s: hash(s) % 8, "a", r"the hash of a text, .*Write zlib.crc32\(text.encode\(\)\)"),
        (lambda s: hash((s, 1)) % 8, "a", r"the hash of a text, .*Write zlib.crc32\(text.encode\(\)\)"),
        (lambda v: hash(v) % 8, 1.5, "the hash of a float"),
        (lambda s: eval(s), "1 + 1", r"plain texts was given a text .*Do eval\(s\) before"),
        (lambda s: ast.literal_eval(s), "[1, 2]", "plain texts was given a text .*or do it before"),
        (lambda s: float.fromhex(s), "0x1p3", "plain texts was given a text .*or do it before"),
    ],
)
def test_what_cannot_be_recorded_is_said_without_internals(process, example, words) -> None:
    with pytest.raises(tracepack.RecordError, match=words) as caught:
        tracepack.trace(process, example)
    assert not any(each in str(caught.value) for each in ("NoneType", "guard_float", "Traced"))


class Named:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name


@pytest.mark.filterwarnings("ignore")
def test_an_object_may_hash_its_texts() -> None:
    mod = tracepack.trace(lambda s: {Named(s): 1}[Named(s)], "a")
    assert mod("a") == 1


def calling(function):
    """A function that calls what it captured."""
    return lambda value: function(value)


def calling_default(function):
    return lambda value, function=function: function(value)


def of_mode(mode):
    return lambda value: {"sqrt": math.sqrt, "floor": math.floor}[mode](value)


def of_each(function):
    return lambda values: [function(value) for value in values]


def by_name(value, *, function=math.floor):
    return function(value)


FUNCTIONS = {"sqrt": math.sqrt, "floor": math.floor}
NUMBERS = [4.5], [[2.0], [9.25]]
CALLED = {
    "captured": Case(calling(math.sqrt), *NUMBERS),
    "a captured factorial": Case(calling(math.factorial), [4], [[0], [7]]),
    "a captured type": Case(calling(int), [4.5], [[2.0], [-9.5]]),
    "a captured length": Case(calling(len), ["abc"], [["x"], [""]]),
    "a captured method": Case(calling(str.upper), ["a"], [["bc"]]),
    "a captured sort": Case(calling(sorted), [["b", "a"]], [[["z", "y", "a"]], [[]]]),
    "a default": Case(calling_default(math.sqrt), *NUMBERS),
    "a default by name": Case(by_name, *NUMBERS),
    "an entry of a dict": Case(of_mode("sqrt"), *NUMBERS),
    "an entry of a global dict": Case(lambda value: FUNCTIONS["floor"](value), *NUMBERS),
    "an entry of a list": Case(lambda value: [math.sqrt, math.floor][1](value), *NUMBERS),
    "for each of a list": Case(of_each(math.sqrt), [[4.0, 1.0]], [[[2.0]], [[9.0, 1.0, 2.0]]]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CALLED)
def test_builtins_under_other_names(name) -> None:
    check(CALLED[name])
