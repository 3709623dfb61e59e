"""The target of a job: a folder of Parquet files, one for each part, that only this job writes.

A part is there with all of its rows or not at all: it is written beside, synced and renamed. The manifest says which
job the folder belongs to, so that a job that was ended goes on where it stopped, and another one is refused.

    TARGET/_tracepack.json                   the job
    TARGET/part-00000-000000.parquet         by the number of the file and of the part in it
    TARGET/_work/part-….errors.parquet       the bad rows of a part, until the end of the job
    TARGET/_work/part-….started              a part that is being computed
    TARGET/_work/check.started               rows that are being checked before the job
    TARGET/_work/doubt                       why answers that are there may be wrong
    TARGET.errors.parquet                    all bad rows, at the end of the job
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ..ops.graph.errors import BatchError
from .reading.parts import BadRow, require_utf8

MANIFEST, WORK, LOCK, DOUBT, CHECK = "_tracepack.json", "_work", "_lock", "doubt", "check.started"
VERSION = 1
_COUNTS = ("batch_size", "part_rows")
_MOST_BYTES = 256 << 20  # of the manifest, which names every file of the source
_HERE = getattr(os, "O_NOFOLLOW", 0)  # who may write to the folder shall not choose where else this process writes
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _HERE | getattr(os, "O_BINARY", 0)
_OF_A_JOB = re.compile(r"(.*(\.parquet|_tracepack\.json)|doubt)\.[0-9]+\.tmp", re.DOTALL)  # temporary files of ours


@dataclass(frozen=True)
class JobKey:
    """What makes a job this one.

    Attributes:
        source: the folder or file, its files with size and time of their change.
        pipeline: the sha256 of the manifest of the archive.
        inputs: the columns of each input.
        keep: the columns that are kept.
        id: the column of ids.
        batch_size: the rows of a run.
        part_rows: the rows of a part.
    """

    source: Any
    pipeline: str
    inputs: Any
    keep: Any
    id: str | None
    batch_size: int
    part_rows: int


class TargetFolder:
    """The folder of a job.

    Args:
        path: the folder, which is made.
        id_type: the type of the column of ids; None where there is none, and the number of a row stands for it.

    Raises:
        BatchError: the name of the folder is not in UTF-8.
    """

    def __init__(self, path: str | os.PathLike[str], id_type: pa.DataType | None) -> None:
        self.path = Path(require_utf8(os.path.abspath(path)))
        self.errors_path = self.path.with_name(self.path.name + ".errors.parquet")
        self._has_ids = id_type is not None
        text = pa.string()
        self._schema = pa.schema(
            [("id", id_type or pa.int64()), ("file", text), ("row", pa.int64()), ("error", text), ("line", text)]
        )

    @contextlib.contextmanager
    def owned(self) -> Iterator[None]:
        """A context in which no other process may write to the folder.

        Raises:
            BatchError: another one does, or the folder has other files.
        """
        there = self.path.exists()
        if there and not self.path.is_dir():
            raise BatchError("the target is a file", where=repr(str(self.path)), expected="a folder, or nothing there")
        if (
            there
            and not (self.path / MANIFEST).exists()
            and any(e.name not in (LOCK, WORK) for e in self.path.iterdir())
        ):
            raise BatchError(
                "the target has files of something else", where=repr(str(self.path)), expected="a new folder",
            )  # fmt: skip
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / WORK).mkdir(0o700, exist_ok=True)
            if (self.path / WORK).is_symlink():
                raise NotADirectoryError(errno.ENOTDIR, f"{WORK} leads to another folder")
            lock = os.fdopen(os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | _HERE, 0o666), "w")
        except OSError as error:
            raise BatchError("cannot write to the target", where=repr(str(self.path)), got=error.strerror) from error
        with lock:
            _lock(lock, self.path)
            for left in self.path.glob("_work/*.tmp"):
                if _OF_A_JOB.fullmatch(left.name):
                    left.unlink()
            yield

    def manifest(self) -> dict[str, Any] | None:
        """What the folder says of its job; None for a new one.

        Raises:
            BatchError: it cannot be read.
        """
        path = self.path / MANIFEST
        if not path.exists():
            return None
        try:
            found: dict[str, Any] = json.loads(_content(path))
            if found["version"] != VERSION:
                raise BatchError("the target was written by another version of tracepack", where=repr(str(self.path)))
            job = found["job"]
            if type(job) is not dict or not all(type(job.get(n)) is int and job[n] > 0 for n in _COUNTS):
                raise ValueError
            _short("source", job.get("source"))
            return found
        except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
            raise BatchError("the manifest of the target is damaged", where=repr(str(path))) from error

    def claim(self, key: JobKey) -> None:
        """Writes the manifest, or compares it with that of an earlier start.

        Raises:
            BatchError: the folder belongs to another job, or an earlier start found that its answers may be wrong.
        """
        doubt = self.path / WORK / DOUBT
        if os.path.lexists(doubt):
            raise BatchError(
                "answers in the target may be wrong", where=repr(str(self.path)), got=_read(doubt, _content)[:900],
                fix="Delete the target, or name another one, and run each row alone: batch_size=1.",
            )  # fmt: skip
        wanted, found = json.loads(json.dumps(asdict(key))), self.manifest()
        if found is None:
            self._write_manifest({"version": VERSION, "job": wanted})
            return
        for name, value in wanted.items():
            if found["job"].get(name) != value:
                raise BatchError(
                    f"the target belongs to a job with another {name.replace('_', ' ')}", where=repr(str(self.path)),
                    got=_short(name, value), expected=_short(name, found["job"].get(name)),
                    fix="Name another target, or delete this one.",
                )  # fmt: skip

    def doubt(self, why: str) -> None:
        """Notes that answers which are there may be wrong: no job goes on in this folder."""
        with self._replacing(self.path / WORK / DOUBT) as temporary:
            temporary.write(why.encode())

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        with self._replacing(self.path / MANIFEST) as temporary:
            temporary.write(json.dumps(manifest, indent=1).encode())

    @contextlib.contextmanager
    def _replacing(self, path: Path) -> Iterator[BinaryIO]:
        """A file to write, which takes the place of another as a whole.

        It is written by its descriptor: at its path, whoever owns the folder may put a link to a file of this user.
        """
        temporary = self.path / WORK / f"{path.name}.{os.getpid()}.tmp"
        try:
            temporary.unlink(missing_ok=True)
            with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise BatchError(
                "cannot write to the target", where=repr(str(path)), got=str(error)[:200],
                fix="Start the job again when it can be written: it goes on where it stopped.",
            ) from error  # fmt: skip

    # -- parts -------------------------------------------------------------------------------------------------

    def part_path(self, file: int, number: int) -> Path:
        """Where a part is written."""
        return self.path / f"part-{file:05d}-{number:06d}.parquet"

    def is_done(self, file: int, number: int) -> bool:
        """Whether a part is there.

        Raises:
            BatchError: something else than a file is there.
        """
        path = self.part_path(file, number)
        return os.path.lexists(path) and bool(_read(path, Path.is_file))

    def begin(self, file: int, number: int) -> bool:
        """Notes that a part is being computed; returns whether that was so before, and never ended."""
        return _is_there(self._work(file, number, "started"))

    def begin_check(self) -> bool:
        """Notes that rows are being checked before the job; returns whether that was so before, and never ended."""
        return _is_there(self.path / WORK / CHECK)

    def end_check(self) -> None:
        """Notes that no row ended the process."""
        (self.path / WORK / CHECK).unlink(missing_ok=True)

    def write(self, file: int, number: int, rows: pa.Table, bad: Sequence[BadRow], name: str) -> None:
        """Writes a part: its bad rows first, so that they are there when the part is.

        Args:
            file: the number of the file.
            number: that of the part in it.
            rows: with their answers.
            bad: the other rows.
            name: of the file of the source.
        """
        if bad:
            columns: dict[str, list[Any]] = {
                "id": [_plain_id(each.id) if self._has_ids else each.row for each in bad],
                "file": [name] * len(bad),
                "row": [each.row for each in bad],
                "error": [each.error for each in bad],
                "line": [each.line or None for each in bad],
            }
            with self._replacing(self._work(file, number, "errors.parquet")) as temporary:
                pq.write_table(pa.table(columns, schema=self._schema), temporary)
        else:
            self._work(file, number, "errors.parquet").unlink(missing_ok=True)
        with self._replacing(self.part_path(file, number)) as temporary:
            pq.write_table(rows, temporary)
        self._work(file, number, "started").unlink(missing_ok=True)

    def _work(self, file: int, number: int, end: str) -> Path:
        return self.path / WORK / f"part-{file:05d}-{number:06d}.{end}"

    def finish(self) -> tuple[int, int]:
        """Writes the table of all bad rows, and returns how many rows and bad rows there are."""
        found = sorted(self.path.glob("_work/*.errors.parquet"))
        errors = 0
        if found:
            with self._replacing(self.errors_path) as temporary, pq.ParquetWriter(temporary, self._schema) as writer:
                for path in found:
                    table = _read(path, lambda each: pq.read_table(each, schema=self._schema))
                    errors += table.num_rows
                    writer.write_table(table)
        else:
            self.errors_path.unlink(missing_ok=True)
        rows = sum(_read(path, pq.read_metadata).num_rows for path in sorted(self.path.glob("part-*.parquet")))
        manifest = self.manifest()
        if manifest is not None:
            self._write_manifest({**manifest, "complete": {"rows": rows, "errors": errors}})
        return rows, errors


def _is_there(path: Path) -> bool:
    """Makes an empty file; returns whether there was one before."""
    try:
        os.close(os.open(path, _NEW, 0o666))
    except FileExistsError:
        return True
    return False


def _plain_id(value: Any) -> Any:
    return value[0] if isinstance(value, pa.Array) else value


def _read(path: Path, read: Callable[[Path], Any]) -> Any:
    """What a reader of Parquet finds in a file of the folder.

    Raises:
        BatchError: another program put something else there.
    """
    try:
        _refuse_others(path)
        return read(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BatchError(
            "a file of the target is none of this job", where=repr(str(path)), got=str(error).split("\n")[0][:120],
            fix="Delete it, and start the job again.",
        ) from error  # fmt: skip


def _content(path: Path) -> str:
    _refuse_others(path)
    with open(path, "rb") as file:
        return file.read(_MOST_BYTES + 1).decode()


def _refuse_others(path: Path) -> None:
    """Raises OSError for a link, whose target is another file, and for a pipe or a device, whose reader waits."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or (path.name == MANIFEST and status.st_size > _MOST_BYTES):
        raise OSError(errno.EINVAL, "no regular file, or too large a one")


def _short(name: str, value: Any) -> str:
    if name == "source":
        return f"{value['path']!r} with {len(value['files'])} files"[:200]  # in the manifest both were there
    return repr(value)[:80] if name != "pipeline" else str(value)[:16]


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it: the user starts no two jobs with one target
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BatchError(
            "another process writes to the target", where=repr(str(path)), fix="Wait for it, or end it."
        ) from None
