"""Batch jobs on one machine: sources of every kind, bad rows, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tests.cli.commands import answer, refused

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.csv as pa_csv  # noqa: E402 - after the skip
import pyarrow.parquet as pq  # noqa: E402

from tests.batch.checks import errors, hold, read  # noqa: E402

pytestmark = pytest.mark.usefixtures("jobs")


def wide(table: Any) -> Any:
    """The table with a column for each number, for CSV."""
    columns = {f"x{i}": [row[i] for row in table["x"].to_pylist()] for i in range(4)}
    return pa.table({"id": table["id"], **columns, "text": table["text"]})


def write(table: Any, path: Path) -> Path:
    """The table in the format that the name of the file says."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=37)
    elif path.suffix == ".csv":
        pa_csv.write_csv(wide(table), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


X = {"x": ["x0", "x1", "x2", "x3"]}


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("folder", [False, True])
def test_every_row_has_its_answer(scores: Path, rows: Any, tmp_path: Path, kind: str, folder: bool) -> None:
    table = rows(150)
    source = write(table.slice(0, 100), tmp_path / "in" / f"a.{kind}")
    if folder:
        write(table.slice(100), tmp_path / "in" / f"b.{kind}")
        (tmp_path / "in" / "_notes.txt").write_text("of another program")
    else:
        table = table.slice(0, 100)
    named = {"map": X} if kind == "csv" else {}
    target = tmp_path / "out"
    done = tracepack.batch.run(
        scores, source.parent if folder else source, target, batch_size=8, part_rows=24, **named
    )  # fmt: skip
    assert (done.rows, done.errors, done.errors_path, done.batch_size) == (len(table), 0, None, 8)
    found = read(target)
    for row in found:
        if kind == "csv":
            row["x"] = [row.pop(f"x{i}") for i in range(4)]
    hold(tracepack.load(scores), found, table.to_pylist())


def test_the_same_from_all_formats_bit_for_bit(scores: Path, rows: Any, tmp_path: Path) -> None:
    table, found = rows(60), {}
    for kind in ("parquet", "csv", "jsonl"):
        source = write(table, tmp_path / f"rows.{kind}")
        named = {"map": X} if kind == "csv" else {}
        tracepack.batch.run(scores, source, tmp_path / kind, batch_size=16, keep=["id"], **named)
        found[kind] = read(tmp_path / kind)
    assert found["parquet"] == found["csv"] == found["jsonl"]
    assert list(found["csv"][0]) == ["id", "scores", "best"]


def test_a_batch_of_one_is_a_run_for_each_row_bit_for_bit(scores: Path, rows: Any, tmp_path: Path) -> None:
    table, mod = rows(40), tracepack.load(scores)
    tracepack.batch.run(mod, write(table, tmp_path / "rows.parquet"), tmp_path / "out", batch_size=1)
    for row in read(tmp_path / "out"):
        alone = mod.run({"x": torch.tensor([row["x"]])})
        assert torch.equal(torch.tensor(row["scores"]), alone["scores"][0])


def test_the_batch_size_is_measured_and_kept(scores: Path, rows: Any, tmp_path: Path) -> None:
    source = write(rows(300), tmp_path / "rows.parquet")
    done = tracepack.batch.run(scores, source, tmp_path / "out")
    assert done.batch_size > 1
    again = tracepack.batch.run(scores, source, tmp_path / "out")
    assert (again.computed, again.rows, again.batch_size) == (0, 300, done.batch_size)


# -- bad rows --------------------------------------------------------------------------------------------------


def test_bad_rows_go_to_the_table_of_errors_and_the_rest_goes_on(scores: Path, rows: Any, tmp_path: Path) -> None:
    table = rows(90)
    lists = table["x"].to_pylist()
    lists[3], lists[10], lists[40] = None, [1.0, 2.0], [1.0, None, 1.0, 1.0]
    lists[55][2], lists[89][0] = 101.0, 200.0
    table = table.set_column(1, "x", pa.array(lists, pa.list_(pa.float32())))
    done = tracepack.batch.run(
        scores, write(table, tmp_path / "rows.parquet"), tmp_path / "out", batch_size=16, part_rows=48, id="id"
    )  # fmt: skip
    assert (done.rows, done.errors, done.errors_path) == (85, 5, str(tmp_path / "out.errors.parquet"))
    found = errors(tmp_path / "out")
    assert [(row["id"], row["file"], row["row"]) for row in found] == [
        (3 * row, "rows.parquet", row) for row in (3, 10, 40, 55, 89)
    ]
    assert [row["error"] for row in found[:3]] == [
        "input 'x': column 'x' is null",
        "input 'x': column 'x' has a list of 2, expected 4",
        "input 'x': column 'x' holds a null",
    ]
    for row in found[3:]:
        assert "beyond 100" in row["error"]
        assert 'torch._assert((x <= 100).all(), "beyond 100")' in row["line"]
    bad = {row["row"] for row in found}
    wanted = [row for index, row in enumerate(table.to_pylist()) if index not in bad]
    hold(tracepack.load(scores), read(tmp_path / "out"), wanted)


def test_lines_of_text_that_cannot_be_read_are_bad_rows(scores: Path, rows: Any, tmp_path: Path) -> None:
    table = rows(30)
    lines = write(table, tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    lines[4], lines[7], lines[20] = '{"id": 12, "x": [1, 2', '{"id": 21, "x": "text"}', '{"id": 60, "x": [1, 2, 3]}'
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines[:9], "", *lines[9:]]))
    tracepack.batch.run(scores, tmp_path / "rows.jsonl", tmp_path / "out", batch_size=4, part_rows=12)
    found = errors(tmp_path / "out")
    assert [row["row"] for row in found] == [4, 7, 20]
    assert found[0]["error"].startswith("no row of the source: ")
    assert found[2]["error"] == "input 'x': column 'x' has a list of 3, expected 4"
    hold(
        tracepack.load(scores),
        read(tmp_path / "out"),
        [r for i, r in enumerate(table.to_pylist()) if i not in (4, 7, 20)],
    )


