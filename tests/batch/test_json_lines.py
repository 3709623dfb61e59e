"""Lines of JSON that are no rows, and texts that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import errors, read  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
NUMBERS = tracepack.trace(lambda x: {"y": x * 2}, torch.rand(3))
NOT_ROWS = (
    b"null", b'{"x":1}null', b'{"x":1} \r null{"x":2}', b"5", b"[]", b'"a"', b'{"x":1', b"}", b'{"x":' + b"[" * 100_000,
    b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", b'{"x":1,"t":"\xff"}',
)  # fmt: skip


@pytest.mark.parametrize("line", NOT_ROWS, ids=lambda line: repr(line[:20]))
@pytest.mark.parametrize("late", [False, True])
def test_lines_that_end_the_reader_of_arrow_are_bad_rows(tmp_path: Path, line: bytes, late: bool) -> None:
    """Its process ends on null in place of an object, wherever it stands, and on lists in very many lists."""
    good = [b'{"x": 1, "t": "}null"}', b'{"x": 2.5, "t": "[[[["}']
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join([*good, line] if late else [line, *good]) + b"\n")
    tracepack.batch.run(NUMBERS, tmp_path / "rows.jsonl", tmp_path / "out", batch_size=2)
    found = read(tmp_path / "out")
    assert [(row["x"], row["t"], row["y"]) for row in found] == [(1.0, "}null", 2.0), (2.5, "[[[[", 5.0)]
    assert [row["row"] for row in errors(tmp_path / "out")] == [2 if late else 0]


def test_matrices_in_json_lines(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda x: {"y": x.sum((1, 2))}, torch.rand(3, 300, 2))
    row = json.dumps({"x": [[1.0, 2.0]] * 300}).encode() + b"\n"  # more lists than levels
    (tmp_path / "rows.jsonl").write_bytes(b"\xef\xbb\xbf" + row * 3)
    tracepack.batch.run(mod, tmp_path / "rows.jsonl", tmp_path / "out", batch_size=2)
    assert [each["y"] for each in read(tmp_path / "out")] == [900.0] * 3


def test_a_text_of_a_file_that_is_not_in_utf8_is_a_bad_row(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda texts: [text.upper() for text in texts], ["a", "b"])
    made = pa.array([b"a", b"\xff", None, b"c"], pa.binary()).cast(pa.string(), safe=False)
    with pytest.raises(pa.ArrowInvalid):
        made.validate(full=True)
    pq.write_table(pa.table({"texts": made}), tmp_path / "rows.parquet")
    tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=2, id="texts", keep=[])
    assert [row["output"] for row in read(tmp_path / "out")] == ["A", "C"]
    found = pq.read_table(tmp_path / "out.errors.parquet")
    assert found["id"].cast(pa.binary()).to_pylist() == [b"\xff", None]
    assert found["error"].to_pylist() == [
        "input 'texts': column 'texts' is not in UTF-8", "input 'texts': column 'texts' is null",
    ]  # fmt: skip


def test_whole_numbers_among_decimals_that_the_dtype_cannot_hold_are_bad_rows(tmp_path: Path) -> None:
    """Arrow makes float64 of the column, which holds them; a column of whole numbers alone is no other."""
    for name, first in (("decimals", b'{"x": 2.5}\n'), ("whole", b'{"x": 2}\n')):
        lines = first + b'{"x": 16777217}\n{"x": 16777216}\n{"x": -33554433}\n{"x": 1e30}\n{"x": 7}\n{"x": 0.1}\n'
        lines = lines if name == "decimals" else lines.replace(b'{"x": 1e30}\n', b"").replace(b'{"x": 0.1}\n', b"")
        (tmp_path / f"{name}.jsonl").write_bytes(lines)
        tracepack.batch.run(NUMBERS, tmp_path / f"{name}.jsonl", tmp_path / name, batch_size=2)
        lost = [row["error"] for row in errors(tmp_path / name)]
        assert [text.split(" cannot hold ")[0] for text in lost] == ["input 'x': float32"] * 2
        assert [float(text.split(" cannot hold ")[1]) for text in lost] == [16777217, -33554433]
        assert len(read(tmp_path / name)) == (5 if name == "decimals" else 3)
