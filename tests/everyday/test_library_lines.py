"""An error inside of a library names its line, and the line of the user's own code that called it."""

from __future__ import annotations

import io
import json
import linecache
import math
import re
import struct

import numpy as np
import pytest
import torch

import tracepack

pandas = pytest.importorskip("pandas", reason="pandas is the library of these tests")


def averages(x):
    return pandas.cut(x.numpy().ravel(), 3)


def process(x):
    return averages(x * 2)


def test_a_refusal_inside_of_a_library():
    with pytest.raises(tracepack.RecordError) as raised:
        tracepack.trace(process, torch.rand(2, 3))
    text = str(raised.value)
    assert re.match(r"(?!test_)\w+\.py:\d+ in \w+: ", text)
    assert "called by test_library_lines.py:22 in averages: return pandas.cut(x.numpy().ravel(), 3)" in text


def test_the_users_own_line_stands_alone():
    with pytest.raises(tracepack.RecordError) as raised:
        tracepack.trace(lambda x: x * x.data_ptr(), torch.rand(2))
    assert "called by" not in str(raised.value)


def singular(x):
    return x + torch.from_numpy(np.linalg.inv(np.zeros((3, 3)))).sum()


def shapes(x):
    return torch.nn.functional.interpolate(x, size=(3, 3), mode="bilinear")


def parsed(x):
    return x * len(json.loads("{bad"))


def compiled(x):
    return x * len(re.sub("(", "", "a"))


def keyed(x):
    return x + pandas.DataFrame({"a": [1]})["zz"].sum()


def packed(x):
    return x + struct.unpack("i", b"a")[0]


def rooted(x):
    return x * math.sqrt(-1)


def multiplied(x):
    return x @ torch.zeros(5, 5)


def own(x):
    return x + {"a": 1}["b"]


CASES = [
    (singular, np.linalg.LinAlgError, "numpy/linalg/_linalg.py:"),
    (shapes, ValueError, "torch/nn/functional.py:"),
    (parsed, json.JSONDecodeError, "json/decoder.py:"),
    (compiled, re.error, "parse"),  # of re/_parser.py, or sre_parse.py up to 3.10
    (keyed, KeyError, "pandas/core/indexes/base.py:"),
    (packed, struct.error, ""),
    (rooted, ValueError, ""),
    (multiplied, RuntimeError, ""),
    (own, KeyError, ""),
]


@pytest.mark.parametrize(("function", "kind", "place"), CASES, ids=[case[0].__name__ for case in CASES])
def test_an_error_of_the_function_itself_has_a_note_of_both_lines(function, kind, place):
    """The class and the message stay as the library made them."""
    with pytest.raises(kind) as raised:
        tracepack.trace(function, torch.rand(3, 3))
    with pytest.raises(kind) as plain:
        function(torch.rand(3, 3))
    assert type(raised.value) is type(plain.value)
    assert str(raised.value) == str(plain.value)
    (note,) = raised.value.__notes__
    number = function.__code__.co_firstlineno + 1
    code = linecache.getline(__file__, number).strip()
    assert note.startswith(f"traced at test_library_lines.py:{number} in {function.__name__}: {code}")
    after = note.partition(code)[2]
    assert after.startswith(f"; raised in {place}") if place.endswith(":") else place in after
    assert bool(place) == bool(after)


def test_the_advice_names_what_the_package_has():
    linalg = pytest.importorskip("scipy.linalg")

    def root(x):
        return linalg.cholesky(x.numpy())

    with pytest.raises(tracepack.RecordError, match=r"called by test_library_lines.py:\d+ in root: .*torch\.linalg"):
        tracepack.trace(root, torch.eye(3))


def group(texts):
    return [re.search(r"\d", text)[0] for text in texts]


def decoded(data):
    return data.decode()


def digits(text):
    return bytes.fromhex(text).decode()


def repeated(count):
    return "a" * count


@pytest.mark.parametrize(
    ("function", "example", "other", "text"),
    [
        (group, ["a1"], ["b2", "c"], "the pattern does not match"),
        (decoded, b"a", b"\xff", "bytes cannot be decoded"),
        (digits, "61", "zz", "a text is no hexadecimal digits"),
        (repeated, 2, 10**10, "grows too large"),
    ],
)
def test_an_operator_of_a_loaded_file_that_refuses_names_the_line(function, example, other, text):
    file = io.BytesIO()
    tracepack.trace(function, example).save(file)
    code = linecache.getline(__file__, function.__code__.co_firstlineno + 1).strip()
    with pytest.raises(tracepack.GuardError, match=text) as raised:
        tracepack.load(file.getvalue(), trust=True)(other)
    assert f"test_library_lines.py:{function.__code__.co_firstlineno + 1} in " in str(raised.value)
    assert code in str(raised.value)
