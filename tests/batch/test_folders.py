"""Which files of a folder are the source of a job."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import read  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
NUMBERS = tracepack.trace(lambda x: {"y": x * 2}, torch.rand(3))


def written(path: Path, values: list[float | None], nullable: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([pa.field("x", pa.float32(), nullable)])
    pq.write_table(pa.table({"x": pa.array(values, pa.float32())}, schema=schema), path)


def test_files_in_folders_and_links_to_files_but_no_notes_of_other_programs(tmp_path: Path) -> None:
    written(tmp_path / "else" / "c.parquet", [3.0])
    written(tmp_path / "in" / "a.parquet", [1.0])
    written(tmp_path / "in" / "year=2024" / "b.parquet", [2.0])
    for name in (".hidden.parquet", "_temporary/d.parquet"):
        written(tmp_path / "in" / name, [9.0])
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "link.parquet").symlink_to(tmp_path / "else" / "c.parquet")
    (tmp_path / "in" / "latest").symlink_to(tmp_path / "else")
    tracepack.batch.run(NUMBERS, tmp_path / "in", tmp_path / "out", batch_size=2)
    assert [row["y"] for row in read(tmp_path / "out")] == [2.0, 6.0, 4.0]


def test_files_of_several_writers_differ_in_what_may_be_null(tmp_path: Path) -> None:
    written(tmp_path / "in" / "a.parquet", [1.0], nullable=False)
    written(tmp_path / "in" / "b.parquet", [2.0, None])
    done = tracepack.batch.run(NUMBERS, tmp_path / "in", tmp_path / "out", batch_size=2)
    assert (done.rows, done.errors) == (2, 1)
    assert [row["y"] for row in read(tmp_path / "out")] == [2.0, 4.0]


def test_a_link_that_leads_nowhere_loses_no_rows_in_silence(tmp_path: Path) -> None:
    written(tmp_path / "in" / "a.parquet", [1.0])
    (tmp_path / "in" / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(tracepack.BatchError, match=r"b\.parquet': there is no file that can be read\. Remove the link"):
        tracepack.batch.run(NUMBERS, tmp_path / "in", tmp_path / "out", batch_size=2)
