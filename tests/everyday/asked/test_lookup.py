"""`tracepack.lookup` takes what `table[key]` and `table.get(key, default)` take, and says what it cannot take."""

from __future__ import annotations

import enum

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

PAIRS = {("a", 1): 5, ("b", 1): 7}
SHOWN = {("a", 1): "x", ("b", 2): "y"}
ROWS = {"a": torch.ones(2), "b": torch.zeros(2)}
LISTED = [torch.ones(2), torch.zeros(2)]
PLACES, MATRIX = torch.tensor([5, 6, 7]), torch.arange(12.0).reshape(4, 3)
HALVES, WORDS = {"a": 1.5, "b": 2.5}, ["cat", "dog", "fox"]
RECORDS = {"a": {"n": 1, "t": "x"}, "b": {"n": 2, "t": "y"}}
RAGGED = {"a": torch.ones(2), "b": torch.zeros(3, 1)}
FUNCTIONS = {"upper": str.upper, "lower": str.lower}


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


LEVELS = {Level.LOW: 5, Level.HIGH: 6}
look_up = tracepack.lookup


def texts(process):
    """For a list of texts."""
    return Case(process, [["a", "b"]], [[["b"]], [["a", "a", "zz"]], [[]]])


def known(process):
    """The same, of which the table has all."""
    return Case(process, [["a", "b"]], [[["b"]], [["a", "a", "b"]], [[]]])


def places(process):
    """For a tensor of numbers, as places in a table of three."""
    return Case(process, [torch.tensor([0.0, 1.0])], [[torch.tensor([2.0, 1, 0])], [torch.zeros(0)], [-torch.ones(1)]])


def any_places(process):
    """The same, with places that the table lacks."""
    return Case(process, [torch.tensor([0.0, 1.0])], [[torch.tensor([2.0, 3, -4, -3, 99])], [torch.zeros(0)]])


