"""Loops over rows that begin with a 0 or None: of no rows they give that, where the example gives a tensor."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import loaded

EXAMPLE = torch.rand(2, 4)
REFUSED = r"of no items it gives another kind of value, which is refused\. Begin with a value of the kind"


def total(x):
    found = 0
    for row in x:
        found = found + row.sum()
    return found


def total_of_tensor(x):
    found = torch.zeros(())
    for row in x:
        found = found + row.sum()
    return found


def in_expression(x):
    return sum(row.sum() for row in x)


def largest(x):
    best = None
    for row in x:
        if best is None or row.sum() > best:
            best = row.sum()
    return best


def with_other_results(x):
    state = 0
    for _, row in enumerate(x):
        state = state * 0.5 + row
    return {"state": state, "x": x}


@pytest.mark.parametrize("process", [total, in_expression, largest, with_other_results])
def test_no_rows_give_what_the_loop_begins_with(process) -> None:
    mod = loaded(process, EXAMPLE)
    for rows in (0, 1, 3):
        torch.testing.assert_close(mod(x := torch.rand(rows, 4)), process(x), rtol=0, atol=0)


@pytest.mark.parametrize("process", [total, largest])
def test_an_example_of_no_rows_shows_the_others(process) -> None:
    mod = loaded(process, torch.rand(0, 4))
    for rows in (0, 1, 3):
        torch.testing.assert_close(mod(x := torch.rand(rows, 4)), process(x), rtol=0, atol=0)


def test_lists_of_no_tensors_give_what_the_loop_begins_with() -> None:
    mod = loaded(total, [torch.rand(2, 4), torch.rand(3, 4)])
    assert mod([]) == 0
    assert torch.equal(mod(xs := [torch.rand(1, 4)]), total(xs))


def test_what_goes_on_with_a_tensor_is_said_to_refuse_no_rows() -> None:
    with pytest.warns(UserWarning, match=REFUSED):
        mod = loaded(lambda x: total(x) * 2, EXAMPLE)
    assert torch.equal(mod(x := torch.rand(3, 4)), total(x) * 2)
    with pytest.raises(tracepack.GuardError, match=r"Begin with a tensor, as torch\.zeros\(\(\)\) for 0"):
        mod(torch.rand(0, 4))


def test_the_form_that_is_said_takes_no_rows() -> None:
    mod = loaded(lambda x: total_of_tensor(x) * 2, EXAMPLE)
    for rows in (0, 3):
        assert torch.equal(mod(x := torch.rand(rows, 4)), total_of_tensor(x) * 2)
