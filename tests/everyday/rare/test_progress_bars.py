"""Loops with a bar of tqdm, which is nothing of the graph: they are as without it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

import tracepack

tqdm_package: Any = pytest.importorskip("tqdm")
auto: Any = pytest.importorskip("tqdm.auto")
tqdm, trange = tqdm_package.tqdm, tqdm_package.trange


def _shouted(texts):
    return [text.upper() for text in tqdm(texts)]


def _of_auto(texts):
    return [text.upper() for text in auto.tqdm(texts, leave=False)]


def _of_rows(x):
    out = []
    for i, row in enumerate(tqdm(x, total=len(x))):
        out.append(row.sum().item() * i)
    return out


def _disabled(xs):
    total = 0.0
    for x in tqdm(iterable=xs, desc="sum", disable=True):
        total += x
    return total


def _with_methods(xs):
    out = []
    bar = tqdm(xs)
    for x in bar:
        bar.set_description(f"at {x}")
        out.append(x * 2)
    bar.close()
    return out


def _entered(xs):
    out = []
    with tqdm_package.tqdm(xs) as bar:
        for x in bar:
            bar.set_postfix(x=x)
            out.append(x * 2)
    return out


def _updated(xs):
    out = []
    bar = tqdm(total=len(xs))
    for x in xs:
        out.append(x * 2)
        bar.update(1)
    return out


def _ranged(x, n):
    for _ in trange(n):
        x = x * 2
    return x


def _paired(xs, ys):
    return [x * y for x, y in tqdm(zip(xs, ys, strict=False), total=len(xs))]


def _counted(texts):
    counts = {}
    for text in tqdm(texts):
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
    return counts


def _smaller_before(numbers):
    stack, found = [], []
    for number in tqdm(numbers):
        while stack and stack[-1] >= number:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        stack.append(number)
    return found


_NUMBERS = [[[1.0, 2.0]], [[3.0, 4.0, 5.0]], [[]]]
_TEXTS = [[["a", "b"]], [["x y", "y", "zz"]], [[]]]
_CASES = {
    "a comprehension": (_shouted, _TEXTS),
    "of tqdm.auto": (_of_auto, _TEXTS),
    "rows": (_of_rows, [[torch.arange(6.0).reshape(2, 3)], [torch.ones(4, 3)]]),
    "disabled": (_disabled, _NUMBERS),
    "methods": (_with_methods, _NUMBERS),
    "with": (_entered, _NUMBERS),
    "update": (_updated, _NUMBERS),
    "trange": (_ranged, [[torch.ones(2), 3], [torch.ones(3), 5]]),
    "zip": (_paired, [[[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6]]]),
    "words": (_counted, _TEXTS),
    "a block": (_smaller_before, [[[3, 1, 2]], [[2, 5, 5, 1]], [[]]]),
}


@pytest.mark.parametrize("name", _CASES)
def test_a_loop_with_a_bar_is_as_without_it(name: str) -> None:
    """For other lengths than that of the example, too, and tqdm is afterwards as it was."""
    function, (example, *others) = _CASES[name]
    before = tqdm.monitor_interval
    mod = tracepack.trace(function, *example)
    assert tqdm.monitor_interval == before
    for given in [example, *others]:
        found, wanted = mod(*given), function(*given)
        assert torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted


def test_a_bar_that_is_not_seen_leaves_tqdm_as_it_was() -> None:
    """One of a class of the user's own is tqdm's, whose monitor the recording does not stop."""

    class Bar(tqdm):  # type: ignore[misc,valid-type]  # tqdm comes without types
        pass

    before = tqdm.monitor_interval
    with pytest.warns(UserWarning, match="the length is fixed to 2"):
        mod = tracepack.trace(lambda xs: [x * 2 for x in Bar(xs, file=sys.stdout)], [1.0, 2.0])
    assert mod([3.0, 4.0]) == [6.0, 8.0]
    assert tqdm.monitor_interval == before
