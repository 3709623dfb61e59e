"""What batch jobs make of the cells of their sources, and of sources and targets that fail meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import errors, read  # noqa: E402 - after the skip
from tracepack.batch.reading.source_files import find_source  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
NUMBERS = tracepack.trace(lambda x: {"y": x * 2}, torch.rand(3))


def ran(source: Path, mod: tracepack.Pipeline = NUMBERS, **options: Any) -> list[dict[str, Any]]:
    """The rows that a job gives for a source."""
    tracepack.batch.run(mod, source, source.with_name("out"), batch_size=2, **options)
    return read(source.with_name("out"))


def test_csv_keeps_what_its_cells_say(tmp_path: Path) -> None:
    """Numbers that would not be the same again stay texts, in every file; what is not UTF-8 costs its row."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("x,zip,id,n\n1,10115,18446744073709551615,a\n")
    (folder / "b.csv").write_bytes(b"x,zip,id,n\n1.5,01067,1,\xe9\n2.5,01067,2,b\n")
    assert ran(folder) == [
        {"x": 1.0, "zip": "10115", "id": "18446744073709551615", "n": "a", "y": 2.0},
        {"x": 2.5, "zip": "01067", "id": "2", "n": "b", "y": 5.0},
    ]
    assert [(row["row"], row["error"]) for row in errors(tmp_path / "out")] == [
        (0, "column 'n': Invalid UTF8 payload")
    ]  # fmt: skip


def test_json_lines_keep_what_they_say(tmp_path: Path) -> None:
    """Texts that look like times stay texts, ids their digits, and a field that comes late is no silent loss."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text("")
    (folder / "b.jsonl").write_text('{"x": 1, "day": "2020-01-01", "id": 18446744073709551615}\n')
    long = json.dumps({"x": 2.5, "id": 7, "text": "a" * (1 << 20)})  # the columns are those of the lines up to here
    (folder / "c.jsonl").write_text(long + '\n{"x": 3.5, "late": 1}\n{"x": 4.5}\n')
    found = ran(folder)
    assert [row | {"text": None} for row in found] == [
        {"x": 1.0, "day": "2020-01-01", "id": (1 << 64) - 1, "text": None, "y": 2.0},
        {"x": 2.5, "day": None, "id": 7, "text": None, "y": 5.0},
        {"x": 4.5, "day": None, "id": None, "text": None, "y": 9.0},
    ]
    (bad,) = errors(tmp_path / "out")
    assert (bad["file"], bad["row"]) == ("c.jsonl", 1)
    assert bad["error"].endswith("unexpected field")
    done = tracepack.batch.run(NUMBERS, folder, tmp_path / "chosen", batch_size=2, keep=["id"])
    assert (done.rows, done.errors) == (4, 0)
    (tmp_path / "huge.jsonl").write_text('{"x": 1, "id": -18446744073709551615}\n{"x": 1, "id": 1.5}\n')
    with pytest.raises(tracepack.BatchError, match="column 'id': no column holds these numbers; got -18"):
        ran(tmp_path / "huge.jsonl")


def test_texts_of_every_form_of_arrow(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda t: t, ["a", "b"])
    texts = pa.array(["ü", None, "", "\0"])
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({"t": texts.cast(kind), "k": texts.cast(kind)}), tmp_path / "rows.parquet")
        out = tmp_path / str(kind)[:6]
        assert tracepack.batch.run(mod, tmp_path / "rows.parquet", out, batch_size=2).errors == 1
        assert [row["output"] for row in read(out)] == ["ü", "", "\0"]
        assert [row["k"] for row in read(out)] == ["ü", "", "\0"]


def test_what_bfloat16_cannot_hold_is_a_bad_row(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda x: x.float(), torch.rand(3).bfloat16())
    pq.write_table(pa.table({"x": [1, 256, 257]}), tmp_path / "rows.parquet")
    assert ran(tmp_path / "rows.parquet", mod) == [{"x": 1, "output": 1.0}, {"x": 256, "output": 256.0}]
    assert [row["error"] for row in errors(tmp_path / "out")] == ["input 'x': bfloat16 cannot hold 257"]


def test_infinite_rows_do_not_hide_that_rows_depend_on_others(tmp_path: Path) -> None:
    mixing = tracepack.trace(lambda x: {"y": x + (x[:1] < 9.0)}, torch.rand(3))
    values = pa.array([1.0, float("inf"), 2.0, 3.0], pa.float32())
    pq.write_table(pa.table({"x": values.take(pa.array([1, 0, 2, 3]))}), tmp_path / "rows.parquet")
    with pytest.raises(tracepack.BatchError, match="depends on the rows beside it"):
        ran(tmp_path / "rows.parquet", mixing)


def test_wide_rows_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    """Equal numbers take next to nothing in the file, and all of their size in memory."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(torch.zeros(100 * 50_000).numpy()), 50_000)
    pq.write_table(pa.table({"x": vectors}), tmp_path / "rows.parquet")
    assert (tmp_path / "rows.parquet").stat().st_size < 1 << 20
    assert find_source(tmp_path / "rows.parquet").part_rows(8) in range(320, 337, 8)  # 64 MiB


