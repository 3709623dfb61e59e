"""An error inside of a library names its line, and the line of the user's own code that called it."""

from __future__ import annotations

import pytest
import torch

import tracepack

pandas = pytest.importorskip("pandas", reason="pandas is the library of these tests")


def averages(x):
    return pandas.DataFrame(x.numpy()).mean()


def process(x):
    return averages(x * 2)


def test_a_refusal_inside_of_a_library():
    with pytest.raises(tracepack.RecordError) as raised:
        tracepack.trace(process, torch.rand(2, 3))
    text = str(raised.value)
    assert "nanops.py:" in text
    assert "called by test_library_lines.py:14 in averages: return pandas.DataFrame(x.numpy()).mean()" in text


def test_the_users_own_line_stands_alone():
    with pytest.raises(tracepack.RecordError) as raised:
        tracepack.trace(lambda x: x if x.sum() > 0 else -x, torch.rand(2))
    assert "called by" not in str(raised.value)
