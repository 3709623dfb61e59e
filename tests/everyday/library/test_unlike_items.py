"""A list of the example whose items are not alike has the example's length in every call, and trace says why."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

FIXED = {
    "an empty list": ([], "fixed to 0, because the example is empty. Trace with two items"),
    "None in one": (["a", None], "fixed to 2, because an item is None in one and not in another"),
    "None in a record": (
        [{"x": 1.0}, {"x": 2.0}, {"x": None}], "fixed to 3, because 'x' is None in one and not in another",
    ),
    "None in all records": ([{"x": 1, "y": None}], "fixed to 1, because 'y' is None in all. Trace with"),
    "numbers of two types": ([1.5, 2**53 + 1], "because an item is a float in one and an int that no float is"),
    "a large number beside a NaN": ([math.nan, 2**53 + 1], "in one and an int that no float is"),
    "a key that is missing": ([{"x": 1}, {"x": 1, "y": 2}], "because the key 'y' is missing in one"),
    "an empty list in a record": ([{"x": ["a"]}, {"x": []}], "because 'x' is an empty list in one"),
    "arrays of two dtypes": (
        [np.ones(2), np.ones(2, np.float32)], "because an item is of float64 in one and of float32 in another"
    ),
    "tensors of two ranks": ([torch.ones(2), torch.ones(2, 2)], "an item is of rank 1 in one and of rank 2 in"),
    "an array in a record": ([{"x": np.ones(2)}, {"x": np.ones((1, 1))}], "'x' is of rank 1 in one and of rank 2 in"),
    "a tensor and an array": ([np.ones(2), torch.ones(2)], "an item is a tensor in one and an array in another"),
    "a tensor with gradients": ([torch.ones(2, requires_grad=True)], "because an item requires gradients. Trace with"),
    "an empty list in a list": ([[1], []], "because an item is an empty list in one"),
    "gaps in rows": ([[1.0, None], [None, 2.0]], "because an item of an inner list is None in one"),
    "gaps in a list of a record": ([{"x": [1, None]}, {"x": [1, 2]}], "because an item of 'x' is None in one"),
    "None in pairs": ([("a", 1), ("b", None)], "because part 1 of an item is None in one and not in another"),
    "None in all pairs": ([("a", None), ("b", None)], "because part 1 of an item is None in all"),
    "an empty list in pairs": ([("a", [1]), ("b", [])], "because part 1 of an item is an empty list in one"),
    "no tensor in one": ([torch.ones(2), None], "is None in one and not in another. Give what stands for None"),
    "None alone": ([None, None], "because an item is None in all"),
    "tuples of two lengths": ([(1, 2), (1, 2, 3)], "a tuple of 2 in one and of 3 in another. Give lists"),
    "two kinds": ([1, "a"], "because an item is an int in one and a str in another. Give all items one type"),
    "two kinds of containers": ([[1, 2], (1, 2)], "because an item is a list in one and a tuple in another"),
    "two kinds in rows": ([["a", "b"], ["c", 1]], "an item of an inner list is a str in one and an int in another"),
    "a tensor and a number": ([torch.ones(2), 1.0], "because an item is a tensor in one and a float in another"),
    "a type of numpy": ([np.float32(1), 2.0], "because an item is a float32 in one and a float in another"),
}  # fmt: skip


def first(rows):
    return str(len(rows))


@pytest.mark.parametrize("name", FIXED)
def test_trace_says_why_a_length_is_fixed(name) -> None:
    example, words = FIXED[name]
    with pytest.warns(UserWarning, match=words):
        mod = tracepack.trace(first, example)
    assert mod(example) == first(example)


def test_a_list_of_things_that_belong_together_is_not_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(lambda pair: pair[0] * pair[1], [torch.ones(2), 3.0])
    assert torch.equal(mod([torch.ones(4), 2.0]), torch.full((4,), 2.0))


def test_a_list_inside_of_a_dict_is_named_by_its_place() -> None:
    with pytest.warns(UserWarning, match=r"the length of \"given\['rows'\]\" is fixed to 2, because 'x' is None"):
        tracepack.trace(lambda given: len(given["rows"]), {"rows": [{"x": 1}, {"x": None}]})


@pytest.mark.parametrize("example", [[{"x": 1.0}, {"x": 2.0}], ["a", "b"], [[1], [2, 3]], [1, 2]])
def test_a_list_of_alike_items_is_not_named(example) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(lambda rows: [str(row) for row in rows], example)
    assert mod(example * 2) == list(map(str, example * 2))


def mean(values):
    return sum(values) / len(values)


def shown(values):
    return [f"{value}" for value in values]


def doubled(records):
    return [record["price"] * 2 for record in records], max(record["price"] for record in records)


def products(pairs):
    return [weight * count for weight, count in pairs]


def widest(rows):
    return [max(row) for row in rows]


CASES = {
    "numbers": Case(mean, [[3.0, 4, 5]], [[[1, 2.5]], [[2, 4]], [[1.5] * 7]]),
    "numbers shown": Case(shown, [[1.0, 2, 3]], [[[1, 2.0]], [[]], [[0.5, 3]]]),
    "records": Case(
        doubled, [[{"price": 1.5, "n": 1}, {"price": 2, "n": 2}]], [[[{"price": 1, "n": 1}, {"price": 0.5, "n": 3}]]]
    ),
    "pairs": Case(products, [[(1.5, 1), (2, 2)]], [[[(0.5, 3)]], [[(1, 1), (2.5, 2), (3, 3)]], [[]]]),
    "rows": Case(widest, [[[1.0, 2], [3, 4]]], [[[[1.5]]], [[[2, 1.5], [7.0, 8.5], [1, 2.5]]]]),
}


@pytest.mark.parametrize("name", CASES)
def test_ints_among_floats_keep_the_length_free(name) -> None:
    check(CASES[name])


def test_what_is_missing_may_be_a_nan() -> None:
    def filled(records):
        return [record["x"] if not math.isnan(record["x"]) else 42.0 for record in records]

    check(Case(filled, [[{"x": 1.5}, {"x": math.nan}]], [[[{"x": math.nan}]], [[{"x": 2.5}] * 3], [[]]]))


def test_a_number_beyond_all_floats_fixes_the_length_as_others_do() -> None:
    with pytest.warns(UserWarning, match="because an item is a float in one and an int that no float is"):
        mod = tracepack.trace(first, [1.5, 10**400])
    assert mod([2.5, 3]) == "2"


def doubled_by_name(x, **weights):
    return {name: x * weight for name, weight in weights.items()}


def of_names_and_values(x, names, values):
    return {name: x * weight for name, weight in zip(names, values, strict=True)}


@pytest.mark.parametrize("named", [{"a": 1.0, "b": 2.0}, {}])
def test_keyword_arguments_that_are_gone_through_keep_their_names(named) -> None:
    words = rf"the names of \*\*weights are fixed to {re.escape(str([*named]))}, because .* For any names let it take"
    with pytest.warns(UserWarning, match=words):
        mod = tracepack.trace(doubled_by_name, 2.0, **named)
    assert mod(3.0, **named) == doubled_by_name(3.0, **named)
    check(Case(of_names_and_values, (2.0, ["a", "b"], [1.0, 2.0]), [(3.0, ["c"], [0.5]), (1.0, [], [])]))


def test_keyword_arguments_that_are_asked_by_name_are_not_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(lambda x, **options: x * options["scale"], 2.0, scale=3.0)
    assert mod(5.0, scale=4.0) == 20.0
