"""TorchScript functions that the traced function calls itself, outside of any op."""

from __future__ import annotations

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")


def limited(x: torch.Tensor) -> torch.Tensor:
    assert x.shape[0] < 5, "too many rows"
    return x


def test_an_assertion_that_no_recording_sees_is_refused() -> None:
    """It asks for a size alone and gives its input back, so that nothing of it would be in the graph."""
    check = torch.jit.script(limited)

    def given_back(x: torch.Tensor) -> torch.Tensor:
        return check(x) * 2

    def unused(x: torch.Tensor) -> torch.Tensor:
        check(x)
        return x * 2

    for process in (given_back, unused):
        with pytest.raises(tracepack.RecordError, match="it answers where the function raises .*too many rows"):
            tracepack.trace(process, torch.rand(3, 2))


def test_a_function_that_refuses_what_was_made_up_is_recorded() -> None:
    """As the others do whose checks only hold for sizes that a user never has."""

    def process(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 1000:
            raise ValueError("too many rows")
        return x * 2

    mod = tracepack.trace(process, torch.rand(3, 2))
    x = torch.rand(5, 2)
    assert torch.equal(mod(x), x * 2)
