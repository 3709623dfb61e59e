"""What the answers of a job are held against: the pipeline on each row alone, by numpy and torch only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

import tracepack

ROUNDING = 1e-6
"""By how much a row of a batch may differ from the row alone: float32 sums of four products in another order."""


def read(target: Any) -> list[dict[str, Any]]:
    """The rows of a target, in its order."""
    return [row for path in sorted(Path(target).glob("part-*.parquet")) for row in pq.read_table(path).to_pylist()]


def errors(target: Any) -> list[dict[str, Any]]:
    """Its bad rows."""
    path = Path(f"{target}.errors.parquet")
    return pq.read_table(path).to_pylist() if path.exists() else []


def hold(mod: tracepack.Pipeline, found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Checks that each row has what the pipeline gives for it alone, and that all are there once, in their order."""
    assert [row["id"] for row in found] == [row["id"] for row in wanted]
    for row, before in zip(found, wanted, strict=True):
        alone = mod.run({"x": torch.tensor([before["x"]])})
        assert row["best"] == int(alone["best"])
        torch.testing.assert_close(torch.tensor(row["scores"]), alone["scores"][0], rtol=ROUNDING, atol=ROUNDING)
        assert {name: row[name] for name in before} == before
