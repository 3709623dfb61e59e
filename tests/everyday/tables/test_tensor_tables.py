"""Tables of tensors and arrays, asked for one by a text or a number of run time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

torch.manual_seed(0)
WEIGHTS = {"a": torch.rand(3), "b": torch.rand(3) + 4, "c": torch.rand(3) - 2}
OF_TWO_SIZES = {"a": torch.ones(3), "b": torch.full((2,), 5.0)}
ARRAYS = {"a": np.ones(3), "b": np.arange(4.0)}


class Adapters:
    """Keeps a table."""

    def __init__(self):
        self.layers = {"en": torch.rand(2, 3), "de": torch.rand(2, 3)}

    def __call__(self, x, language):
        return x @ self.layers[language]


def local(name):
    table = {"a": torch.ones(3), "b": torch.zeros(2) + 5}
    return table[name] * 2


def summed(names, x):
    for name in names:
        x = x + WEIGHTS[name]
    return x


CASES = {
    "a dict": Case(lambda s: WEIGHTS[s] * 2, ["a"], [["b"], ["c"]]),
    "sizes": Case(lambda s: OF_TWO_SIZES[s] * 2, ["a"], [["b"]]),
    "local": Case(local, ["a"], [["b"]]),
    "a default": Case(lambda s: OF_TWO_SIZES.get(s, torch.zeros(1)) + 1, ["a"], [["b"], ["q"]]),
    "where it is in": Case(lambda s: WEIGHTS[s] * 2 if s in WEIGHTS else torch.zeros(3), ["a"], [["b"], ["q"]]),
    "an attribute": Case(Adapters(), [torch.rand(4, 2), "en"], [[torch.rand(3, 2), "de"]]),
    "a text that is made": Case(lambda s, x: x * WEIGHTS[s.lower()], ["A", torch.rand(3)], [["B", torch.rand(3)]]),
    "data": Case(lambda x: WEIGHTS["ab"[int(x.argmax())]], [torch.tensor([1.0, 0.0])], [[torch.tensor([0.0, 1.0])]]),
    "a list": Case(lambda k: [torch.ones(3), torch.zeros(3) + 2][k], [0], [[1], [-1]]),
    "a tuple by data": Case(
        lambda x: (torch.ones(2), torch.zeros(2))[int(x.argmax())],
        [torch.tensor([1.0, 0.0])], [[torch.tensor([0.0, 1.0])]],
    ),
    "with texts": Case(lambda s: {"a": (torch.ones(2), "x"), "b": (torch.zeros(2), "y")}[s], ["a"], [["b"]]),
    "arguments": Case(lambda s, d: d[s] * 2, ["a", OF_TWO_SIZES], [["b", OF_TWO_SIZES]]),
    "a comprehension": Case(lambda names: torch.stack([WEIGHTS[s] for s in names]), [["a"]], [[["b", "a", "c"]]]),
    "a loop": Case(summed, [["a", "b"], torch.rand(3)], [[["c"] * 3, torch.rand(3)], [[], torch.rand(3)]]),
    "arrays": Case(lambda s: ARRAYS[s] * 2, ["a"], [["b"]]),
    "a number of an array": Case(lambda s: float(ARRAYS[s].sum()), ["a"], [["b"]]),
    "the stack of many": Case(lambda s: torch.stack([*WEIGHTS.values()])[{"a": 0, "b": 1, "c": 2}[s]], ["a"], [["c"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_table_of_tensors_is_asked_by_any_key(name) -> None:
    check(CASES[name])


def test_a_key_that_the_table_lacks_is_an_error_with_the_line() -> None:
    with pytest.raises(tracepack.GuardError, match=r"WEIGHTS\[s\].*the table has no such entry; got 'q'"):
        loaded(CASES["a dict"].process, "a")("q")


@pytest.mark.parametrize(
    "table",
    [
        {"a": torch.ones(3), "b": torch.ones(2, 2)},
        {"a": torch.ones(3), "b": torch.ones(3, dtype=torch.int64)},
        {f"{letter}": torch.ones(3) for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGH"},
    ],
)
def test_a_table_that_cannot_be_asked_fixes_the_key_and_says_why(table) -> None:
    with pytest.warns(UserWarning, match="is fixed to 'a'") as said:
        mod = loaded(lambda s: table[s] * 2, "a")
    (line,) = [str(each.message) for each in said]
    assert "is fixed to 'a', because it was used as a key; a table whose entries are torch.Tensor is asked by" in line
    assert "Give it at most 32 tensors of one dtype and rank, and nothing else" in line
    assert torch.equal(mod("a"), table["a"] * 2)
    with pytest.raises(tracepack.GuardError, match="got 'b'; expected 'a'"):
        mod("b")


def test_a_tensor_of_a_table_that_is_changed_is_refused() -> None:
    def process(name):
        row = WEIGHTS[name]
        row += 1
        return row * 1

    with pytest.raises(tracepack.RecordError, match="changes a tensor that is not one of its inputs"):
        tracepack.trace(process, "a")
