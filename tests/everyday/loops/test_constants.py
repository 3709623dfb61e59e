"""Loops over constants go both ways where they branch; those that change something hold for the example's ways."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import check, loaded
from tests.everyday.loops import constants


@pytest.mark.parametrize("name", constants.CASES)
def test_loops_over_constants(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(constants.CASES[name])


@pytest.mark.parametrize("process", constants.KEPT)
@pytest.mark.usefixtures("no_blocks")
def test_rounds_that_change_something_are_run_as_python_runs_them(process) -> None:
    with pytest.warns(UserWarning, match="a condition on a text is fixed to True"):
        mod = loaded(process, constants.TEXT)
    for text in [constants.TEXT, "dog, cat", *constants.TEXTS]:
        try:
            found = mod(text)
        except tracepack.GuardError:
            continue
        assert difference(process(text), found) == ""
    with pytest.raises(tracepack.GuardError, match="the recording holds for one value only"):
        mod("emu")


@pytest.mark.parametrize("process", constants.REFUSED)
def test_rounds_that_change_what_stays_are_refused(process) -> None:
    with pytest.raises(tracepack.RecordError, match="keeps state"):
        tracepack.trace(process, constants.TEXT)


def test_a_loop_over_constants_without_such_a_branch_keeps_its_form() -> None:
    def process(x, flag):
        return {f"layer {i}": x * i if flag else x for i in range(3) if i != 1}

    mod = loaded(process, torch.ones(2), True)
    assert [field.path for field in mod.outputs] == [("layer 0",), ("layer 2",)]
    assert list(mod(torch.ones(3), True)) == ["layer 0", "layer 2"]