def test_a_source_that_changes_meanwhile_is_never_mixed(tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": pa.array([1.0] * 40, pa.float32())}), source)

    def change(done: int, total: int | None, bad: int) -> None:
        if done == 8:
            pq.write_table(pa.table({"x": pa.array([2.0] * 40, pa.float32())}), source)

    with pytest.raises(tracepack.BatchError, match="the file was changed while the job read it"):
        ran(source, part_rows=4, progress=change)
    assert {row["x"] for row in read(tmp_path / "out")} == {1.0}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")
def test_names_that_are_not_utf8_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    """pyarrow opens no such path, and a target of this name could be written once and never read."""
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "in.parquet")
    odd = tmp_path / os.fsdecode(b"\xe9.parquet")
    shutil.copy(tmp_path / "in.parquet", odd)
    for source, target in ((odd, tmp_path / "out"), (tmp_path / "in.parquet", odd.with_name("out" + odd.name))):
        with pytest.raises(tracepack.BatchError, match=r"udce9.*the name is not in UTF-8. Rename the file or folder."):
            tracepack.batch.run(NUMBERS, source, target, batch_size=2)
        assert not target.exists()


def test_a_target_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: what was written stays, and the job goes on from there."""
    source, real, written = tmp_path / "rows.parquet", pq.write_table, []
    pq.write_table(pa.table({"x": pa.array([1.0] * 40, pa.float32())}), source)

    def full(table: Any, where: Any, *rest: Any) -> None:
        written.append(where)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        real(table, where, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        with pytest.raises(tracepack.BatchError, match="cannot write to the target; got .*No space left"):
            ran(source, part_rows=4)
    assert len(read(tmp_path / "out")) >= 12
    assert len(ran(source)) == 40


@pytest.mark.parametrize(
    ("name", "text", "good", "bad"),
    [
        ("a.csv", "id,x\n7,oops\n8,2\n9,3.5\n10,4\n", [4.0, 7.0, 8.0], [(0, 7)]),
        ("a.csv", "id,x\n7,1\n8,-\n9,3\n10,\n11,5\n", [2.0, 6.0, 10.0], [(1, 8), (3, 10)]),
        ("a.jsonl", '{"id":7,"x":""}\n{"id":8,"x":2}\n{"id":9,"x":3}\n{"id":10,"x":4}\n', [4, 6, 8], [(0, 7)]),
        ("a.jsonl", '{"id":8,"x":2}\n{"id":9,"x":3}\n{"id":"a","x":4}\n{"id":7\n', [4, 6], [(2, None), (3, None)]),
    ],
)  # fmt: skip
def test_a_bad_cell_at_the_beginning_costs_its_row(
    tmp_path: Path, name: str, text: str, good: list[float], bad: list[Any]
) -> None:
    (tmp_path / name).write_text(text)
    assert [row["y"] for row in ran(tmp_path / name, id="id")] == good
    assert [(row["row"], row["id"]) for row in errors(tmp_path / "out")] == bad


def test_a_column_of_texts_stays_one_where_few_of_them_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n7,a\n8,b\n9,3\n")
    with pytest.raises(tracepack.BatchError, match="the input cannot take the column; got x: string"):
        ran(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("x,note\n1,4\n2,5\n3,six\n")  # of which no input takes numbers
    assert [row["note"] for row in ran(tmp_path / "b.csv")] == ["4", "5", "six"]


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        ("1 2 NA", ["1", "2", "NA"]),
        ("true NA false", ["true", "NA", "false"]),
        ("2020-01-01 null 2020-01-02", ["2020-01-01", "null", "2020-01-02"]),
        ("12:30 12:31 12:32:05", ["12:30", "12:31", "12:32:05"]),
        ("0x10 11 12", ["0x10", "11", "12"]),
        ("1  3", [1, None, 3]),
        ("1.5 nan 3", [1.5, None, 3.0]),
        ("true  False", [True, None, False]),
    ],
)
def test_no_row_is_lost_for_a_column_that_no_input_takes(tmp_path: Path, cells: str, kept: list[Any]) -> None:
    """Cells that are none of the others' type make it one of texts."""
    lines = [f"{index},{cell}" for index, cell in enumerate(cells.split(" "))]
    (tmp_path / "a.csv").write_text("\n".join(["x,k", *lines]) + "\n")
    found = ran(tmp_path / "a.csv")
    assert [row["y"] for row in found] == [0, 2, 4]
    assert [None if row["k"] != row["k"] else row["k"] for row in found] == kept


