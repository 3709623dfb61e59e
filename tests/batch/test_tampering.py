"""A target that others may write to: what they put there is an error of ours, and leads nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracepack

pq = pytest.importorskip("pyarrow.parquet", reason="the extra 'batch' is not installed")

from tests.batch.checks import read  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
PART, FIRST = "part-00000-000001.parquet", "part-00000-000000.parquet"


@pytest.fixture
def job(scores: Path, rows: Any, tmp_path: Path) -> Callable[[], Any]:
    """A job of three parts; called once more it goes on."""
    pq.write_table(rows(24), tmp_path / "rows.parquet")
    return lambda: tracepack.batch.run(scores, tmp_path / "rows.parquet", tmp_path / "out", batch_size=4, part_rows=8)


def manifest(**changes: Any) -> Callable[[Path, Path], Any]:
    def write(out: Path, secret: Path) -> None:
        found = json.loads((out / "_tracepack.json").read_text())
        found["job"].update(changes)
        (out / "_tracepack.json").write_text(json.dumps(found))

    return write


def linked(name: str) -> Callable[[Path, Path], Any]:
    def write(out: Path, secret: Path) -> None:
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(secret)

    return write


def pipe(name: str) -> Callable[[Path, Path], Any]:
    def write(out: Path, secret: Path) -> None:
        (out / name).unlink(missing_ok=True)
        os.mkfifo(out / name)

    return write


def replaced_work(out: Path, secret: Path) -> None:
    (secret.parent / "else").mkdir()
    (secret.parent / "else" / "mine.tmp").touch()
    (out / "_work").rmdir()
    (out / "_work").symlink_to(secret.parent / "else")


DAMAGED = "the manifest of the target is damaged"
NONE = "a file of the target is none of this job"
TAMPERED: dict[str, tuple[Callable[[Path, Path], Any], str]] = {
    "a source of nothing": (manifest(source=None), DAMAGED),
    "a source without files": (manifest(source={"path": "\x1b[31m"}), DAMAGED),
    "another source": (manifest(source={"path": "\x1b[31m", "files": []}), r"got '.*'\\x1b\[31m' with|another source"),
    "a manifest that is a pipe": (pipe("_tracepack.json"), DAMAGED),
    "a manifest that is a link": (linked("_tracepack.json"), DAMAGED),
    "a lock that is a link": (linked("_lock"), "cannot write to the target"),
    "a folder that is a link": (replaced_work, "cannot write to the target; got _work leads to another folder"),
    "a part that is a link": (linked(PART), NONE),
    "a part that is a pipe": (pipe(PART), NONE),
    "a part of other bytes": (lambda out, secret: (out / PART).write_bytes(b"PAR1" * 20), NONE),
    "a part of no bytes": (lambda out, secret: (out / PART).write_bytes(b""), NONE),
    "errors of other bytes": (lambda out, _: (out / "_work/part-00000-000001.errors.parquet").write_bytes(b"x"), NONE),
    "errors that are a pipe": (pipe("_work/part-00000-000001.errors.parquet"), NONE),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_what_others_put_there_is_an_error_of_ours(job: Callable[[], Any], tmp_path: Path, case: str) -> None:
    job()
    change, text = TAMPERED[case]
    secret = tmp_path / "secret"
    secret.write_text("mine")
    change(tmp_path / "out", secret)
    with pytest.raises(tracepack.BatchError, match=text) as caught:
        job()
    assert str(caught.value).isprintable()
    assert secret.read_text() == "mine"
    assert case != "a folder that is a link" or (tmp_path / "else" / "mine.tmp").exists()


def test_a_temporary_file_that_is_a_link_is_replaced(job: Callable[[], Any], tmp_path: Path) -> None:
    job()
    secret, out = tmp_path / "secret", tmp_path / "out"
    secret.write_text("mine")
    wanted = read(out)
    (out / FIRST).unlink()
    for name in (FIRST, "_tracepack.json"):
        (out / "_work" / f"{name}.{os.getpid()}.tmp").symlink_to(secret)
    job()
    assert secret.read_text() == "mine"
    assert read(out) == wanted


def test_the_owner_of_the_folder_leads_no_writing_elsewhere(
    job: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the making of a file and its writing a link takes its place, as a watcher of the folder can do."""
    secret, out, made = tmp_path / "secret", tmp_path / "out", os.open
    secret.write_text("mine")

    def swapped(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        found = made(path, flags, *args, **kwargs)
        if str(path).endswith(".tmp"):
            os.unlink(path)
            os.symlink(secret, path)
        return found

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(tracepack.BatchError):
        job()
    assert secret.read_text() == "mine"
    assert (out / "_tracepack.json").is_symlink()


def test_only_files_of_a_job_are_removed(job: Callable[[], Any], tmp_path: Path) -> None:
    job()
    for name in ("mine.tmp", f"{FIRST}.77.tmp", "_tracepack.json.77.tmp"):
        (tmp_path / "out" / "_work" / name).touch()
    job()
    assert [path.name for path in (tmp_path / "out" / "_work").glob("*.tmp")] == ["mine.tmp"]
