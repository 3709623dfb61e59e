"""The classes of containers that a function names: a call with such a one is kept apart from one with a plain one."""

from __future__ import annotations

import io
from collections import namedtuple
from typing import Any

import pytest
import torch

import tracepack


def loaded(mod: Any) -> Any:
    file = io.BytesIO()
    mod.save(file)
    return tracepack.load(file.getvalue())


Point, Pair = namedtuple("Point", "x y"), namedtuple("Pair", "x y")


class Shifted(Point):
    pass


class OwnList(list[Any]):
    pass


class OwnDict(dict[str, Any]):
    pass


CLASSES: dict[str, tuple[Any, Any, Any, str]] = {
    "in a list": (lambda ps: [isinstance(p, Point) for p in ps], [(1, 2), (3, 4)], [Point(5, 6)], "a Point"),
    "a subclass": (lambda ps: [isinstance(p, Point) for p in ps], [(1, 2)] * 2, [Shifted(5, 6)], "a Shifted"),
    "alone": (lambda p: type(p) is Point, (1, 2), Point(5, 6), "a Point"),
    "in a dict": (lambda d: isinstance(d["a"], Point), {"a": (1, 2)}, {"a": Point(5, 6)}, "a Point"),
    "deep": (
        lambda d: [isinstance(r["m"][0], Point) for r in d["rows"]],
        {"rows": [{"m": [(1, 2)]}] * 2},
        {"rows": [{"m": [Point(1, 2)]}]},
        "a Point",
    ),
    "another one": (lambda p: p.x if isinstance(p, Point) else p.y, Point(1, 2), Pair(5, 6), "a Pair"),
    "other ones": (lambda ps: [type(p).__name__ for p in ps], [Point(1, 2)] * 2, [Pair(5, 6)], "a Pair"),
    "in pairs": (lambda ps: [isinstance(p[1], Point) for p in ps], [(1, Point(1, 2))] * 2, [(1, Pair(5, 6))], "a Pair"),
    "a field": (lambda ps: [p.y if hasattr(p, "y") else p[0] for p in ps], [(1, 2)] * 2, [Point(5, 6)], "a Point"),
    "a list": (lambda xs: isinstance(xs, OwnList), [1, 2], OwnList([1]), "an OwnList"),
    "a list in a list": (lambda xs: [isinstance(x, OwnList) for x in xs], [[1], [2]], [OwnList([1])], "an OwnList"),
    "a dict": (lambda ds: [isinstance(d, OwnDict) for d in ds], [{"a": 1}] * 2, [OwnDict(a=1)], "an OwnDict"),
    "a Parameter": (
        lambda xs: [isinstance(x, torch.nn.Parameter) for x in xs],
        [torch.ones(2), torch.ones(2)],
        [torch.nn.Parameter(torch.ones(2))],
        "a Parameter",
    ),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_the_function_names_is_kept_to(name: str) -> None:
    function, example, other, given = CLASSES[name]
    mod = loaded(tracepack.trace(function, example))
    assert mod(example) == function(example)
    with pytest.raises(tracepack.SignatureError, match=f"{given} gives another answer"):
        mod(other)


def test_named_tuples_may_be_of_any_class_where_nothing_shows() -> None:
    mod = tracepack.trace(lambda ps: [p.x + p.y for p in ps], [Point(1, 2), Point(3, 4)])
    assert mod([Pair(1, 2), Point(3, 4), Shifted(5, 6)]) == [3, 7, 11]
    mod = tracepack.trace(lambda ps: [p[0] + p[1] for p in ps], [(1, 2), (3, 4)])
    assert mod([Pair(1, 2), (3, 4)]) == [3, 7]
