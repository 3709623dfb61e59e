"""Sizes of the results of choices and loops: those that all sides share are claimed, and no others."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tracepack

first = tracepack.script(torch.nn.Linear(4, 4).eval())
second = tracepack.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval())


def sides_of_one_size(x):
    if x.mean() > 0:
        return x * 2
    return x - 1


def sides_with_models(x):
    y = first(x) if x.mean() > 0 else second(x)
    return y.softmax(-1)


def sides_of_two_sizes(x):
    if x.mean() > 0:
        return x[:, 1:]
    return x[1:, 1:]


def sides_that_example_makes_equal(x, y):
    if x.sum() > 0:
        return x
    return y


def square_by_example(x):
    if x.sum() > 0:
        return x.T
    return x


def several_results(x):
    if x.sum() > 0:
        return x.sum(1), x, x[:, 1:]
    return x.sum(1) + 1, x.T.T, x


def constants(x):
    if x.sum() > 0:
        return torch.zeros(3), torch.zeros(3)
    return torch.ones(3), torch.ones(4)


def a_number_chosen(x):
    factor = 2.0 if x.sum() > 0 else 1.0
    return x * factor


def a_condition_on_a_size(x):
    if x.shape[1] > 211:
        return x * 2
    return x - 1


def rows_by_a_size_that_is_not_tried(x):
    if x.shape[1] > 211:
        return x[1:]
    return x * 2


def a_step_of_the_caller(x, k):
    if x.sum() > 0:
        return x[::k]
    return x


def a_flag(x, flag):
    return x if flag else x[1:]


def nested(x):
    if x.sum() > 0:
        z, y = x, x * 2 if x.max() > 1 else x.clone()
    else:
        z, y = x + 1, x - 1
    return torch.cat([y, z], 1), y.T @ z


def halved(x):
    while x.abs().max() > 1:
        x = x * 0.5
    return x


def doubled(x):
    while x.shape[0] < 20:
        x = torch.cat([x, x])
    return x


def swapped(x, y):
    rounds = 0
    while rounds < int(x.sum().abs()):
        x, y = y, x
        rounds += 1
    return x


def summed(x):
    found = torch.zeros_like(x)
    for place in range(x.shape[0]):
        found = found + x * place
    return found


X, Y, SQUARE = torch.randn(3, 5), torch.randn(3, 5), torch.randn(4, 4)
CASES: list[tuple[Any, tuple[Any, ...], str]] = [
    (sides_of_one_size, (X,), "f32[N,M]"),
    (sides_with_models, (torch.randn(3, 4),), "f32[N,4]"),
    (sides_of_two_sizes, (X,), "f32[?,?]"),
    (sides_that_example_makes_equal, (X, Y), "f32[?,?]"),
    (square_by_example, (SQUARE,), "f32[?,?]"),
    (several_results, (X,), "(f32[N], f32[N,M], f32[N,?])"),
    (constants, (X,), "(f32[3], f32[?])"),
    (a_number_chosen, (X,), "f32[N,M]"),
    (a_condition_on_a_size, (X,), "f32[N,M]"),
    (rows_by_a_size_that_is_not_tried, (X,), "f32[?,M]"),
    (a_step_of_the_caller, (X, 1), "f32[?,?]"),
    (a_flag, (X, True), "f32[?,M]"),
    (nested, (X,), "(f32[N,2*M], f32[M,M])"),
    (halved, (X,), "f32[N,M]"),
    (doubled, (X,), "f32[?,M]"),
    (swapped, (X, Y), "f32[?,?]"),
    (summed, (X,), "f32[N,M]"),
]


@pytest.mark.parametrize(("function", "given", "sizes"), CASES, ids=[case[0].__name__ for case in CASES])
def test_what_all_sides_share_is_in_the_signature(function, given, sizes) -> None:
    mod = tracepack.trace(function, *given)
    assert mod.signature.partition(") -> ")[2].partition(" where ")[0] == sizes


def _others(given: tuple[Any, ...], rows: int) -> tuple[Any, ...]:
    """Inputs with other rows, whose sums are far above or below zero."""
    return tuple(
        torch.randn(rows, *each.shape[1:]) + (3 if rows % 2 else -3) if isinstance(each, torch.Tensor) else each
        for each in given
    )


@pytest.mark.parametrize(("function", "given", "sizes"), CASES, ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("rows", [2, 6, 7])
def test_no_run_contradicts_the_signature(function, given, sizes, rows) -> None:
    mod = tracepack.trace(function, *given)
    feed = _others(given, rows)
    answers = mod(*feed)
    plain = function(*feed)
    letters = {
        size: each.shape[dim]
        for field, each in zip(mod.inputs, feed, strict=True)
        if isinstance(each, torch.Tensor)
        for dim, size in enumerate(field.shape)
        if isinstance(size, str)
    }
    answers, plain = ([each] if isinstance(each, torch.Tensor) else list(each) for each in (answers, plain))
    for field, answer, wanted in zip(mod.outputs, answers, plain, strict=True):
        torch.testing.assert_close(answer, wanted)
        for size, found in zip(field.shape, answer.shape, strict=True):
            factor, _, letter = str(size).rpartition("*")
            if isinstance(size, int):
                assert found == size
            elif letter in letters:
                assert found == int(factor or 1) * letters[letter]


def test_a_choice_says_its_sizes_to_a_program() -> None:
    mod = tracepack.trace(sides_of_one_size, X)
    assert [field.shape for field in mod.outputs] == [("N", "M")]
    assert [field.shape for field in mod.inputs] == [("N", "M")]


def test_a_size_of_data_that_is_broadcast_is_not_that_of_the_other() -> None:
    """Torch takes for granted that the two are equal, which the example shows, and one of one element need not be."""

    def hits(x, y):
        kept = x[x > 0]
        return kept + y

    mod = tracepack.trace(hits, torch.ones(7), torch.randn(7))
    assert mod.signature == "(x: f32[N], y: f32[M]) -> f32[?]"
    assert mod(torch.tensor([1.0, -1, 2]), torch.ones(1)).tolist() == [2, 3]


def on_either_side(x):
    return first(x) if x.sum() > 0 else x * 2


def on_both_sides_of_one_in_another(x):
    if x.sum() > 0:
        return first(x) if x.max() > 1 else second(x)
    return first(x) * 2


def test_a_size_that_all_sides_need_is_needed() -> None:
    x = torch.randn(3, 4)
    for function in (sides_with_models, on_both_sides_of_one_in_another):
        mod = tracepack.trace(function, x)
        assert mod.signature == "(x: f32[N,4]) -> f32[N,4]"
        with pytest.raises(tracepack.SignatureError, match="x"):
            mod(torch.randn(3, 5))


def test_a_size_that_one_side_needs_is_not() -> None:
    mod = tracepack.trace(on_either_side, torch.randn(3, 4))
    assert mod.signature == "(x: f32[N,M]) -> f32[N,?]"
    assert mod(-torch.ones(2, 7)).shape == (2, 7)
