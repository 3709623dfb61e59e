"""Bytes of what a run gives: the file answers as the function, and fails where it fails."""

from __future__ import annotations

import base64
import struct
import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.sent import byte_results


@pytest.mark.parametrize("name", byte_results.CASES)
def test_bytes_of_results(name) -> None:
    check(byte_results.CASES[name])


@pytest.mark.parametrize("name", byte_results.FAILING)
def test_what_does_not_fit_fails(name) -> None:
    process, example, other, kind, words = byte_results.FAILING[name]
    mod = loaded(process, example)
    with pytest.raises(kind):
        process(other)
    with pytest.raises(tracepack.TracepackError, match=words):
        mod(other)


@pytest.mark.parametrize("name", byte_results.REFUSED)
def test_other_ways_to_bytes_are_refused_with_a_form(name) -> None:
    process, words = byte_results.REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, torch.rand(2, 3))


def test_a_format_with_a_length_is_told_with_a_form_of_any_length() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mod = tracepack.trace(lambda x: struct.pack(f"{len(x)}f", *x.tolist()).hex(), torch.rand(3))
    form = "Instead of struct.pack(…) np.array(xs, dtype=np.float32).tobytes() keeps it free"
    assert any(form in str(each.message) for each in told)
    assert any("because it is a format of struct" in str(each.message) for each in told)
    assert mod(torch.tensor([1.0, 2, 3])) == "0000803f0000004000004040"
    with pytest.raises(tracepack.SignatureError):
        mod(torch.ones(2))


def test_the_form_of_any_length_is_recorded() -> None:
    others = [[torch.rand(1)], [torch.rand(7)], [torch.rand(0)]]
    check(Case(lambda x: np.array(x.tolist(), dtype=np.float32).tobytes().hex(), [torch.rand(3)], others))


def test_the_form_of_what_stands_behind_items_is_recorded() -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 3"):
        mod = tracepack.trace(lambda x: (struct.pack("<3f", *x.tolist()) + struct.pack("<f", 2.0)).hex(), torch.ones(3))
    assert mod(torch.zeros(3)) == "00" * 12 + "00000040"


def test_bytes_in_a_loop_are_refused_with_the_form_that_joins_them() -> None:
    def collected(x):
        found = b""
        for row in x:
            found += row.numpy().tobytes()
        return base64.b64encode(found).decode()

    with pytest.raises(tracepack.RecordError, match=r'Write b"".join\(\[part for part in parts\]\)'):
        tracepack.trace(collected, torch.rand(2, 3))


def test_constants_before_items_stay_constants() -> None:
    def named(kind, count, *values):
        return f"{kind}{count}: {sum(values)}"

    with pytest.warns(UserWarning, match="the length is fixed to 3"):
        mod = tracepack.trace(lambda x: named("n", 3, *x.tolist()), torch.ones(3))
    assert mod(torch.zeros(3)) == "n3: 0.0"
