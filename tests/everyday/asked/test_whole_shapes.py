"""What is asked of a whole shape is recorded: whether a size is in it, where, how often, and whether it is another."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

ASKED = {
    "in": lambda x: 2 in x.shape,
    "not in": lambda x: 2 not in x.shape,
    "count": lambda x: x.shape.count(2),
    "index": lambda x: x.shape.index(2) if 2 in x.shape else -1,
    "equal": lambda x: x.shape == (2, 2),
    "unequal": lambda x: x.shape != (2, 2),
    "of another rank": lambda x: (x.shape == (2,), x.shape != (2,), x.shape == [2, 2]),
    "mirrored": lambda x: torch.Size([2, 2]) == x.shape,
    "size": lambda x: x.size() == torch.Size([2, 2]),
    "a part": lambda x: x.shape[1:] == (2,),
    "two shapes": lambda x: x.shape == x.t().shape,
    "an expression": lambda x: "a" if x.shape == (2, 2) else "b",
    "cond by in": lambda x: tracepack.cond(2 in x.shape, lambda: x.shape.index(2), lambda: -1),
    "cond by ==": lambda x: tracepack.cond(x.shape == (2, 2), lambda: "a", lambda: "b"),
    "cond by count": lambda x: tracepack.cond(x.shape.count(2) > 1, lambda: x + 1, lambda: x * 2),
    "and": lambda x: x.shape == (2, 2) and x.shape[0] < 3,
    "several": lambda x: "one" if x.shape == (1, 1) else "two" if x.shape == (2, 2) else "many",
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("example", [(2, 2), (3, 2), (5, 7)])
def test_every_shape_is_answered_and_nothing_is_said(name, example) -> None:
    others = [(torch.zeros(shape),) for shape in ((0, 2), (3, 0), (2, 2), (5, 7), (2, 3), (1, 1))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Case(ASKED[name], (torch.zeros(example),), others))


def same(a, b):
    return a.shape == b.shape


def test_a_helper_compares_shapes() -> None:
    mod = loaded(lambda x, y: same(x, y), torch.ones(2, 3), torch.ones(2, 3))
    assert mod(torch.ones(4, 1), torch.ones(4, 1)) is True
    assert mod(torch.ones(4, 1), torch.ones(1, 4)) is False


def test_tensors_are_compared_as_ever_beside_shapes() -> None:
    def process(x, y):
        return (x == y) & (torch.ones(x.shape) != y), x.shape[0] == 3, x.dtype == torch.float32

    others = [(torch.ones(2), torch.zeros(2)), (torch.arange(4.0), torch.arange(4.0))]
    check(Case(process, (torch.ones(3), torch.zeros(3)), others))
