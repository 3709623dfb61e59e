"""Settings of the process that a function sets: refused where they decide, and else as before after a trace."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

A = np.array([1.0, 2.0])


def raised(a: np.ndarray[Any, Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return float(np.exp(a).sum())
        except RuntimeWarning:
            return -1.0


def collected(a: np.ndarray[Any, Any]) -> float:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = float(np.exp(a).sum())
    return -1.0 if found else result


def filtered(a: np.ndarray[Any, Any]) -> float:
    warnings.filterwarnings("error", category=RuntimeWarning)
    return float(a.mean())


@pytest.mark.parametrize(
    ("process", "how"), [(raised, "raised as errors"), (collected, "collected"), (filtered, "raised as errors")]
)
def test_warnings_that_decide_are_refused(process: Callable[..., Any], how: str) -> None:
    tracepack.trace(lambda a: a * 2, A)  # what it imports filters warnings of its own
    before = list(warnings.filters)
    with pytest.raises(tracepack.RecordError, match=rf"warnings that are {how} decide here, .* Test for what warns"):
        tracepack.trace(process, A)
    assert warnings.filters == before


def silent(a: np.ndarray[Any, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.exp(a) * 2


def test_warnings_that_are_ignored_are_taken() -> None:
    module = tracepack.trace(silent, A)
    assert np.array_equal(module(-A), silent(-A))


def test_numpy_that_raises_is_refused_where_it_is_set() -> None:
    def process(a: np.ndarray[Any, Any]) -> Any:
        np.seterr(all="raise")
        return 1.0 / a

    before = np.geterr()
    with pytest.raises(tracepack.RecordError, match=r"numpy\.errstate that raises errors cannot be recorded"):
        tracepack.trace(process, A)
    assert np.geterr() == before


def test_small_numbers_that_are_set_to_zero_are_refused() -> None:
    with pytest.raises(tracepack.RecordError, match=r"set_flush_denormal .* Set it in the process that runs the file"):
        tracepack.trace(lambda x: (torch.set_flush_denormal(True), x * 0.5)[1], torch.ones(2))


def _settings() -> list[Any]:
    found = [torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), np.geterr()]
    return [*found, torch.is_anomaly_enabled(), torch.is_warn_always_enabled(), os.getcwd()]


def test_other_settings_are_as_before() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        torch.use_deterministic_algorithms(True)
        torch.set_float32_matmul_precision("medium")
        torch.set_warn_always(True)
        torch.autograd.set_detect_anomaly(True)
        np.seterr(all="ignore")
        os.chdir(os.sep)
        return x * 2

    before = _settings()
    assert torch.equal(tracepack.trace(process, torch.ones(2))(torch.ones(3)), torch.full((3,), 2.0))
    assert _settings() == before


def test_a_seed_of_the_function_leaves_the_generator_as_it_was() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(seed=0)
        return x

    torch.manual_seed(123)
    wanted = torch.rand(3)
    torch.manual_seed(123)
    tracepack.trace(process, torch.ones(2))
    assert torch.equal(torch.rand(3), wanted)


@np.errstate(all="raise")
def decorated(a: np.ndarray[Any, Any]) -> Any:
    return np.array([1.0 / value for value in a if value > 0])


def test_a_block_of_arrays_knows_of_numpy_that_raises() -> None:
    with pytest.raises(tracepack.RecordError, match=r"numpy\.errstate that raises errors cannot be recorded"):
        tracepack.trace(decorated, A)
