"""A branch by a number or a size is said at the trace and stands in the signature; one of a library is not said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import loaded
from tests.everyday.idioms import validated

X = torch.ones(2)


def by_size(x):
    def more(size):
        return x + size if x.shape[0] > size else x.sum()

    return more(0), more(1)


# One side is a number of rows, the other a single number: no branch of a graph gives both.
CHOICES = {
    "a size": (by_size, [X], "size", "N > 1"),
    "a size by len": (lambda x: x[:1] if len(x) > 1 else x.sum(), [X], "size", "N > 1"),
    "as many elements": (lambda x: x[:1] if x.numel() else x.sum(), [X], "size", "x.numel() != 0"),
    "equal sizes": (lambda x, y: x + 1 if x.shape == y.shape else x.sum(), [X, X], "size", "N == M"),
    "a size of what was computed": (
        lambda x: x if torch.cat([x, x]).shape[0] > 3 else x.sum(),
        [X],
        "size",
        "2 * N > 3",
    ),
}


BY_NUMBERS = [
    lambda x, n: x if n > 1 else x.sum(),
    lambda x, n: x if n != 1 else x.sum(),
    lambda x, n: x if 0 < n < 9 else x.sum(),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("process", BY_NUMBERS)
@pytest.mark.parametrize("example", [1, 2, 12])
def test_a_choice_of_ranks_by_a_number_goes_both_ways(process, example) -> None:
    mod = loaded(process, X, example)
    for n in (-1, 0, 1, 2, 9, 10):
        assert torch.equal(mod(X * 3, n), process(X * 3, n))


@pytest.mark.parametrize("name", CHOICES)
def test_a_branch_that_leaves_a_choice_is_said_once_and_in_the_signature(name) -> None:
    process, example, what, condition = CHOICES[name]
    with pytest.warns(UserWarning, match="is fixed to") as found:
        mod = loaded(process, *example)
    sides = "sides give float32 of rank 1 and float32 of rank 0. Write "
    why = f"It cannot go both ways, since its {sides}"
    said = f"a condition on a {what} is fixed to True, because a branch was taken on it. {why}"
    assert [said in str(each.message) for each in found] == [True]
    assert mod.signature.endswith(f" where {condition}")


@pytest.mark.usefixtures("no_blocks")
def test_comparisons_in_a_row_that_may_fail_are_said_with_a_form_that_keeps_both_ways() -> None:
    def scaled(n):
        return 0 < n < n * 3 < 40

    def written(n):
        rest = lambda: tracepack.cond(n < n * 3, lambda: n * 3 < 40, lambda: False)  # noqa: E731  # the form is tested
        return tracepack.cond(n > 0, rest, lambda: False)

    with pytest.warns(UserWarning, match=r"tracepack.cond\(0 < n, lambda: n < n \* 3 < 40, lambda: False\) keeps both"):
        loaded(scaled, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(written, 5)
    assert [mod(n) for n in (-1, 0, 5, 13, 14)] == [scaled(n) for n in (-1, 0, 5, 13, 14)]


def test_a_branch_to_an_error_fixes_nothing_that_python_takes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(validated, X, 2)
    assert torch.equal(mod(torch.ones(5), 3), torch.full((5,), 3.0))
    words = "the function raises an error otherwise|an assertion of the function fails"  # the latter on Python 3.13
    for x, n in ((torch.ones(1), 2), (X, 0), (X, 10)):
        with pytest.raises(tracepack.GuardError, match=words):
            mod(x, n)


def handled(x, n):
    try:
        if n < 1:
            raise ValueError
        return x * n
    except ValueError:
        return x


def test_a_branch_to_an_error_that_is_handled_is_said(no_blocks) -> None:
    with pytest.warns(UserWarning, match="a condition on a number is fixed to False"):
        loaded(handled, X, 2)


def test_branches_of_libraries_are_not_said() -> None:
    def process(x, q):
        x = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")
        x = torch.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")
        found = torch.nn.functional.multi_head_attention_forward(
            q, q, q, 4, 2, WEIGHTS, None, None, None, False, 0.0, torch.eye(4), None, training=False
        )
        return x, found[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(process, torch.rand(1, 3, 6, 5), torch.rand(3, 2, 4))
    x, q = torch.rand(2, 3, 7, 9), torch.rand(5, 3, 4)
    for found, wanted in zip(mod(x, q), process(x, q), strict=True):
        assert torch.equal(found, wanted)


WEIGHTS = torch.rand(12, 4)


def test_warnings_of_calls_that_only_try_the_function_are_not_shown() -> None:
    def process(x):
        if len(x) > 3:
            warnings.warn("many rows", UserWarning, stacklevel=1)
        return x.mean(axis=0), x.std(axis=0, ddof=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        loaded(process, np.ones((3, 2)))  # numpy warns of the mean of no rows
    with pytest.warns(UserWarning, match="many rows"):
        loaded(process, np.ones((5, 2)))