@pytest.mark.parametrize(
    "order", [("1\n2", "six\n7"), ("six\n7", "1\n2"), ("2020-01-01\n", "3\n4"), ("1\n2", "NA\n"), ("true\n", "1.5\n2")]
)
def test_files_that_differ_in_a_column_that_no_input_takes(tmp_path: Path, order: tuple[str, str]) -> None:
    (tmp_path / "in").mkdir()
    for index, text in enumerate(order):
        cells = text.strip("\n").split("\n")
        (tmp_path / "in" / f"{index}.csv").write_text("x,k\n" + "".join(f"{index},{cell}\n" for cell in cells))
    assert [row["k"] for row in ran(tmp_path / "in")] == [
        cell for text in order for cell in text.strip("\n").split("\n")
    ]


@pytest.mark.parametrize(
    ("process", "example", "cells", "answers", "bad"),
    [
        (lambda x: ~x, torch.tensor([True, False]), "true oops false", [False, True], [1]),
        (lambda x: x + 1, 3, "7 oops 007", [8, 8], [1]),
        (lambda x: x * 2, 1.5, "1.5 NA 2.5", [3.0, 5.0], [1]),
        (lambda x: x + "!", "a", "007 1.50 NA", ["007!", "1.50!", "NA!"], []),
        (lambda x: [each + "!" for each in x], ["a", "b"], "1 true 12:30", ["1!", "true!", "12:30!"], []),
    ],
    ids=["flags", "int", "float", "text", "texts"],
)
def test_a_column_of_csv_has_the_type_that_its_input_takes(
    tmp_path: Path, process: Any, example: Any, cells: str, answers: list[Any], bad: list[int]
) -> None:
    (tmp_path / "a.csv").write_text("\n".join(["x,k", *(f"{cell},a" for cell in cells.split(" "))]) + "\n")
    found = ran(tmp_path / "a.csv", tracepack.trace(process, example))
    assert [row["output"] for row in found] == answers
    assert [row["row"] for row in (errors(tmp_path / "out") if bad else [])] == bad


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_numbers_with_leading_zeros_are_numbers_where_an_input_takes_them(tmp_path: Path, dtype: torch.dtype) -> None:
    """As pyarrow and pandas read them; a column that no input takes keeps its zeros."""
    (tmp_path / "a.csv").write_text("zip,x\n01067,01067\n10115,10115\n00007,-007\n")
    mod = tracepack.trace(lambda x: {"y": x * 2}, torch.arange(3).to(dtype))
    found = ran(tmp_path / "a.csv", mod)
    assert [row["zip"] for row in found] == ["01067", "10115", "00007"]
    assert [(row["x"], row["y"]) for row in found] == [(1067, 2134), (10115, 20230), (-7, -14)]


def test_large_numbers_of_a_column_of_floats_are_numbers_where_an_input_takes_floats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n12345678901234567\n1.5\n")
    assert [row["y"] for row in ran(tmp_path / "a.csv")] == [2 * float(torch.tensor(12345678901234567.0)), 3.0]
    whole = tracepack.trace(lambda x: {"y": x * 2}, torch.arange(3))
    with pytest.raises(tracepack.BatchError, match="the input cannot take the column; got x: string"):
        tracepack.batch.run(whole, tmp_path / "a.csv", tmp_path / "other")  # 12345678901234568 would not be noticed


def test_a_cell_that_its_type_would_change_is_a_bad_row_where_it_comes_late(tmp_path: Path) -> None:
    """The types are those of the first MiB."""
    rows = [f"{index % 10}.5,{index},{'a' * 1000}" for index in range(1100)]
    (tmp_path / "a.csv").write_text("\n".join(["x,zip,text", *rows, "1.5,01067,a", "2.5,1067,a"]) + "\n")
    assert len(ran(tmp_path / "a.csv", keep=["zip"], id="zip")) == 1101
    assert [(row["row"], row["error"]) for row in errors(tmp_path / "out")] == [
        (1100, "column 'zip': int64, which the column has at the beginning of the file, would change the cell")
    ]


