"""What `operator` searches for, sizes that numpy broadcasts, and texts that `textwrap` lays out."""

from __future__ import annotations

import io
import operator
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

Case = tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]]
TEXTS: list[tuple[Any, ...]] = [("Small",), ("",), ("a b c d e f g h i j k",), ("x" * 25,), ("  one\n  two\n\n three",)]

CASES: dict[str, Case] = {
    "contains": (lambda xs: operator.contains(xs, 2.0), ([1.0, 2.0],), [([3.0],), ([2.0, 1.0, 3.0],), ([],)]),
    "contains, a text": (lambda s: operator.contains(s, "a"), ("abc",), [("xyz",), ("",)]),
    "contains, words": (lambda ws, s: operator.contains(ws, s), (["a", "b"], "a"), [(["x"], "a"), (["x", "a"], "a")]),
    "countOf": (lambda xs: operator.countOf(xs, 2.0), ([1.0, 2.0],), [([3.0],), ([2.0, 2.0, 3.0],)]),
    "indexOf": (lambda xs: operator.indexOf(xs, 2.0), ([1.0, 2.0],), [([2.0],), ([3.0, 1.0, 2.0],)]),
    "sizes": (
        lambda x, y: np.broadcast_shapes(x.shape, y.shape),
        (torch.rand(3, 4), torch.rand(3, 4)),
        [(torch.rand(5, 1), torch.rand(1, 2)), (torch.rand(2, 2), torch.rand(2, 2))],
    ),
    "sizes of arrays": (
        lambda x: np.zeros(np.broadcast_shapes(x.shape, (1, 4))).shape,
        (np.ones((3, 4)),),
        [(np.ones((5, 1)),), (np.ones((1, 4)),)],
    ),
    "fill": (lambda s: textwrap.fill(s, 10), ("Hello big world",), TEXTS),
    "fill of what is made": (lambda s: textwrap.fill(s.upper(), width=12), ("Hello big world",), TEXTS),
    "dedent": (lambda s: textwrap.dedent(s), ("  Hello\n  big",), TEXTS),
    "indent": (lambda s: textwrap.indent(s, "> "), ("Hello\nbig",), TEXTS),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_searched_broadcast_and_laid_out_is_computed_in_each_run(name: str) -> None:
    function, example, others = CASES[name]
    file = io.BytesIO()
    tracepack.trace(function, *example).save(file)
    mod = tracepack.load(file.getvalue())
    for given in (example, *others):
        found = mod(*given)
        assert (found, type(found)) == (function(*given), type(function(*given)))


def test_a_text_that_is_too_long_to_lay_out_is_stopped() -> None:
    mod = tracepack.trace(lambda s: textwrap.fill(s, 10), "some words")
    with pytest.raises(tracepack.GuardError, match=r"the text of textwrap.fill grows too large; got 200000"):
        mod("a" * 200_000)
