"""Texts that numpy takes as names of dtypes, "d" and "float32", stay texts where a function of Python is given them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracepack
from tests.trust.trials import trial

A = np.array([1.5, -2.0, 3.0], dtype=np.float32)
UNITS = ["d", "h", "float64", "int32", "i", "", "double", "<f8"]


@pytest.mark.parametrize(
    "process",
    [
        lambda a, unit: a.max() * (24.0 if unit == "d" else 1.0),
        lambda a, unit: (a.max(), unit == "d", unit != "float64", unit in ("i", "b"), unit > "d"),
        lambda a, unit: (a.max(), {"d": 24.0, "h": 1.0}.get(unit, 0.0)),
        lambda a, unit: (a.max(), unit + "d", f"{unit}float32", "d".join([unit, unit])),
        lambda a, unit: (a.max(), unit.replace("d", "i"), unit.split("h"), unit.startswith("f")),
        lambda a, unit: (a.max(), re.sub("d", "i", unit), re.findall("f", unit)),
        lambda a, unit: f"{a.sum():.2f} {a.dtype} {a.sum():f} {len(a):d} {unit}",
        lambda a, unit: {"dtype": "float32", "most": a.max(), "units": ["i", unit]},
        lambda a, unit: tracepack.cond(a.max() > 2, lambda: unit == "d", lambda: unit == "i"),
    ],
)
def test_a_name_of_a_dtype_is_a_text(process: Any) -> None:
    others = [(factor * A, unit) for unit in UNITS for factor in (1, -1)]
    assert trial(lambda: process, A, "h", others=others) == "right"


def carried(a: Any, words: list[str]) -> Any:
    most, text = a.max(), "i"
    for word in words:
        text = text + word
    return most, text


def test_a_name_of_a_dtype_is_a_text_in_a_loop_and_in_another_pipeline() -> None:
    others = [(A * 2, ["d"]), (A, []), (A, ["f", "float32", "i"])]
    assert trial(lambda: carried, A, ["a", "b"], others=others) == "right"
    inner = tracepack.trace(lambda text: text + "!", "ab")
    assert trial(lambda: lambda a: (a.max(), inner("float32")), A, others=[(A * 2,)]) == "right"
