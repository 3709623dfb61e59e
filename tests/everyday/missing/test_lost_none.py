"""A default of None that is lost beside an example: trace says why, and the form that it shows goes both ways."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

X = torch.tensor([0.25, 1.5, 0.75])


def _given(x, given=None):
    return x if given is None else (x * 2, x)


def _own(x, given=torch.ones(1)):  # noqa: B008  # nobody changes it
    return x * given


LOST = "the default None of 'given' does not count beside its example: "
FORM = "no recording without it can be made: its result has another form. "


@pytest.mark.parametrize(
    ("example", "form"),
    [
        (3, "Let a number stand for None, given=-1, and ask for it: if given == -1:"),
        (np.int64(3), "Let a number stand for None, given=-1, and ask for it: if given == -1:"),
        (0.5, "Let a number stand for None, given=-1.0, and ask for it: if given == -1.0:"),
        (True, "Give it the default False or True"),
        ("a", "Let a text stand for None, given='', and ask for it: if given == '':"),
        (["a", "b"], "Let an empty tuple stand for None, given=(), and ask for it: if len(given) == 0:"),
        ([1.0, 2.0], "Let an empty tuple stand for None, given=(), and ask for it: if len(given) == 0:"),
        (torch.ones(3), "Give torch.empty(0) for None, and ask for it: if given.numel() == 0:"),
        (
            torch.ones(3, 2, dtype=torch.bool),
            "Give torch.empty(0, 0, dtype=torch.bool) for None, and ask for it: if given.numel() == 0:",
        ),
        (np.ones(3, np.float32), "Give np.empty((0,), np.float32) for None, and ask for it: if given.size == 0:"),
        (np.ones((3, 2)), "Give np.empty((0, 0), np.float64) for None, and ask for it: if given.size == 0:"),
        (torch.tensor(2.0), "Trace without an example of it for a file that has the default"),
        ({"a": 1.0}, "Trace without an example of it for a file that has the default"),
    ],
)
def test_trace_says_that_a_default_of_none_is_lost(example: Any, form: str) -> None:
    with pytest.warns(UserWarning, match="the default None of") as told:
        pipeline = tracepack.trace(_given, X, example)
    assert [str(each.message) for each in told] == [LOST + FORM + form]
    with pytest.raises(tracepack.SignatureError, match="missing input"):
        pipeline(X)


def _needing(x, given=None):
    return x * given


def _counting(x, given=None):
    x += 1 if given is None else given
    return x


def _many(x, a=None, b=None, c=None, d=None):
    return x * sum(each for each in (a, b, c, d) if each is not None)


@pytest.mark.parametrize(
    ("process", "given", "text"),
    [
        (_needing, (2.5,), f"{LOST}the function fails without it: unsupported operand type"),
        (_counting, (2.5,), f"{LOST}every call has to give it. Let a number stand for None"),
        (_many, (1, 2, 3, 4), "the default None of 'd' does not count beside its example: every call has to give it."),
    ],
)
def test_trace_says_why_a_default_is_lost(process: Callable[..., Any], given: tuple[Any, ...], text: str) -> None:
    with pytest.warns(UserWarning, match=re.escape(text)):
        pipeline = tracepack.trace(process, X.clone(), *given)
    with pytest.raises(tracepack.SignatureError, match="missing input"):
        pipeline(X.clone())


def test_trace_says_that_a_default_which_no_signature_holds_is_lost() -> None:
    with pytest.warns(UserWarning, match="'given' does not count, because no signature holds a Tensor: every call has"):
        pipeline = tracepack.trace(_own, X, torch.ones(3))
    with pytest.raises(tracepack.SignatureError, match="missing input"):
        pipeline(X)
    with pytest.warns(UserWarning, match="the default of 'given' belongs to the pipeline"):  # the form that it shows
        kept = tracepack.trace(_own, X)
    assert difference(_own(X), kept(X)) == ""


def _number(x, k=-1):
    if k == -1:
        return x.sum()
    return x.sum() * k


def _level(x, least=-1.0):
    if least == -1.0:
        least = 0.5
    return (x > least).sum()


def _prefixed(x, prefix=""):
    if prefix == "":
        prefix = "none"
    return f"{prefix}: {len(x)}"


def _named(texts, names=()):
    if len(names) == 0:
        names = [str(place) for place in range(len(texts))]
    return [f"{name}-{text}" for name, text in zip(names, texts, strict=False)]


def _masked(x, mask):
    if mask.numel() == 0:
        mask = torch.ones_like(x)
    return (x * mask).sum(-1)


def _added(x, other):
    if other.size == 0:
        return x * 2
    return x + other


@pytest.mark.parametrize(
    ("process", "example", "calls"),
    [
        (_number, (X, 3), [(X,), (X, 5), (torch.rand(7), 0), (torch.rand(7), -1)]),
        (_level, (X, 0.25), [(X,), (X, 1.25), (torch.rand(9),), (torch.rand(9), 0.75)]),
        (_prefixed, (X, "size"), [(X,), (torch.rand(7), "n"), (torch.rand(7), "")]),
        (_named, (["a", "b"], ["x", "y"]), [(["a", "b", "c"],), (["q"], ["w"]), ([],), (["q"], [])]),
        (_masked, (torch.rand(2, 3), torch.ones(2, 3)), [(torch.rand(4, 5), torch.empty(0, 0)), (X[None], X[None])]),
        (_added, (X.numpy(), X.numpy()), [(X.numpy(), np.empty((0,), np.float32)), (X[:2].numpy(), X[1:].numpy())]),
    ],
)
def test_the_form_that_is_shown_goes_both_ways(
    process: Callable[..., Any], example: tuple[Any, ...], calls: list[tuple[Any, ...]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        pipeline = loaded(process, *example)
    for call in [example, *calls]:
        assert difference(process(*call), pipeline(*call)) == ""
