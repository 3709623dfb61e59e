"""Lines of JSON that leave out a field whose input has a default are run with the default; a null there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import errors, read  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")


def titled(text, times=2, mark="!", label=None):
    return {"out": text.upper() * times + mark, "label": "none" if label is None else label}


ROWS: list[dict[str, Any]] = [
    {"text": "a", "times": 3, "mark": "?", "label": "x"},
    {"text": "b", "label": "y"},
    {"text": "c", "times": 1},
    {"text": "d", "mark": ".", "label": None},
    {"text": "e", "times": 2, "mark": "", "label": "z"},
]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def mod() -> tracepack.Pipeline:
    return tracepack.trace(titled, "a", 2, "!", "l")


def test_a_field_that_is_left_out_has_its_default(mod: tracepack.Pipeline, tmp_path: Path) -> None:
    tracepack.batch.run(mod, written(tmp_path, ROWS), tmp_path / "out", keep=["text"])
    wanted = [titled(**row) for row in ROWS]
    found = read(tmp_path / "out")
    assert [row["out"] for row in found] == [row["out"] for row in wanted]
    assert [row["label"] for row in found] == [row["label"] for row in wanted]
    assert not errors(tmp_path / "out")


def test_a_null_in_a_line_is_no_default_but_none(mod: tracepack.Pipeline, tmp_path: Path) -> None:
    rows = [*ROWS, {"text": "f", "times": None}, {"text": "g", "mark": None}, {"text": None}, {"times": 2}]
    tracepack.batch.run(mod, written(tmp_path, rows), tmp_path / "out", keep=["text"])
    assert [row["text"] for row in read(tmp_path / "out")] == ["a", "b", "c", "d", "e"]
    assert [(row["row"], row["error"]) for row in errors(tmp_path / "out")] == [
        (5, "column 'times' is null"), (6, "column 'mark' is null"),
        (7, "input 'text': column 'text' is null"), (8, "input 'text': column 'text' is null"),
    ]  # fmt: skip


def test_a_field_that_begins_late_is_not_passed_over(
    mod: tracepack.Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracepack.batch.reading.json_lines.SAMPLE_BYTES", 30)
    rows = [{"text": "a"}, {"text": "b"}, {"text": "c"}, {"text": "d", "times": 5}, {"text": "e"}]
    tracepack.batch.run(mod, written(tmp_path, rows), tmp_path / "out", keep=[])
    assert [row["out"] for row in read(tmp_path / "out")] == ["AA!", "BB!", "CC!", "EE!"]
    assert [(row["row"], row["error"]) for row in errors(tmp_path / "out")] == [
        (3, "no row of the source: the lines at the beginning have no field 'times'")
    ]


def test_in_a_table_a_null_is_none_where_that_is_the_default(mod: tracepack.Pipeline, tmp_path: Path) -> None:
    rows = {"text": ["a", "b", "c"], "times": [1, None, 3], "label": ["x", "y", None]}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", keep=["text"])
    assert [(row["out"], row["label"]) for row in read(tmp_path / "out")] == [("A!", "x"), ("CCC!", "none")]
    assert [row["error"] for row in errors(tmp_path / "out")] == ["input 'times': column 'times' is null"]
