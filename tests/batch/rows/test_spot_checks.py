"""A job runs rows alone while it goes on, stops where one gives something else, and is not gone on with."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import errors, read  # noqa: E402 - after the skip
from tests.batch.rows.test_tied_rows import DEPENDS, refusal  # noqa: E402 - after the skip
from tracepack.batch import setting  # noqa: E402 - after the skip
from tracepack.batch.rows import compute, spot_checks  # noqa: E402 - after the skip
from tracepack.batch.rows.spot_checks import SpotChecks  # noqa: E402 - after the skip
from tracepack.batch.rows.unlike_rows import unlike_rows  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
ROWS, RARE = 160, 123.5


def none_beside_a_rare_one(x):
    return x * (1 - (x == RARE).any().float())


MOD = tracepack.trace(none_beside_a_rare_one, torch.rand(3, 4))


@pytest.fixture(autouse=True)
def few_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that are tried before the job are the first ten."""
    monkeypatch.setattr(setting, "_FIRST_ROWS", 10)


def source(folder: Path, *rare: int) -> Path:
    x = torch.rand(ROWS, 4, generator=torch.Generator().manual_seed(2)) + 1
    x[list(rare)] = RARE
    lists = pa.array(x.tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": range(ROWS), "x": lists}), folder / "rows.parquet")
    return folder / "rows.parquet"


def job(folder: Path, mod: Any = MOD, **options: Any) -> Any:
    settings = {"batch_size": 8, "part_rows": 32, **options}
    return tracepack.batch.run(mod, folder / "rows.parquet", folder / "out", **settings)


@pytest.mark.parametrize("row", [18, 37, ROWS - 2])
def test_a_row_of_the_first_runs_or_of_the_last_that_ties_others_ends_the_job(
    row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(tmp_path, row)
    monkeypatch.setattr(spot_checks, "_FIRST", 5)
    text = refusal(MOD, tmp_path / "rows.parquet", tmp_path / "out", batch_size=8, part_rows=32)
    assert f" of 'rows.parquet', output 'output': {DEPENDS}; got [0.0, 0.0, 0.0, 0.0] beside others; expected [" in text
    assert row // 8 == int(text.removeprefix("row ").split()[0]) // 8
    assert text.endswith(
        ", as alone. Other answers in the target may be wrong, too. Delete it, or name another one, and run each row "
        "alone: batch_size=1."
    )


def test_a_target_whose_answers_may_be_wrong_is_not_gone_on_with(tmp_path: Path) -> None:
    source(tmp_path, ROWS - 2)
    refusal(MOD, tmp_path / "rows.parquet", tmp_path / "out", batch_size=8, part_rows=32)
    assert list((tmp_path / "out").glob("part-*"))
    for batch_size in (8, 1):
        text = refusal(MOD, tmp_path / "rows.parquet", tmp_path / "out", batch_size=batch_size, part_rows=32)
        assert text.startswith(f"{str(tmp_path / 'out')!r}: answers in the target may be wrong; got row 15")
        assert text.endswith("Delete the target, or name another one, and run each row alone: batch_size=1.")
    shutil.rmtree(tmp_path / "out")
    assert job(tmp_path, batch_size=1).rows == ROWS
    x = [row["x"] for row in read(tmp_path / "out")]
    found = [row["output"] for row in read(tmp_path / "out")]
    assert found == [[0.0] * 4 if row[0] == RARE else row for row in x]


def test_a_row_that_ends_a_run_alone_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source(tmp_path)
    run = compute.Work.run

    def failing(self: Any, values: Any, begin: int, end: int) -> Any:
        if end - begin == 1 and len(values[0][1]) != 10:
            raise ValueError("too few rows")
        return run(self, values, begin, end)

    monkeypatch.setattr(compute.Work, "run", failing)
    text = refusal(MOD, tmp_path / "rows.parquet", tmp_path / "out", batch_size=8, part_rows=32)
    assert "; expected ValueError: too few rows, as alone. Other answers" in text


def test_a_row_that_fails_alone_and_not_beside_others_is_refused_before_the_job(tmp_path: Path) -> None:
    def process(x):
        torch._assert((x.sum() > 0.5), "too small")
        return x * 2

    lists = pa.array([[float(row % 2)] for row in range(20)], pa.list_(pa.float32()))
    pq.write_table(pa.table({"x": lists}), tmp_path / "rows.parquet")
    mod = tracepack.trace(process, torch.rand(3, 1) + 1)
    text = refusal(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=4)
    assert text.startswith(f"output 'output': {DEPENDS}; got [0.0] for a row beside another; expected GuardError: ")
    assert "too small" in text


def test_a_part_that_is_computed_in_a_fork_is_checked_there(tmp_path: Path) -> None:
    source(tmp_path, 40)
    with pytest.raises(KeyboardInterrupt):
        job(tmp_path, progress=interrupted)
    (tmp_path / "out" / "_work" / "part-00000-000001.started").touch()
    text = refusal(MOD, tmp_path / "rows.parquet", tmp_path / "out", batch_size=8, part_rows=32)
    assert DEPENDS in text
    assert (tmp_path / "out" / "_work" / "doubt").read_text() == text


def interrupted(done: int, total: int | None, bad: int) -> None:
    raise KeyboardInterrupt


def test_checks_take_a_twentieth_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mod, asked = tracepack.trace(lambda x: x * 2, torch.rand(3, 4)), []
    source(tmp_path)
    run = compute.Work.run

    def slow(self: Any, values: Any, begin: int, end: int) -> Any:
        asked.append(end - begin)
        time.sleep(0.004 if end - begin > 1 else 0.002)
        return run(self, values, begin, end)

    monkeypatch.setattr(SpotChecks, "after", counted := Counted(SpotChecks.after, asked))
    monkeypatch.setattr(compute.Work, "run", slow)
    job(tmp_path, mod, batch_size=2)
    assert len(counted.alone) == ROWS // 2
    assert counted.alone[:4] == [1, 1, 1, 1]
    assert 4 < sum(counted.alone) < ROWS // 8


class Counted:
    """A method, which notes for each call whether a row was run alone."""

    def __init__(self, method: Any, asked: list[int]) -> None:
        self._method, self._asked, self.alone = method, asked, list[int]()

    def __get__(self, checks: Any, _: Any) -> Any:
        def call(*arguments: Any) -> None:
            before = self._asked.count(1)
            self._method(checks, *arguments)
            self.alone.append(self._asked.count(1) - before)

        return call


def test_what_changes_with_the_number_of_rows_by_rounding_is_said_and_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row has another label in runs of 8 than alone, whatever stands beside it: two labels are as good."""
    source(tmp_path)
    mod, run = tracepack.trace(lambda x: x[:, 0], torch.rand(3, 4)), compute.Work.run
    tie = pq.read_table(tmp_path / "rows.parquet")["x"][20].as_py()[0]

    def tied(self: Any, values: Any, begin: int, end: int) -> Any:
        column = run(self, values, begin, end)[0].to_pylist()
        return [pa.array([5.0 if each == tie and end - begin > 1 else each for each in column], pa.float32())]

    monkeypatch.setattr(compute.Work, "run", tied)
    monkeypatch.setattr(spot_checks, "_SHARE", 1e9)
    monkeypatch.setattr("random.Random.randrange", lambda self, count: 4)
    with pytest.warns(UserWarning, match=r"row 20 of 'rows.parquet', output 'output': 5.0 in a run of 8 rows and 1\."):
        job(tmp_path, mod)
    assert read(tmp_path / "out")[20]["output"] == 5.0
    assert errors(tmp_path / "out") == []


def test_the_rows_that_are_tried_are_unlike() -> None:
    texts = ["two words"] * 500
    texts[100], texts[200], texts[300] = "", "one " * 50, "three short words"
    x = torch.ones(500, 3) * torch.arange(1, 501)[:, None]
    x[70], x[80, 1], x[90], x[95] = -1000, float("nan"), 5000, x[94]
    n = torch.arange(500) % 7
    n[410], n[411] = 900, -900
    found = unlike_rows([("t", texts), ("x", x), ("n", n)], 500, 16)
    assert len(found) == len(set(found)) == 16
    assert {100, 200, 70, 80, 90, 410, 411, 0} <= set(found)
    assert unlike_rows([("x", torch.zeros(3, 0))], 3, 16) == [0, 1, 2]
    assert len(unlike_rows([("x", torch.zeros(30, 0, dtype=torch.bool)), ("r", [None, {"a": 1}] * 15)], 30, 16)) == 16
