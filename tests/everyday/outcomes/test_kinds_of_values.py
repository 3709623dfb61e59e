"""Choices between values of two kinds go both ways, from either side of the example."""

from __future__ import annotations

import warnings

import pytest
import torch

from tests.everyday.case import loaded
from tests.everyday.labels import LABELS, SCORES

X = torch.ones(2)


KINDS = {
    "a text compared": (lambda x, m: x * 2 if m == "a" else x.sum(), (X, "a"), (X, "b")),
    "a number compared": (lambda x, n: x * 2 if n == 2 else x.sum(), (X, 2), (X, 3)),
    "a number not equal": (lambda x, n: x if n != 2 else x.sum(), (X, 2), (X, 5)),
    "a flag": (lambda x, f: x * 2 if f else x.sum(), (X, True), (X, False)),
    "a label": (lambda x: x if LABELS[x.argmax()] == "cat" else x.sum(), (SCORES,), (-SCORES,)),
    "data": (lambda x: x * 2 if x.sum().item() > 0 else x.sum(), (X,), (-X,)),
    "a number or a text": (lambda x: 1 if x.sum() > 0 else "none", (X,), (-X,)),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_choice_between_two_kinds_goes_both_ways(name) -> None:
    process, *sides = KINDS[name]
    wanted = [process(*side) for side in sides]
    assert type(wanted[0]) is not type(wanted[1]) or wanted[0].ndim != wanted[1].ndim
    for example in sides:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mod = loaded(process, *example)
        for side, each in zip(sides, wanted, strict=True):
            got = mod(*side)
            assert type(got) is type(each)
            assert torch.equal(got, each) if isinstance(each, torch.Tensor) else got == each


BY_DATA = {
    "a missing value": (lambda x: x.sum() if torch.isnan(x).any() else x, [1.0, float("nan"), 2.0]),
    "a count": (lambda x: x.sum() if (x > 0).sum() > 4 else x, [1.0] * 7),
    "a place": (lambda x: x.sum() if x.argmax() == 2 else x, [0.0, 0.0, 9.0]),
    "a spread": (lambda x: x.sum() if x.std() > 20 else x, [100.0, -100.0, 3.0]),
    "a large number": (lambda x: x.sum() if x.abs().max() > 1e6 else x, [1e7, 2.0]),
    "all alike": (lambda x: x.sum() if (x == x[0]).all() else x, [2.0, 2.0]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BY_DATA)
def test_a_choice_by_data_that_no_example_shows_goes_both_ways(name) -> None:
    process, other = BY_DATA[name]
    mod = loaded(process, torch.tensor([0.1, 0.7, 0.3]))
    for given in (torch.tensor(other), torch.tensor([0.2, 0.9, 0.4])):
        assert torch.equal(mod(given).nan_to_num(), process(given).nan_to_num())


def number_or_text(x, s):
    v = int(s) if s.isdigit() else s
    return v, x


def of_many_words(x, s):
    if len(s.split()) > 3:
        return x.sum()
    return x


def of_some_texts(x, s):
    if s in ("mean", "sum"):
        return x.sum()
    return x


def by_a_helper(x, s):
    y = of_some_texts(x, s)
    return y


TEXTS_OF_KINDS = {
    number_or_text: ["a", "7"], of_many_words: ["a", "a b c d"], of_some_texts: ["mean", "max"],
    by_a_helper: ["mean", "max"],
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("process", TEXTS_OF_KINDS)
def test_a_choice_by_what_a_text_is_goes_both_ways(process) -> None:
    sides = TEXTS_OF_KINDS[process]
    for example in sides:
        mod = loaded(process, X, example)
        for side in sides:
            got, wanted = mod(X * 2, side), process(X * 2, side)
            if process is number_or_text:
                assert got[0] == wanted[0]
                got, wanted = got[1], wanted[1]
            assert torch.equal(got, wanted)


def by_case(x, n):
    match n:
        case int() if n > 5:
            return x.sum()
        case _:
            return x


def by_if(x, n):
    if n > 5:
        return x.sum()
    else:
        return x


def by_table(x, name):
    return {"sum": x.sum, "argmax": x.argmax}[name](0)


def by_branch(x, name):
    return x.sum(0) if name == "sum" else x.argmax(0)


FORMS = {
    by_case: (by_if, [7, 1], "The cases written with if and elif go both ways"),
    by_table: (
        by_branch,
        ["sum", "argmax"],
        "A branch for each key goes all ways: first.x. if key == 'first' else sec",
    ),
}


@pytest.mark.parametrize("process", FORMS)
def test_the_form_that_is_shown_goes_both_ways(process) -> None:
    form, sides, words = FORMS[process]
    for example in sides:
        with pytest.warns(UserWarning, match=words):
            loaded(process, X, example)
        mod = loaded(form, X, example)
        for side in sides:
            assert torch.equal(mod(X * 2, side), process(X * 2, side))


def test_dtypes_of_few_bits_are_kinds() -> None:
    def process(x, name):
        if name == "fp16":
            x = x.half()
        elif name == "bf16":
            x = x.bfloat16()
        elif name == "short":
            x = x.short()
        return x * 2

    for example in ("fp16", "bf16", "short", "none"):
        mod = loaded(process, X, example)
        for name in ("fp16", "bf16", "short", "none"):
            got, wanted = mod(X * 3, name), process(X * 3, name)
            assert got.dtype == wanted.dtype
            assert torch.equal(got, wanted)