def test_cells_of_csv_that_are_no_numbers_are_bad_rows(scores: Path, rows: Any, tmp_path: Path) -> None:
    lines = write(rows(40), tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    cells[6][2], cells[8][1], cells[9] = "abc", "", ["27", "1"]
    (tmp_path / "rows.csv").write_text("\n".join(",".join(row) for row in cells) + "\n")
    # The types of columns are inferred from good rows: those of a first file.
    write(rows(5, seed=1), tmp_path / "in" / "a.csv")
    (tmp_path / "rows.csv").rename(tmp_path / "in" / "b.csv")
    done = tracepack.batch.run(scores, tmp_path / "in", tmp_path / "out", batch_size=4, part_rows=12, map=X, id="id")
    assert (done.rows, done.errors) == (5 + 37, 3)
    found = errors(tmp_path / "out")
    assert [(row["file"], row["row"], row["id"]) for row in found] == [
        ("b.csv", None, None), ("b.csv", 5, 15), ("b.csv", 7, 21),
    ]  # fmt: skip
    assert found[0]["error"] == "line 10 has 2 columns, expected 6: '27,1'"
    assert found[1]["error"].startswith("column 'x1': ")
    assert found[2]["error"] == "input 'x': column 'x0' is null"


def test_numbers_that_the_dtype_cannot_hold_are_bad_rows(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda n: n + 1, torch.arange(3))
    pq.write_table(pa.table({"n": [1.0, 2.5, float("nan"), 4.0]}), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2)
    assert read(tmp_path / "out") == [{"n": 1.0, "output": 2}, {"n": 4.0, "output": 5}]
    assert [row["error"] for row in errors(tmp_path / "out")] == [
        "input 'n': int64 cannot hold 2.5", "input 'n': int64 cannot hold nan",
    ]  # fmt: skip


def test_a_job_of_bad_rows_alone_ends_with_an_empty_target(scores: Path, tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([[101.0] * 4] * 9, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "rows.parquet")
    done = tracepack.batch.run(scores, tmp_path / "rows.parquet", tmp_path / "out", batch_size=4)
    assert (done.rows, done.errors) == (0, 9)
    assert pq.read_table(tmp_path / "out").schema.names == ["x", "scores", "best"]


# -- other pipelines -------------------------------------------------------------------------------------------


def test_texts_in_and_out(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda texts: [text.strip().upper() for text in texts], [" a", "b "])
    pq.write_table(pa.table({"name": [" one", None, "three "]}), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2, map={"texts": "name"})
    assert [row["output"] for row in read(tmp_path / "out")] == ["ONE", "THREE"]
    assert [row["error"] for row in errors(tmp_path / "out")] == ["input 'texts': column 'name' is null"]


def test_a_pipeline_of_one_row_runs_for_each(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda text, k: {"text_again": f"{text.lower()} {k * 2}", "k": k + 0.5}, "An Example", 3)
    pq.write_table(pa.table({"text": ["One", "Two"], "n": [1, 2]}), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", map={"k": "n"}, keep=[])
    assert read(tmp_path / "out") == [{"text_again": "one 2", "k": 1.5}, {"text_again": "two 4", "k": 2.5}]


def test_inputs_in_containers_and_records_as_answers(tmp_path: Path) -> None:
    names = ["cat", "dog"]

    def process(batch):
        best = (batch["a"] + batch["b"][0].sum(-1)).gt(1).long()
        return [{"label": names[i], "score": s} for i, s in zip(best.tolist(), batch["a"].tolist(), strict=True)]

    with pytest.warns(UserWarning, match="the length of .* is fixed to 1"):
        mod = tracepack.trace(process, {"a": torch.rand(3), "b": [torch.rand(3, 2)]})
    table = pa.table(
        {"a": pa.array([0.25, 0.5], pa.float32()), "b": pa.array([[0, 0], [1, 1]], pa.list_(pa.float32()))}
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    tracepack.batch.run(
        mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2, map={"batch.a": "a", "batch.b.0": "b"}, keep=[]
    )  # fmt: skip
    assert [row["output"] for row in read(tmp_path / "out")] == [
        {"label": "cat", "score": 0.25}, {"label": "dog", "score": 0.5},
    ]  # fmt: skip


def test_a_run_that_writes_into_its_inputs_leaves_the_kept_columns(tmp_path: Path) -> None:
    def process(x):
        x.mul_(2)
        torch._assert((x < 10).all(), "too large")
        return {"y": x + 1}

    mod = tracepack.trace(process, torch.rand(3))
    pq.write_table(pa.table({"x": [1.0, 7.0, 3.0, 2.0]}), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=4)
    assert read(tmp_path / "out") == [{"x": 1.0, "y": 3.0}, {"x": 3.0, "y": 7.0}, {"x": 2.0, "y": 5.0}]


# -- refusals --------------------------------------------------------------------------------------------------


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(tracepack.BatchError) as caught:
        tracepack.batch.run(*arguments, **options)
    return str(caught.value)


def test_a_target_of_another_job_is_refused(scores: Path, rows: Any, tmp_path: Path) -> None:
    source, out = write(rows(20), tmp_path / "rows.parquet"), tmp_path / "out"
    tracepack.batch.run(scores, source, out, batch_size=4, part_rows=8)
    fix = "Name another target, or delete this one."
    assert refusal(scores, source, out, batch_size=5, part_rows=8) == (
        f"{str(out)!r}: the target belongs to a job with another batch size; got 5; expected 4. {fix}"
    )
    assert "another part rows; got 16; expected 8" in refusal(scores, source, out, batch_size=4, part_rows=16)
    assert "another keep; got ['id']" in refusal(scores, source, out, keep=["id"])
    assert "another id; got 'id'; expected None" in refusal(scores, source, out, id="id")
    twice = tracepack.trace(lambda x: {"scores": x * 2, "best": x[:, 0]}, torch.rand(3, 4))
    assert "another pipeline; got " in refusal(twice, source, out)
    write(rows(20, seed=5), source)
    assert "the target belongs to a job with another source" in refusal(scores, source, out)
    assert len(read(out)) == 20


def test_a_target_of_something_else_is_refused(scores: Path, rows: Any, tmp_path: Path) -> None:
    source = write(rows(5), tmp_path / "in" / "rows.parquet")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("")
    assert refusal(scores, source, tmp_path / "mine").endswith(
        "the target has files of something else; expected a new folder"
    )
    (tmp_path / "file").write_text("")
    assert "the target is a file" in refusal(scores, source, tmp_path / "file")
    assert "the target is within the source" in refusal(scores, source.parent, source.parent / "out")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_source_that_does_not_fit_is_refused(scores: Path, rows: Any, tmp_path: Path) -> None:
    out, source = tmp_path / "out", write(rows(5), tmp_path / "in" / "rows.parquet")
    assert "nowhere': there is no such file or folder" in refusal(scores, tmp_path / "nowhere", out)
    assert "the source has no column 'words'; expected id, x, text" in refusal(scores, source, out, keep=["words"])
    assert refusal(scores, source, out, map={"x": "words"}) == (
        "input 'x': the source has no column 'words'; expected id, x, text. Name the column: --map x=COLUMN."
    )
    assert refusal(scores, source, out, map={"h": "x"}) == "map of 'h': the pipeline has no such input; expected x"
    assert refusal(scores, source, out, map={"x": "text"}) == (
        "input 'x': the input cannot take the column; got text: string; expected a column for f32[N,4]"
    )
    pq.write_table(pa.table({"x": [[True] * 4]}), tmp_path / "bits.parquet")
    assert "cannot take the column; got x: list<element: bool>" in refusal(scores, tmp_path / "bits.parquet", out)
    (tmp_path / "in" / "more.csv").write_text("a\n1\n")
    assert "no source of one kind; got 'csv', 'parquet'" in refusal(scores, tmp_path / "in", out)
    (tmp_path / "in" / "more.csv").unlink()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "in" / "s.parquet")
    assert "the file has other columns than the first; got x: int64; expected id: int64" in refusal(
        scores, tmp_path / "in", out
    )
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    assert "broken.parquet': cannot read the file; got " in refusal(scores, tmp_path / "broken.parquet", out)
    pq.write_table(rows(9), tmp_path / "damaged.parquet")
    pages = (tmp_path / "damaged.parquet").read_bytes()
    (tmp_path / "damaged.parquet").write_bytes(pages[:4] + b"\xff" * 60 + pages[64:])  # the footer is whole
    assert "damaged.parquet': cannot read the file; got " in refusal(scores, tmp_path / "damaged.parquet", out)
    pq.write_table(rows(0), tmp_path / "empty.parquet")
    assert "the source has no rows" in refusal(scores, tmp_path / "empty.parquet", out)
    assert not out.exists()


def test_a_pipeline_that_cannot_take_rows_is_refused(rows: Any, tmp_path: Path) -> None:
    source, out = write(rows(30), tmp_path / "rows.parquet"), tmp_path / "out"
    mixing = tracepack.trace(lambda x: {"y": x - x.mean(0)}, torch.rand(3, 4))
    text = refusal(mixing, source, out, batch_size=8)
    assert text.startswith("output 'y': the answer for a row depends on the rows beside it; got ")
    assert text.endswith("Run each row alone: batch_size=1.")
    tracepack.batch.run(mixing, source, out, batch_size=1)
    assert all(row["y"] == [0.0] * 4 for row in read(out))
    total = tracepack.trace(lambda x: x.sum(), torch.rand(3, 4))
    assert "output 'out': an output has not one item for each row; got (x: f32[N,M]) -> f32[]" in refusal(
        total, source, tmp_path / "other"
    )
    fixed = tracepack.trace(lambda x: x[:, 0] if x.shape[0] == 3 else x.sum(), torch.rand(3, 4))  # of two ranks
    assert (
        "the pipeline does not take any number of rows; got (x: f32[N,M]) -> f32[N] where N == 3. Trace a"
        in refusal(fixed, source, tmp_path / "other")
    )
    named = tracepack.trace(lambda x: {"text": x * 2}, torch.rand(3, 4))
    assert "an output is called like the column 'text'" in refusal(named, source, tmp_path / "other")
    assert refusal(named, source, tmp_path / "other", engine="spark") == (
        "unknown engine; got 'spark'; expected one of ['local', 'ray']"
    )
    assert "no number of rows or workers; got 0" in refusal(named, source, tmp_path / "other", batch_size=0)


# -- the command -----------------------------------------------------------------------------------------------


def test_the_command(scores: Path, rows: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write(rows(30), tmp_path / "rows.csv"), tmp_path / "out"
    arguments = ["batch", str(scores), str(source), str(out), "--map", "x=x0,x1,x2,x3", "--keep", "text", "--id", "id"]
    found = answer(capsys, *arguments, "--batch-size", "8", "--part-rows", "16")
    assert {name: found[name] for name in ("target", "rows", "errors", "computed", "batch_size")} == {
        "target": str(out), "rows": 30, "errors": 0, "computed": 30, "batch_size": 8,
    }  # fmt: skip
    assert list(read(out)[0]) == ["id", "text", "scores", "best"]
    assert "another batch size; got 9; expected 8" in refused(capsys, 2, *arguments, "--batch-size", "9")
    assert "another keep" in refused(capsys, 2, *arguments[:-4], "--batch-size", "8")
