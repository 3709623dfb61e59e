"""Branches and loops: what they do to Python's objects, and what is printed to where it can be read again."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

X = torch.randn(2, 3).abs()


def appends(x: torch.Tensor) -> torch.Tensor:
    seen: list[int] = []

    def positive(x: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return x * 2

    y = tracepack.cond(x.sum() > 0, positive, lambda x: x - 1, x)
    return y + len(seen)


def flags(x: torch.Tensor) -> torch.Tensor:
    flag = False

    def negative(x: torch.Tensor) -> torch.Tensor:
        nonlocal flag
        flag = True
        return x - 1

    y = tracepack.cond(x.sum() > 0, lambda x: x * 2, negative, x)
    return y * 3 if flag else y


def counts(x: torch.Tensor) -> torch.Tensor:
    rounds = [0]

    def body(x: torch.Tensor) -> torch.Tensor:
        rounds[0] += 1
        return x * 2

    y = tracepack.while_loop(lambda x: x.max() < 100, body, x)
    return y * rounds[0]


def attribute(x: torch.Tensor) -> torch.Tensor:
    class Notes:
        taken = 0

    def positive(x: torch.Tensor) -> torch.Tensor:
        Notes.taken = 1
        return x * 2

    y = tracepack.cond(x.sum() > 0, positive, lambda x: x - 1, x)
    return y + Notes.taken


@pytest.mark.parametrize("process", [appends, flags, counts, attribute])
def test_side_effects_of_branches_are_refused(process: Any) -> None:
    found = trial(lambda: process, X, others=[(-X,), (X * 1000,)])
    refused(found, "changes .* outside", f"in {process.__name__}")


def test_what_a_branch_makes_for_itself_is_free() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        def positive(x: torch.Tensor) -> torch.Tensor:
            parts = [x]
            parts.append(x * 2)
            return torch.cat(parts)

        return tracepack.cond(x.sum() > 0, positive, lambda x: torch.cat([x, x]), x)

    assert trial(lambda: process, X, others=[(-X,)]) == "right"


def to_a_file(x: torch.Tensor) -> torch.Tensor:
    file = io.StringIO()
    print(x.shape[0], file=file)
    return x * 2 if file.getvalue() == "2\n" else x


def of_data_to_a_file(x: torch.Tensor) -> torch.Tensor:
    file = io.StringIO()
    print((x > 0).all(), file=file)
    return x * 2 if "True" in file.getvalue() else x


def redirected(x: torch.Tensor) -> torch.Tensor:
    file = io.StringIO()
    with contextlib.redirect_stdout(file):
        print(x.shape[0])
    return x * 2 if file.getvalue() == "2\n" else x


@pytest.mark.parametrize("process", [to_a_file, of_data_to_a_file, redirected])
def test_what_is_printed_to_where_it_can_be_read(process: Any) -> None:
    found = trial(lambda: process, X, others=[(-X,), (torch.randn(4, 3),)])
    assert found == "right" or "test_control.py" in found, found


def test_print_alone_fixes_nothing() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        print(x.shape[0], x)
        return x * 2

    traced = tracepack.trace(process, X)
    assert traced(torch.ones(7, 3)).shape == (7, 3)


def hands_on(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return tracepack.cond(x.sum() > 0, lambda w: w * 2, lambda w: w, weight)


def hands_on_a_view(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return tracepack.cond(x.sum() > 0, lambda: weight * 2, lambda: weight.view(3))


def runs_perhaps_never(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return tracepack.while_loop(lambda v: v.sum() < x.sum(), lambda v: v + 1, weight)


@pytest.mark.parametrize("choose", [hands_on, hands_on_a_view, runs_perhaps_never])
def test_a_write_into_what_may_be_a_captured_tensor_is_refused(choose: Any) -> None:
    def make() -> Any:
        weight = torch.ones(3)

        def process(x: torch.Tensor) -> torch.Tensor:
            y = x * weight
            choose(x, weight)[:1].add_(1)
            return y

        return process

    refused(trial(make, X + 9), "changes a tensor that is not one of its inputs")


def test_a_write_into_what_is_new_or_an_input_is_taken() -> None:
    weight = torch.ones(3)

    def process(x: torch.Tensor) -> Any:
        new, given = tracepack.cond(
            x.sum() > 0, lambda w, x: (w * 2, x), lambda w, x: (w.exp(), x * 2), weight, x.clone()
        )
        return new.add_(1), given.mul_(3)

    assert trial(lambda: process, X, others=[(-X,), (X[:1],)]) == "right"


def test_a_loop_that_begins_with_a_captured_tensor_is_not_written_to_where_its_list_may_be_empty() -> None:
    def make() -> Any:
        weight = torch.ones(3)

        def process(x: torch.Tensor) -> torch.Tensor:
            total = weight
            for row in x:
                total = total + row
            return total.add_(1)

        return process

    assert trial(make, X, others=[(X[:0],), (X,)]) == "right"  # stopped by a guard on the length
