"""What a library makes of plain values is refused, or fixed, with a form that holds: it is made before the call."""

from __future__ import annotations

import csv
import datetime
import difflib
import io
import json
import math
import os
import random
import re
import shlex
import textwrap
import unicodedata
import urllib.parse
import uuid
import warnings
import zlib
from difflib import get_close_matches as matched

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

COMMANDS = ["open", "close", "quit"]


def closest(word):
    return difflib.get_close_matches(word, COMMANDS, n=1)


def best(word):
    found, most = "", 0.0
    for command in COMMANDS:
        ratio = difflib.SequenceMatcher(None, word, command).ratio()
        if ratio > most:
            found, most = command, ratio
    return found


def first_column(text):
    return [row[0] for row in csv.reader(io.StringIO(text))]


def field(text):
    return json.loads(text)["a"] + 1


def read(path, encoding="utf-8"):
    with open(path, encoding=encoding) as file:
        return file.read().upper()


def stamped(text):
    return f"{text} {datetime.datetime.now():%Y}"


def named(text):
    return f"{text}-{uuid.uuid4()}"


def noisy(n):
    return n + random.random()


def filled(text):
    lines = textwrap.wrap(text, 9)
    return [line.upper() for line in lines]


REFUSED = {
    "texts alike": (closest, "opn", "difflib.get_close_matches(word, COMMANDS, n=1)",
                    "closest(word, get_close_matches)"),
    "rows of a table": (first_column, "a,b", "list(csv.reader(io.StringIO(text)))", "first_column(text, reader)"),
    "JSON": (field, '{"a": 1}', "json.loads(text)['a']", "field(text, loads)"),
    "lines": (filled, "some more words", "textwrap.wrap(text, 9)", "filled(text, lines)"),
    "words": (lambda t: shlex.split(t), "x y", "shlex.split(t)", "lambda t, split: …"),
    "a name": (lambda t: unicodedata.name(t[0]), "x", "unicodedata.name(t[0])", "lambda t, name: …"),
    "a URL": (lambda t: urllib.parse.urlparse(t).netloc, "http://a/b", "urllib.parse.urlparse(t).netloc",
              "lambda t, netloc: …"),
    "bytes": (lambda t: zlib.compress(t.encode()), "x", "zlib.compress(t.encode())", "lambda t, compress: …"),
    "the environment": (lambda t: os.environ.get(t, ""), "HOME", "os.environ.get(t, '')", "lambda t, get: …"),
    "a random number": (noisy, 1.0, "random.random()", "noisy(n, random)"),
    "a random name": (named, "x", "str(uuid.uuid4())", "named(text, uuid4)"),
}  # fmt: skip


def _said(process, *example):
    """What is said where a function is refused, or fixed to the example."""
    with warnings.catch_warnings(record=True) as lines:
        warnings.simplefilter("always")
        try:
            tracepack.trace(process, *example)
        except tracepack.TracepackError as error:
            return str(error)
    return "\n".join(str(line.message) for line in lines)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_library_does_is_said_as_an_argument(name) -> None:
    process, example, made, signature = REFUSED[name]
    defined = signature if signature.startswith("lambda") else f"def {signature}"
    assert f"Do {made} before, and pass what it gives as an argument: {defined}" in _said(process, example)


@pytest.mark.parametrize(
    "process",
    [closest, lambda word: difflib.SequenceMatcher(None, word, "open").ratio(), lambda word: matched(word, ["open"])],
)
def test_texts_that_are_compared_letter_by_letter_are_refused_at_once(process) -> None:
    words = "difflib compares letter by letter, which no recording follows. Do .* before, and pass what it gives"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, "opn")
    assert difflib.SequenceMatcher(None, "opn", "open").ratio() > 0.8


def test_what_is_written_to_a_stream_of_its_own_is_not_said() -> None:
    def shown(x):
        print(x.shape[0], end="", file=io.StringIO())
        return x * 2

    assert "as an argument" not in _said(shown, torch.rand(3))


def test_the_forms_work() -> None:
    mod = loaded(lambda word, get_close_matches: get_close_matches, "opn", closest("opn"))
    assert mod("clos", closest("clos")) == ["close"]
    mod = loaded(lambda text, reader: [row[0] for row in reader], "a,b", [["a", "b"], ["c", "d"]])
    assert mod("x,y", [["x", "y"]]) == first_column("x,y")
    mod = loaded(lambda text, loads: loads + 1, "", 1)
    assert mod('{"a": 5}', json.loads('{"a": 5}')["a"]) == 6
    mod = loaded(lambda text, lines: [line.upper() for line in lines], "", ["a", "b"])
    assert mod("", textwrap.wrap("some other words", 9)) == filled("some other words")
    mod = loaded(lambda text, uuid4: f"{text}-{uuid4}", "x", str(uuid.uuid4()))
    assert mod("y", "1-2") == "y-1-2"


def test_what_is_asked_in_a_loop_is_said_as_a_list() -> None:
    made = "[difflib.SequenceMatcher(None, word, command).ratio() for command in COMMANDS]"
    where = "def best(word, ratio_of_each), whose items go with those of zip(COMMANDS, ratio_of_each)"
    assert f"Do {made} before, and pass it as an argument: {where}" in _said(best, "opn")

    def chosen(word, ratio_of_each):
        found, most = "", 0.0
        for command, ratio in zip(COMMANDS, ratio_of_each, strict=True):
            if ratio > most:
                found, most = command, ratio
        return found

    def ratios(word):
        return [difflib.SequenceMatcher(None, word, command).ratio() for command in COMMANDS]

    check(Case(chosen, ["opn", ratios("opn")], [[word, ratios(word)] for word in ("qit", "clos", "zzz")]))


