"""Choices between an int and a float: said with the form of one type, which goes both ways."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, shown

SHARES = ([3.0, 2], [[1.0, 0], [2.0, 3]])
SPREADS = ([[3.0, 1.0, 2.0]], [[[1.0]], [[2.0, 2.0]]])


def one_on_zero(values):
    spread = max(values) - min(values)
    if spread == 0:
        spread = 1
    return spread / 2


def one_on_zero_of_floats(values):
    spread = max(values) - min(values)
    if spread == 0:
        spread = 1.0
    return spread / 2


MIXED = {
    "of two sides": (lambda total, n: total / n if n else 0, SHARES[0], "total / n if n else 0.0"),
    "or": (
        lambda values: [x / ((max(values) - min(values)) or 1) for x in values],
        SPREADS[0],
        "max(values) - min(values) or 1.0",
    ),
    "a variable": (one_on_zero, SPREADS[0], "spread = 1.0 for spread = 1"),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.usefixtures("no_blocks")
def test_an_int_beside_a_float_is_said(name) -> None:
    process, example, form = MIXED[name]
    words = rf"taken on it\. It cannot go both ways, since its sides give (int|float) and \w+\. Write {re.escape(form)}"
    with pytest.warns(UserWarning, match=words):
        tracepack.trace(process, *example)


def test_an_int_beside_a_float_is_a_result_where_data_decides() -> None:
    check(
        Case(
            lambda x: 1 if x.max().item() > 2 else x.sum().item() / 2,
            (torch.ones(3),),
            [(torch.full((2,), 3.0),), (torch.zeros(4),)],
        )
    )


@pytest.mark.parametrize(
    "case",
    [
        Case(lambda total, n: total / n if n else 0.0, *SHARES),
        Case(lambda values: [x / ((max(values) - min(values)) or 1.0) for x in values], *SPREADS),
        Case(one_on_zero_of_floats, *SPREADS),
    ],
    ids=["of two sides", "or", "a variable"],
)
def test_one_type_on_both_sides_goes_both_ways(case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(case)


def test_cond_says_it_too() -> None:
    with pytest.raises(tracepack.RecordError, match=r"got int .* expected float .* Give one type on both sides: 1\.0"):
        tracepack.trace(lambda x, n: tracepack.cond(n > 0, lambda: x / n, lambda: 0), 3.0, 2)


class Rule:
    def __init__(self, name, least):
        self.name, self.least = name, least


RULES = [Rule("a", 0.1), Rule("b", 0.5)]


def test_an_object_as_a_side_is_refused_with_its_attribute_as_the_form() -> None:
    def chosen(x):
        return tracepack.cond(x >= 0.5, lambda: RULES[1], lambda: RULES[0]).name

    with pytest.raises(
        tracepack.RecordError, match=r"a branch gives a .*Rule.*\. Give what is asked of it: lambda: rule\.name for"
    ):
        tracepack.trace(chosen, 0.7)

    def best(x):
        name = RULES[0].name
        for rule in RULES:
            if x >= rule.least:
                name = rule.name
        return name

    check(Case(best, [0.7], [[0.2], [0.05]]))


def test_two_choices_of_one_line_are_both_shown() -> None:
    def found(x, y):
        return {"a": "hit" if x > 0.5 else None, "b": y / x if x else 0.0}

    form = "cond(x > 0.5, lambda: 'hit', lambda: None), tracepack.cond(x, lambda: y / x, l"
    assert form in shown(found, 1)

    def written(x, y):
        hit = tracepack.cond(x > 0.5, lambda: "hit", lambda: None)
        return {"a": hit, "b": tracepack.cond(x, lambda: y / x, lambda: 0.0)}

    mod = tracepack.trace(written, 1.0, 2.0)
    assert [mod(*given) for given in ((1.0, 2.0), (0.0, 1.0), (0.4, 1.0))] == [
        found(*given) for given in ((1.0, 2.0), (0.0, 1.0), (0.4, 1.0))
    ]


def test_records_of_an_argument_that_are_changed_are_said_with_new_ones() -> None:
    def doubled(records):
        for record in records:
            record["n"] = record["v"] * 2
        return [record["n"] for record in records]

    words = r"the length of 'records' is fixed to 1, because .* For records: \[{\*\*record, 'key': value} for"
    with pytest.warns(UserWarning, match="is fixed to 1|changes a list or a dict") as said:
        tracepack.trace(doubled, [{"v": 1.0}])
    assert any(re.search(words, str(each.message)) for each in said)
    given = [{"v": 1.0}, {"v": 3.0}]
    assert tracepack.trace(lambda records: [{**each, "n": each["v"] * 2} for each in records], given[:1])(given) == [
        {"v": 1.0, "n": 2.0},
        {"v": 3.0, "n": 6.0},
    ]


def test_a_row_of_comparisons_of_a_tensor_is_refused_as_a_result_with_two_forms() -> None:
    with pytest.raises(
        tracepack.RecordError, match=r"a bool instead of a tensor\. Write \(a < x\) & \(x < b\) of tensors, or"
    ):
        tracepack.trace(lambda x: 0 < x.mean() < 5, torch.ones(3))
    for form in (lambda x: bool(0 < x.mean() < 5), lambda x: (x.mean() > 0) & (x.mean() < 5)):
        check(Case(form, [torch.ones(3)], [[torch.zeros(2)], [torch.full((4,), 9.0)]]))


X = torch.tensor([1.0, 2.0, 4.0])
OTHERS = [[torch.zeros(3)], [torch.tensor([-1.0, 0, 5, 0])], [torch.tensor([-1.0, -3.0])]]


def spread(x):
    a = x.numpy()
    s = a.std()
    if s < 1e-6:
        s = 1.0
    return (a - a.mean()) / s


def spread_of_floats(x):
    a = x.numpy()
    s = a.std()
    s = float(s)
    if s < 1e-6:
        s = 1.0
    return (a - a.mean()) / s


OF_NUMPY = {
    "or": (
        lambda x: x.numpy() / (np.median(x.numpy()) or 1e-9),
        lambda x: x.numpy() / (float(np.median(x.numpy())) or 1e-09),
        "float(np.median(x.numpy())) or 1e-09",
    ),
    "an int": (
        lambda x: x.numpy()[: x.numpy().argmax() or 1],
        lambda x: x.numpy()[: int(x.numpy().argmax()) or 1],
        "int(x.numpy().argmax()) or 1",
    ),
    "a tensor": (
        lambda x: x / (x.max() if x.max() > 0 else 1),
        lambda x: x / (float(x.max()) if x.max() > 0 else 1.0),
        "float(x.max()) if x.max() > 0 else 1.0",
    ),
    "a row": (
        lambda x: x * 2 if x.sum().item() > 0 else x.sum(),
        lambda x: x * 2 if x.sum().item() > 0 else x.sum().reshape(1),
        "x * 2 if x.sum().item() > 0 else x.sum().reshape(1)",
    ),
    "a variable": (spread, spread_of_floats, "s = float(s) before the line"),
}


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("name", OF_NUMPY)
def test_a_number_of_numpy_or_a_tensor_beside_one_of_python_has_a_form_that_works(name) -> None:
    process, written, form = OF_NUMPY[name]
    with pytest.raises(tracepack.RecordError, match=rf"It cannot go both ways, since .* Write {re.escape(form)}\."):
        tracepack.trace(process, X)
    check(Case(written, [X], OTHERS))


def test_a_variable_that_is_a_number_of_numpy_or_one_of_python_is_one_in_a_block() -> None:
    check(Case(spread, [X], [*OTHERS, [X * 0], [X[:1]]]))


def test_a_side_that_fails_on_the_example_is_said() -> None:
    said = "It cannot go both ways, since a side fails on the example: IndexError: .*Trace with one on which both run"
    with pytest.warns(UserWarning, match=said):
        tracepack.trace(lambda x, i: x[i * 100].item() if i < len(x) else 0.0, torch.ones(2), 5)
    check(Case(lambda x, i: x[i].item() if i < len(x) else 0.0, [torch.ones(2), 1], [[torch.ones(3), 5]]))


def test_a_side_that_needs_more_items_than_the_example_has_is_recorded() -> None:
    check(Case(lambda x, i: x[i].item() if i < len(x) else 0.0, [torch.ones(2), 5], [[torch.arange(3.0), 1]]))
