"""Jobs that are killed: a process of their own, ended at any moment, and started again until it is done."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tracepack

pq = pytest.importorskip("pyarrow.parquet", reason="the extra 'batch' is not installed")

from tests.batch.checks import errors, hold, read  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")

JOB = """
import sys, torch, tracepack
torch.set_num_threads(1)
mod = tracepack.load(sys.argv[1])
print("ready", flush=True)
tracepack.batch.run(mod, sys.argv[2], sys.argv[3], batch_size=16, part_rows=64, id="id")
"""
PATIENCE = 120


def start(*arguments: Any) -> subprocess.Popen[str]:
    """A job in a process of its own, which has loaded the pipeline."""
    code = [sys.executable, "-c", JOB, *map(str, arguments)]
    process = subprocess.Popen(code, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.campaign
def test_a_job_that_is_killed_at_any_moment_goes_on(scores: Path, rows: Any, tmp_path: Path) -> None:
    table = rows(64 * 60)
    lists = table["x"].to_pylist()
    bad = {7, 700, 3000}
    for row in bad:
        lists[row][0] = 101.0
    table = table.set_column(1, "x", [lists])
    source = tmp_path / "rows.parquet"
    pq.write_table(table, source, row_group_size=1000)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    tracepack.batch.run(scores, source, whole, batch_size=16, part_rows=64, id="id")
    generator, parts = random.Random(11), 0
    for _ in range(3):
        parts += generator.randrange(2, 15)
        with start(scores, source, killed) as process:
            while process.poll() is None and len(list(killed.glob("part-*"))) < parts:
                time.sleep(0.001)
            time.sleep(generator.random() / 100)  # a moment within the part after that
            process.kill()
    left = 60 - len(list(killed.glob("part-*")))
    assert left
    with start(scores, source, killed) as process:
        assert process.wait(PATIENCE) == 0
    assert read(killed) == read(whole)
    assert errors(killed) == errors(whole)
    assert [row["row"] for row in errors(killed)] == sorted(bad)
    wanted = [row for index, row in enumerate(table.to_pylist()) if index not in bad]
    found = read(killed)
    assert [row["id"] for row in found] == [row["id"] for row in wanted]
    hold(tracepack.load(scores), found[::97], wanted[::97])


@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_part_is_there_as_a_whole_or_not_at_all(
    scores: Path, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Ends the job at each step of the writing of a part: in its errors, in its rows, before the name is changed."""
    from tracepack.batch import target

    table = rows(40)
    lists = table["x"].to_pylist()
    lists[20][1] = 101.0
    pq.write_table(table.set_column(1, "x", [lists]), tmp_path / "rows.parquet")
    replace, calls = target.os.replace, []

    def interrupted(source: Any, to: Any) -> None:
        if "part-00000-000002" in str(to):
            calls.append(to)
            if len(calls) > written:
                raise KeyboardInterrupt
        replace(source, to)

    def job() -> Any:
        return tracepack.batch.run(scores, tmp_path / "rows.parquet", tmp_path / "out", batch_size=4, part_rows=8)

    with monkeypatch.context() as patched:
        patched.setattr(target.os, "replace", interrupted)
        if written < 2:
            with pytest.raises(KeyboardInterrupt):
                job()
        else:
            job()
    done = job()
    assert (done.rows, done.errors) == (39, 1)
    assert [row["id"] for row in read(tmp_path / "out")] == [3 * row for row in range(40) if row != 20]
    assert [row["row"] for row in errors(tmp_path / "out")] == [20]
    assert list((tmp_path / "out" / "_work").glob("*.tmp")) == []


def test_two_processes_never_write_to_one_target(scores: Path, rows: Any, tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this system has no locks of files by this name")
    from tracepack.batch.target import TargetFolder

    pq.write_table(rows(10), tmp_path / "rows.parquet")
    with (
        TargetFolder(tmp_path / "out", None).owned(),
        pytest.raises(
            tracepack.BatchError, match="out': another process writes to the target. Wait for it, or end it."
        ),
    ):
        tracepack.batch.run(scores, tmp_path / "rows.parquet", tmp_path / "out")


FATAL = """
import os, sys, torch, tracepack
from tracepack.batch.rows import compute
run = compute.Work.run

def deadly(self, values, begin, end):
    if bool((values[0][1][begin:end, 0] == 5).any()):
        os.kill(os.getpid(), 9)
    return run(self, values, begin, end)

compute.Work.run = deadly
tracepack.batch.run(sys.argv[1], sys.argv[2], sys.argv[3], batch_size=16, part_rows=64, id="id")
"""


@pytest.mark.campaign
def test_a_row_that_ends_the_process_is_quarantined_when_the_job_is_started_again(
    scores: Path, rows: Any, tmp_path: Path
) -> None:
    table = rows(200)
    lists = table["x"].to_pylist()
    for row in (70, 71, 150):
        lists[row][0] = 5.0
    table = table.set_column(1, "x", [lists])
    pq.write_table(table, tmp_path / "rows.parquet")
    arguments = [sys.executable, "-c", FATAL, scores, tmp_path / "rows.parquet", tmp_path / "out"]
    codes = [subprocess.run(arguments, check=False, timeout=PATIENCE).returncode for _ in range(4)]
    assert codes == [-9, -9, -9, 0], "in the rows that are checked first, in the second part, in the third"
    assert [(row["id"], row["row"], row["error"]) for row in errors(tmp_path / "out")] == [
        (3 * row, row, "the process that ran the row ended: signal SIGKILL") for row in (70, 71, 150)
    ]
    wanted = [row for index, row in enumerate(table.to_pylist()) if index not in (70, 71, 150)]
    hold(tracepack.load(scores), read(tmp_path / "out"), wanted)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"version": 1}', '{"version": 1, "job": []}',
     *(f'{{"version": 1, "job": {{"batch_size": {n}, "part_rows": 64}}}}' for n in ('"x"', "0", "-5", "1.5", "null"))],
    ids=range(10),
)  # fmt: skip
def test_a_manifest_that_no_job_wrote_is_an_error_of_ours(scores: Path, rows: Any, tmp_path: Path, text: str) -> None:
    source, target = tmp_path / "rows.parquet", tmp_path / "out"
    pq.write_table(rows(8), source)
    target.mkdir()
    (target / "_tracepack.json").write_text(text)
    with pytest.raises(tracepack.BatchError, match="the manifest of the target is damaged"):
        tracepack.batch.run(scores, source, target, id="id")
    assert (target / "_tracepack.json").read_text() == text