def test_the_time_is_said_as_a_text() -> None:
    form = (
        "Pass now=datetime.datetime.now().isoformat(): def stamped(text, now), and datetime.datetime.fromisoformat(now)"
    )
    assert form in _said(stamped, "x")
    mod = loaded(lambda text, now: f"{text} {datetime.datetime.fromisoformat(now):%Y}", "x", "2024-01-02T03:04:05")
    assert mod("y", "1999-01-02T03:04:05.678") == "y 1999"


@pytest.mark.parametrize(
    ("process", "form"),
    [
        (
            lambda x: (x, datetime.datetime.now().isoformat()),
            "lambda x, now: …, and datetime.datetime.fromisoformat(now)",
        ),
        (
            lambda x: (x, datetime.datetime.now().timestamp()),
            "lambda x, now: …, and datetime.datetime.fromisoformat(now)",
        ),
        (lambda x: (x, datetime.date.today().year), "lambda x, today: …, and datetime.date.fromisoformat(today)"),
        (lambda x: (x, uuid.uuid4().hex), "Do str(uuid.uuid4().hex) before"),
    ],
)
def test_the_time_in_a_chain_of_calls_is_said_with_its_line(process, form) -> None:
    said = _said(process, torch.rand(3))
    assert form in said
    assert said.startswith("test_before_calls.py:")


def test_a_file_is_said_as_what_it_holds(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("abc")
    form = "Read the file before, and pass what it holds as an argument: def read(path, text, encoding='utf-8')"
    assert form in _said(read, str(tmp_path / "a.txt"))


@pytest.mark.parametrize(
    ("process", "example", "form"),
    [
        (lambda t: os.path.basename(t), "/a/b", "Use text.rpartition('/')[2]"),
        (lambda x: np.array2string(x.numpy()), torch.ones(2), "or do it before, and pass what it gives as an argument"),
        (lambda t: re.findall(t, "abc"), "b", "constant texts, or do it before, and pass what it gives as an argument"),
        (lambda t: t.format(1), "{}", "Do it before, and pass what it gives as an argument"),
    ],
)
def test_other_forms_are_said(process, example, form) -> None:
    assert form in _said(process, example)


TEXTS = np.array(["cat", "dog"])


@pytest.mark.parametrize(
    ("process", "example", "text"),
    [
        (lambda x: x.to("cuda") * 2, torch.ones(2), "the function names a GPU, and this machine has none"),
        (lambda x: x + torch.zeros(2, device="cuda:0"), torch.ones(2), "the function names a GPU"),
    ],
)
def test_refusals_name_the_form_that_works(process, example, text) -> None:
    if "GPU" in text and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, example)
    assert text in str(caught.value)
    assert "test_before_calls.py:" in str(caught.value)


def test_entries_of_arrays_of_texts_are_texts() -> None:
    mod = loaded(lambda x: TEXTS[int(x.argmax())].item(), torch.tensor([0.0, 1.0]))
    assert [mod(torch.tensor(x)) for x in ([1.0, 0.0], [0.0, 1.0])] == ["cat", "dog"]
    mod = loaded(lambda ids: [TEXTS[i].tolist() for i in ids.tolist()], torch.tensor([0, 1]))
    assert mod(torch.tensor([1, 1, 0])) == ["dog", "dog", "cat"]


@pytest.mark.parametrize("function", [lambda a, b: math.gcd(a, b), lambda a, b: math.lcm(a, b)])
def test_whole_numbers_of_any_size(function) -> None:
    mod = loaded(function, 4, 6)
    for a, b in ((0, 0), (0, 5), (-4, 6), (2**70, 2**65 * 3), (7, 1)):
        assert mod(a, b) == function(a, b)


def test_whole_roots() -> None:
    mod = loaded(lambda n: math.isqrt(n), 4)
    for n in (0, 1, 99, 10**16 - 1, 10**40):
        assert mod(n) == math.isqrt(n)
    with pytest.raises(tracepack.TracepackError, match="nonnegative"):
        mod(-1)


def _factorial(n):
    return math.prod(range(1, n + 1))


def _combinations(n):
    return math.prod(range(n - 2 + 1, n + 1)) // math.prod(range(1, 2 + 1))


def _ending(text):
    name = text.rpartition("/")[2]
    return "." + name.rpartition(".")[2] if "." in name.lstrip(".") else ""


def test_other_forms_work() -> None:
    mod = loaded(_factorial, 5)
    assert [mod(n) for n in (0, 1, 7)] == [math.factorial(n) for n in (0, 1, 7)]
    mod = loaded(_combinations, 5)
    assert [mod(n) for n in (2, 9)] == [math.comb(n, 2) for n in (2, 9)]
    mod = loaded(_ending, "/a/b.c")
    for path in ("x", "a.b/.c", "q.py", "a/.x.y", "/a.b/c"):
        assert mod(path) == os.path.splitext(path)[1]


NUMBERS = [7], [[0], [10], [255], [-5]]


def test_digits_and_bits_of_an_int() -> None:
    check(Case(lambda n: f"{bin(n)} {hex(n)} {oct(n)[2:].zfill(4)}", *NUMBERS))
    check(Case(lambda n: n.bit_length() + 1, *NUMBERS))