CASES = {
    "a tuple": Case(lambda s: look_up(PAIRS, (s, 1), default=0), ["a"], [["b"], ["zz"], [""]]),
    "a tuple of two": Case(lambda s, n: look_up(PAIRS, (s, n), default=0), ["a", 1], [["b", 1], ["b", 2], ["c", 1]]),
    "tuples": texts(lambda words: look_up(PAIRS, [(word, 1) for word in words], default=0)),
    "tuples with places": texts(lambda words: look_up(PAIRS, [(w, i) for i, w in enumerate(words)], default=0)),
    "tuples for texts": texts(lambda words: look_up(SHOWN, [(word, 1) for word in words], default="?")),
    "as many tuples as written": Case(
        lambda s, t: look_up(PAIRS, [(s, 1), (t, 1), ("a", 1)], default=0), ["a", "b"], [["b", "b"], ["zz", "a"]]
    ),
    "tuples in a loop": texts(lambda words: [look_up(PAIRS, (word, 1), default=0) for word in words]),
    "tensors": Case(lambda s: look_up(ROWS, s), ["a"], [["b"]]),
    "tensors with a default": Case(lambda s: look_up(ROWS, s, default=torch.ones(2) * 3), ["a"], [["b"], ["zz"]]),
    "many tensors": known(lambda words: look_up(ROWS, words)),
    "many tensors with a default": texts(lambda words: look_up(ROWS, words, default=torch.ones(2) * 3)),
    "a list of tensors": Case(lambda ids: look_up(LISTED, ids), [torch.tensor([0, 1])], [[torch.tensor([1, 0, 0])]]),
    "a tensor": places(lambda x: look_up(PLACES, x.long())),
    "a tensor by an array": Case(
        lambda a: look_up(PLACES, a.argsort()), [np.array([0.0, 1])], [[np.array([3.0, 1, 2])]]
    ),
    "a tensor by a list": Case(lambda ids: look_up(MATRIX, ids), [[0, 1]], [[[2, 3, 1]], [[-1]]]),
    "a tensor by a number": Case(lambda n: look_up(MATRIX, n), [1], [[3], [-4]]),
    "a tensor with a default": any_places(lambda x: look_up(PLACES, x.long(), default=-9)),
    "a tensor with a decimal default": any_places(lambda x: look_up(PLACES, x.long(), default=0.5)),
    "a matrix with a default": any_places(lambda x: look_up(MATRIX, x.long(), default=0.5)),
    "an argument with a default": Case(
        lambda table, x: look_up(table, x.long(), default=2),
        [torch.rand(3), torch.tensor([0.0, 1])],
        [[torch.rand(5), torch.tensor([4.0, 7])], [torch.rand(0), torch.tensor([4.0])]],
    ),
    "a list of recorded numbers": places(lambda x: look_up(PLACES.tolist(), x.long())),
    "rows of places": Case(
        lambda x: look_up(PLACES.tolist(), x.long()), [torch.eye(2)], [[torch.ones(3, 1)], [torch.zeros(1, 4)]]
    ),
    "recorded numbers with a default": any_places(lambda x: look_up(PLACES.tolist(), x.long(), default=3)),
    "a recorded number": Case(lambda n: look_up(PLACES.tolist(), n, default=8), [1], [[-3], [3]]),
    "an argument as a list": Case(
        lambda table, x: look_up(table.tolist(), x.long()),
        [torch.rand(3), torch.tensor([0.0, 1])],
        [[torch.rand(5), torch.tensor([4.0])]],
    ),
    "texts of an argument": Case(
        lambda table, ids: look_up(table, ids, default="?"),
        [["a", "b"], torch.tensor([0, 1])],
        [[["x", "y", "z"], torch.tensor([2, 3])], [[], torch.tensor([0])]],
    ),
    "a dict that is made": Case(
        lambda words, keys: look_up({word: i for i, word in enumerate(words)}, keys, default=-1),
        [["a", "b"], ["a"]],
        [[["x", "y", "z"], ["z", "q"]], [[], ["a"]]],
    ),
    "a dict of recorded numbers": Case(
        lambda x, keys: look_up({"sum": x.sum().item(), "mean": x.mean().item()}, keys, default=0.0),
        [torch.rand(3), ["sum", "mean"]],
        [[torch.rand(4), ["mean", "other"]]],
    ),
    "members": Case(lambda numbers: look_up(LEVELS, [Level(n) for n in numbers]), [[1, 2]], [[[2]], [[2, 2, 1]]]),
    "a member": Case(lambda n: look_up(LEVELS, Level(n)), [1], [[2]]),
    "functions": Case(lambda s, name: look_up(FUNCTIONS, name)(s), ["aB", "upper"], [["xY", "lower"]]),
    "pairs": Case(lambda ids: look_up([("a", 1), ("b", 2)], ids), [[1, 0]], [[[0]], [[1, 1, 1]]]),
    "records": known(lambda words: look_up(RECORDS, words)),
    "a list with a default": Case(lambda n: look_up(WORDS, n, default="none"), [1], [[5], [-1], [-4]]),
    "a decimal default of whole numbers": texts(lambda words: look_up({"a": 1, "b": 2}, words, default=0.5)),
    "nothing but a default": texts(lambda words: look_up({}, words, default="none")),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_lookup_takes_what_a_subscript_takes(name) -> None:
    check(CASES[name])


def test_gradients_pass_through_a_tensor_that_is_asked() -> None:
    mod = loaded(lambda table, ids: look_up(table, ids, default=0.0).sum(), MATRIX.clone(), torch.tensor([0, 1]))
    assert mod(MATRIX, torch.tensor([3, 9])) == MATRIX[3].sum()


@pytest.mark.parametrize(
    ("process", "example", "text"),
    [
        (lambda s: look_up(RAGGED, s), ["a"], "Give it at most 32 tensors of one dtype and rank"),
        (lambda s: look_up({"a": 1, "b": "x"}, s), ["a"], "entries of several types, int and str"),
        (
            lambda table, ids: look_up(table, ids),
            [["a", "b"], torch.tensor([0, 1])],
            r"Give a default, or write \[table\[key\] for key in keys.tolist\(\)\]",
        ),
    ],
)
def test_what_it_does_not_take_is_said_with_a_form(process, example, text) -> None:
    with pytest.raises(tracepack.RecordError, match=text) as caught:
        tracepack.trace(process, *example)
    assert "Traced" not in str(caught.value)


def test_the_form_that_is_said_for_a_table_of_any_length_holds() -> None:
    check(
        Case(
            lambda table, ids: [table[key] for key in ids.tolist()],
            [["a", "b"], torch.tensor([0, 1])],
            [[["x", "y", "z"], torch.tensor([2])], [["x"], torch.zeros(0).long()]],
        )
    )
