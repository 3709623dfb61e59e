"""Small things that people write on the first day, which had to be written otherwise."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas
import pydantic
import torch

import tracepack
from tests.everyday.case import Case


def finite(x):
    assert not torch.isnan(x).any()
    return x * 2


def small(x):
    assert not x.isnan().any().item(), "not a number"
    assert x.ndim == 1 and not (x > 5).any()  # noqa: PT018  # the form is tested
    return x * 2


def settings(text):
    found = {}
    for key, value in (part.split("=") for part in text.split(";")):
        found[key] = int(value)
    return found


def months(text):
    year, month, _ = map(int, text.split("-"))
    return year * 12 + month


def dated(text):
    numbers = [int(n) for n in re.findall("[0-9]+", text)]
    return numbers[0] * 372 + numbers[1] * 31 + numbers[2]


TABLE = {"a": 1, "b": 5}


def number_or(text):
    try:
        return int(text)
    except ValueError:
        return -1


def entry_or(text):
    try:
        found = TABLE[text]
    except KeyError:
        found = 0
    return found + 1


def second_or(text):
    try:
        return text.split(":")[1]
    except IndexError:
        return "none"


def second(text):
    items = text.split(":")
    return tracepack.cond(len(items) > 1, lambda: items[1], lambda: "none")


def numbers_or(items):
    found = []
    for text in items:
        try:
            found.append(int(text))
        except ValueError:
            found.append(-1)
    return found


def each_number(items):
    return [number_or(text) for text in items]


WHOLE = r"\s*[+-]?\d+\s*"
LOOPED = {
    numbers_or: re.escape(rf"int(text) if bool(re.fullmatch(r'{WHOLE}', text)) else -1"),
    each_number: re.escape(rf"tracepack.cond(bool(re.fullmatch(r'{WHOLE}', text)), lambda: int(text), lambda: -1)"),
}
"""Loops in which an error is caught -> what takes its place."""


def numbers_chosen(items):
    found = []
    for text in items:
        found.append(int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else -1)  # noqa: PERF401  # the form is tested
    return found


CAUGHT = [number_or, entry_or, second_or]
"""Functions that catch an error which the file raises."""


@dataclasses.dataclass
class Scored:
    text: str
    score: float


class ScoredModel(pydantic.BaseModel):
    text: str
    score: float


TABLE_OF_TWO = pandas.DataFrame({"text": ["a", "b"], "score": [0.5, 2.0]})
RECORDS = {
    "dataclasses.asdict(r)": (lambda r: r.text, Scored("a", 0.5)),
    "r.model_dump()": (lambda r: r.text, ScoredModel(text="a", score=0.5)),
    "r.to_dict('list')": (lambda r: r["score"].mean(), TABLE_OF_TWO),
    "r.to_list()": (lambda r: r.mean(), TABLE_OF_TWO["score"]),
}
"""What no pipeline takes -> what takes its place."""
ASSERTED = [finite, small]
_SETTINGS = (["a=1;b=2"], [["q=5"], ["x=1;y=2;z=30"]])
CASES = {
    "a dict of a generator": Case(lambda s: {k: int(v) for k, v in (p.split("=") for p in s.split(";"))}, *_SETTINGS),
    "a loop over a generator": Case(settings, *_SETTINGS),
    "a date": Case(months, ["2024-01-05"], [["1999-12-31"]]),
    "numbers of a date": Case(dated, ["2024-01-05"], [["1999-12-31"], ["3/7/2001 10:00"]]),
    "map over letters": Case(lambda texts: [sum(map(ord, t)) for t in texts], [["ab", "c"]], [[["x"]], [["abc", ""]]]),
    "map over two lists": Case(
        lambda xs, ys: list(map(lambda x, y: f"{x}-{y}", xs, ys)), [["a", "b"], ["c", "d"]], [[["x", "p"], ["y"]]]
    ),
    "map over rows": Case(
        lambda x: list(map(lambda row: row.sum().item(), x)),  # noqa: C417  # the form is tested
        [torch.rand(2, 3)],
        [[torch.rand(4, 2)]],
    ),
    "map of a builtin": Case(
        lambda x: list(map(max, x.tolist(), x.flip(0).tolist())), [torch.rand(2)], [[torch.rand(5)]]
    ),
    "filter of letters": Case(lambda text: "".join(filter(str.isalpha, text)), ["a1b"], [["xyz1 "], [""]]),
    "numbers or -1": Case(
        numbers_chosen, [["1", "2"]], [[["1", "x"]], [[]], [["-7", "", "8.5", " +5\n", "--5", "²", "٣"]]]
    ),
    "floats or 0": Case(
        lambda items: [float(t) if t.strip().lstrip("+-").replace(".", "", 1).isdecimal() else 0.0 for t in items],
        [["1.5", "2"]],
        [[["x"]], [["-1.25", "", ".", "7.", " 1.5\n", "+.5", "²"]]],
    ),
    "a number or -1": Case(
        lambda text: tracepack.cond(bool(re.fullmatch(r"\s*[+-]?\d+\s*", text)), lambda: int(text), lambda: -1),
        ["12"],
        [["x"], ["7"], [" +5\n"], ["--5"], ["²"], ["٣"], [""]],
    ),
    "a division on one side": Case(
        lambda n, m: tracepack.cond(n != 0, lambda: m / n, lambda: 0.0), [2, 3], [[0, 1], [4, 1]]
    ),
    "a side in a side": Case(
        lambda n, m: tracepack.cond(n != 0, lambda: tracepack.cond(m > 1, lambda: m / n, lambda: 1 / n), lambda: 0.0),
        [2, 3],
        [[0, 1], [4, 1], [4, 2]],
    ),
    "an item on one side": Case(second, ["a:b"], [["x"], ["p:q:r"]]),
    "a place on one side": Case(
        lambda words, word: tracepack.cond(word in words, lambda: words.index(word), lambda: -1),
        [["a", "b"], "b"],
        [[["a"], "x"], [["a", "q", "x"], "x"]],
    ),
    "an entry on one side": Case(
        lambda key: tracepack.cond(key in TABLE, lambda: TABLE[key], lambda: -1), ["a"], [["z"], ["b"]]
    ),
    "a dataclass as a dict": Case(
        lambda r: dataclasses.asdict(Scored(r["text"].upper(), r["score"] * 2)),
        [dataclasses.asdict(Scored("a", 0.5))],
        [[ScoredModel(text="b", score=1.0).model_dump()]],
    ),
    "columns of a table": Case(
        lambda table: [f"{text}: {score:.1f}" for text, score in zip(table["text"], table["score"], strict=True)],
        [TABLE_OF_TWO.to_dict("list")],
        [[{"text": ["x"], "score": [1.0]}]],
    ),
    "keys of an argument": Case(
        lambda keys, table: [table[key] for key in keys],
        [["x", "y"], {"x": 1.0, "y": 2.0}],
        [[["y"], {"x": 3.0, "y": 5.0}], [["x", "x", "y"], {"x": 3.0, "y": 5.0}]],
    ),
    "a key of an argument": Case(
        lambda key, table: table[key] + table.get(f"{key}{key}", 0.5),
        ["x", {"x": 1.0, "y": 2.0}],
        [["y", {"x": 3.0, "y": 5.0}]],
    ),
    "ids in a tensor of longs": Case(lambda t: torch.LongTensor([ord(c) for c in t]), ["ab"], [["xyz"], [""]]),
    "numbers in a tensor of floats": Case(lambda xs: torch.FloatTensor(xs), [[1.0, 2.0]], [[[3.5]], [[]]]),
    "ints in a plain tensor": Case(lambda xs: torch.Tensor(xs) * 2, [[1, 2]], [[[3]], [[]]]),
    "fractions in a tensor of longs": Case(lambda xs: torch.LongTensor(xs), [[1.5, 2.0]], [[[-3.7, 2.5, 9.0]]]),
    "flags in a tensor": Case(lambda xs: torch.BoolTensor([x > 0 for x in xs]), [[1, -2]], [[[3, 0, -1]], [[]]]),
    "parts of records in a tensor": Case(
        lambda rows: torch.FloatTensor([row["x"] for row in rows]), [[{"x": 1.0}, {"x": 2.0}]], [[[{"x": 3.0}]]]
    ),
    "a tensor of sizes": Case(
        lambda x: torch.FloatTensor(len(x), 3).zero_() + torch.FloatTensor(x.size()).fill_(2),
        [torch.rand(2, 3)], [[torch.rand(4, 3)]],
    ),
    "an array in a tensor of floats": Case(
        lambda a: torch.FloatTensor(a) + torch.Tensor(a.astype("float64")),
        [np.float32([1, 2])], [[np.float32([3, 4, 5])]],
    ),
    "a mean in a plain tensor": Case(lambda x: torch.Tensor([x.mean(), 1]), [torch.rand(3)], [[torch.rand(5)]]),
    "a new tensor of a tensor": Case(
        lambda x: x.new(x.shape[0], 2).zero_() + x.new([1.5, 2]) + x.new(x)[:, None], [torch.rand(3)], [[torch.rand(5)]]
    ),
    "a type of tensors": Case(
        lambda x: (x * 9).type(torch.LongTensor) + (x * 9).type("torch.LongTensor"), [torch.rand(3)], [[torch.rand(5)]]
    ),
    "bytes of a text": Case(
        lambda s: bytes(s, "utf8").hex() + bytearray(s, encoding="utf-16").hex(), ["ab"], [["é中"], [""]]
    ),
}  # fmt: skip