def test_a_file_of_parquet_is_neither_mapped_nor_read_as_a_whole(tmp_path: Path) -> None:
    """Its mapped pages would count as memory of the process, and a group of rows may be the whole file."""
    import numpy as np

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.random.default_rng(0).random(1 << 22)}), path, row_group_size=1 << 22)  # 32 MiB
    before, most = pa.total_allocated_bytes(), 0
    for part in find_source(path).parts(0, ["x"], 1 << 15, lambda number: False):
        most = max(most, pa.total_allocated_bytes() - before)
        if part.number % 16 == 0 and Path("/proc/self/maps").exists():
            assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert part.number == 127
    assert most < 8 << 20


def test_ids_that_python_has_no_values_for(tmp_path: Path) -> None:
    far = pa.array([1 << 61, 1 << 61, 5], pa.timestamp("us"))  # beyond the year 9999
    pq.write_table(pa.table({"x": pa.array([1.0, None, 3.0], pa.float32()), "at": far}), tmp_path / "rows.parquet")
    done = tracepack.batch.run(NUMBERS, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2, id="at")
    assert (done.rows, done.errors) == (2, 1)
    assert pq.read_table(done.errors_path)["id"].cast(pa.int64()).to_pylist() == [1 << 61]


def test_views_within_lists_and_a_name_that_is_also_that_of_a_field(tmp_path: Path) -> None:
    table = pa.table({
        "x": pa.array([1.0, None, 3.0], pa.float32()),
        "words": pa.array([["a"], ["b"], ["c"]], pa.list_(pa.string_view())),
        "tags": pa.array([[("k", "a")]] * 3, pa.map_(pa.string(), pa.string_view())),
        "a": pa.array([{"b": "z"}] * 3),
        "a.b": pa.array([7, 8, 9]),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "rows.parquet")
    tracepack.batch.run(
        NUMBERS, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2, keep=["words", "tags", "a.b"]
    )
    assert read(tmp_path / "out") == [
        {"words": ["a"], "tags": [("k", "a")], "a.b": 7, "y": 2.0},
        {"words": ["c"], "tags": [("k", "a")], "a.b": 9, "y": 6.0},
    ]


def test_a_bad_row_at_the_beginning_hides_nothing_of_the_others(tmp_path: Path) -> None:
    """Neither that rows depend on each other, nor how many of them are best run together."""

    def process(x):
        torch._assert((x <= 100).all(), "beyond 100")  # pytest rewrites plain assertions
        return {"y": x - x.mean()}

    mod = tracepack.trace(process, torch.rand(3))
    for index, rows in enumerate(([101.0, 2.0, 3.0], [None] * 70 + [2.0, 3.0], [7.0] + [None] * 70 + [2.0, 3.0])):
        source = tmp_path / f"{index}.parquet"
        pq.write_table(pa.table({"x": pa.array(rows, pa.float32())}), source)
        with pytest.raises(tracepack.BatchError, match="the answer for a row depends on the rows beside it"):
            tracepack.batch.run(mod, source, tmp_path / f"out{index}", batch_size=2)


def test_rows_that_are_all_bad_at_the_beginning_end_no_job(tmp_path: Path) -> None:
    for index, count in enumerate((70, 3)):
        source = tmp_path / f"{index}.parquet"
        pq.write_table(pa.table({"x": pa.array([None] * count + [1.0] * (count > 3), pa.float32())}), source)
        done = tracepack.batch.run(NUMBERS, source, tmp_path / f"out{index}", batch_size=2)
        assert (done.rows, done.errors) == (count > 3, count)


def test_a_bad_row_at_the_beginning_makes_no_batches_of_one(tmp_path: Path) -> None:
    def process(x):
        torch._assert((x <= 100).all(), "beyond 100")
        return {"y": x * 2}

    pq.write_table(pa.table({"x": pa.array([101.0] + [1.0] * 500, pa.float32())}), tmp_path / "rows.parquet")
    mod = tracepack.trace(process, torch.rand(3))
    done = tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out")
    assert done.batch_size > 1
    assert (done.rows, done.errors) == (500, 1)


def test_the_first_line_of_csv_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(f"x,a\n1,{'z' * 3_000_000}\n2,b\n")
    assert [(row["y"], len(row["a"])) for row in ran(tmp_path / "rows.csv")] == [(2.0, 3_000_000), (4.0, 1)]


def test_an_input_takes_a_column_at_least(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1.0], pa.float32())}), tmp_path / "rows.parquet")
    with pytest.raises(
        tracepack.BatchError, match="map of 'x': an input takes no column; expected one or more columns"
    ):
        tracepack.batch.run(NUMBERS, tmp_path / "rows.parquet", tmp_path / "out", map={"x": []})
