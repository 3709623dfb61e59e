"""A table that gives no column for an optional argument is run by the way without it, and checked as that."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import tracepack
import tracepack.batch


def weighed(x, w=None):
    if w is None:
        return x * 2 if 0.011 < x.mean().item() < 0.013 else x
    return x * w[:, None]


def halved(x, w=None):
    return x / 2 if w is None else x * w[:, None]


def table(path, *, weights):
    rows = np.random.default_rng(0).normal(size=(40, 4)).astype("float32")
    columns = {"x": pa.array(rows.tolist(), pa.list_(pa.float32()))}
    columns |= {"w": pa.array(rows[:, 0], pa.float32())} if weights else {}
    pq.write_table(pa.table({"id": list(range(40)), **columns}), path)
    return torch.from_numpy(rows)


def answers(process, folder, *, weights):
    mod = tracepack.trace(process, torch.randn(3, 4), torch.rand(3))
    mod.save(folder / "a.tpk")
    rows = table(folder / "in.parquet", weights=weights)
    tracepack.batch.run(folder / "a.tpk", folder / "in.parquet", folder / "out", id="id", batch_size=8)
    found = pa.concat_tables([pq.read_table(each) for each in sorted((folder / "out").glob("*.parquet"))])
    name = next(name for name in found.column_names if name not in ("id", "x", "w"))
    return rows, torch.tensor(found.sort_by("id")[name].to_pylist())


def test_a_choice_for_all_rows_in_the_way_that_runs_is_refused(tmp_path):
    with pytest.raises(tracepack.TracepackError, match="a choice is made for all rows at once"):
        answers(weighed, tmp_path, weights=False)


@pytest.mark.parametrize("process", [weighed, halved])
def test_a_choice_in_another_way_is_none_of_this_table(process, tmp_path):
    rows, found = answers(process, tmp_path, weights=True)
    assert torch.equal(found, rows * rows[:, :1])


def test_a_way_without_choices_runs(tmp_path):
    rows, found = answers(halved, tmp_path, weights=False)
    assert torch.equal(found, rows / 2)
