"""Small things that people write on the first day, which had to be written otherwise."""

from __future__ import annotations

import datetime

import torch

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


ASSERTED = [finite, small]
DATES = [
    lambda text: datetime.date.fromisoformat(text).year,
    lambda text: datetime.datetime.strptime(text, "%Y-%m-%d").month,
]
_SETTINGS = (["a=1;b=2"], [["q=5"], ["x=1;y=2;z=30"]])
CASES = {
    "a dict of a generator": Case(lambda s: {k: int(v) for k, v in (p.split("=") for p in s.split(";"))}, *_SETTINGS),
    "a loop over a generator": Case(settings, *_SETTINGS),
    "a date": Case(months, ["2024-01-05"], [["1999-12-31"]]),
    "map over letters": Case(lambda texts: [sum(map(ord, t)) for t in texts], [["ab", "c"]], [[["x"]], [["abc", ""]]]),
    "map over two lists": Case(
        lambda xs, ys: list(map(lambda x, y: f"{x}-{y}", xs, ys)), [["a", "b"], ["c", "d"]], [[["x", "p"], ["y"]]]
    ),
    "map over rows": Case(
        lambda x: list(map(lambda row: row.sum().item(), x)),
        [torch.rand(2, 3)],
        [[torch.rand(4, 2)]],  # noqa: C417
    ),
    "map of a builtin": Case(
        lambda x: list(map(max, x.tolist(), x.flip(0).tolist())), [torch.rand(2)], [[torch.rand(5)]]
    ),
    "filter of letters": Case(lambda text: "".join(filter(str.isalpha, text)), ["a1b"], [["xyz1 "], [""]]),
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
}
