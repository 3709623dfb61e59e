"""What a model asserts about its data holds in every run of the pipeline, as it does in the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import tracepack


class Asserting(nn.Module):
    def __init__(self, question: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.question = question

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.question(x)


def asynchronously(x):
    torch._assert_async((x > 0).all())
    return x * 2


def asynchronously_with_text(x):
    torch._assert_async((x > 0).all(), "not positive")
    return x * 2


def of_a_flag(x):
    torch._check((x > 0).all().item())
    return x * 2


def of_a_float(x):
    total = x.sum().item()
    torch._check(total == 5.5)
    return x + total


def of_found_places(x):
    found = x.nonzero()
    torch._check(found.shape[0] == 2)
    return found.sum(0) + found.shape[0]


def of_places_as_many_as_rows(x):
    found = x.nonzero()
    torch._check(found.shape[0] == x.shape[0])
    return x + found[:, 0]


def of_distinct_elements(x):
    found = torch.unique(x)
    torch._check(found.shape[0] == x.shape[0])
    return x * found


def of_rows_where_it_holds(x):
    """Torch composes this operator of others, and says of it itself nothing about sizes."""
    (found,) = torch.where(x > 0)
    torch._check(found.shape[0] == 2)
    return x[found] * 2


def of_repeated_rows(x):
    found = x.repeat_interleave(x.long())
    torch._check(found.shape[0] > 3)
    return found + 1


@pytest.mark.parametrize(
    "question",
    [
        of_rows_where_it_holds,
        of_repeated_rows,
        asynchronously,
        asynchronously_with_text,
        of_a_flag,
        of_a_float,
        of_found_places,
        of_places_as_many_as_rows,
        of_distinct_elements,
    ],
)
def test_an_assertion_about_data_holds_in_every_run(question) -> None:
    eager = Asserting(question)
    op = tracepack.script(Asserting(question), name="op")
    mod = tracepack.trace(lambda x: op(x), torch.tensor([2.5, 3.0]))
    assert torch.equal(mod(torch.tensor([1.5, 4.0])), eager(torch.tensor([1.5, 4.0])))
    refused = 0
    for values in ([1.0, -2.0], [0.0, 3.0], [0.0, 0.0, 1.0], [2.0, 2.0], [1.0, 2.0, 3.0]):
        x = torch.tensor(values)
        try:
            wanted = eager(x)
        except RuntimeError:
            refused += 1
            with pytest.raises((tracepack.GuardError, tracepack.NodeError)):
                mod(x)
        else:
            assert torch.equal(mod(x), wanted)
    assert refused
