"""Writes the members of an archive into one stored zip; a failed write leaves no file, or the old one.

The bytes are a function of the content: the date is fixed, and the order is the caller's. No graphs, no torch.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgpack

from ...ops.graph.errors import ArchiveError
from .archive import CHUNK
from .replacing import replacing, write_error
from .schema import ALIGNMENT, MANIFEST

_DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal content gives equal bytes
_PADDING_ID = 0x7470  # "tp": an extra field for padding


def pack(data: Any) -> bytes:
    """Plain data as msgpack; equal data gives equal bytes.

    Raises:
        ArchiveError: it holds a text with half of a character, an integer of more than 64 bits, or too many levels.
    """
    try:
        found: bytes = msgpack.packb(data, use_bin_type=True)
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise ArchiveError("an archive cannot hold this", got=f"{type(error).__name__}: {error}"[:200]) from error
    return found


Chunks = Callable[[], Iterable[Any]]


@dataclass(eq=False, repr=False)
class Member:
    """A member to write: its name, its size, and a function that returns its bytes in chunks."""

    name: str
    size: int
    chunks: Chunks


def member(name: str, data: bytes) -> Member:
    """A member held in memory."""
    return Member(name, len(data), lambda: [data])


def write(target: Any, manifest: dict[str, Any], members: list[Member]) -> None:
    """Writes an archive to a path, atomically, or to a binary file object.

    Raises:
        ArchiveError: it cannot be written, because the disk is full for example; an old file stays as it is.
    """
    if not hasattr(target, "write"):
        with replacing(target) as file:
            _write_stream(file, manifest, members)
        return
    try:
        _write_stream(_Whole(target), manifest, members)
    except (OSError, ValueError, TypeError) as error:  # the disk is full, or the file is closed or opened for text
        raise write_error(target, error) from error


class _Whole:
    """A file object of the caller, whose writes are repeated until all is written: an unbuffered one may take less."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, data: Any) -> int:
        """Writes all of the data.

        Raises:
            OSError: the object takes no more.
        """
        view = memoryview(data).cast("B")
        left = view
        while len(left):
            count = self._target.write(left)
            if count is None and not isinstance(self._target, io.RawIOBase):  # it does not say: it takes all
                break
            if not count:
                raise OSError("the file object takes no more bytes")
            left = left[count:]
        return len(view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def _write_stream(file: Any, manifest: dict[str, Any], members: list[Member]) -> None:
    hashes: dict[str, Any] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for item in members:
            digest = _write_member(archive, item)
            hashes[item.name] = {"sha256": digest, "size": item.size}
        data = pack({**manifest, "members": hashes})
        _write_member(archive, member(MANIFEST, data))


def _write_member(archive: zipfile.ZipFile, item: Member) -> str:
    info = zipfile.ZipInfo(item.name, _DATE)
    info.external_attr = 0o644 << 16
    info.create_system = 3
    large = item.size >= (1 << 31)
    if item.name.endswith(".safetensors"):
        info.extra = _padding(archive, info, large)
    digest = hashlib.sha256()
    with archive.open(info, "w", force_zip64=large) as out:
        for chunk in item.chunks():
            view = memoryview(chunk).cast("B")
            for start in range(0, len(view), CHUNK):
                digest.update(view[start : start + CHUNK])
                out.write(view[start : start + CHUNK])
    return digest.hexdigest()


def _padding(archive: zipfile.ZipFile, info: zipfile.ZipInfo, large: bool) -> bytes:
    """An extra field that makes the member's data start at a multiple of the alignment."""
    # The type was checked just before.
    start = archive.fp.tell() + 30 + len(info.filename.encode()) + (20 if large else 0) + 4  # type: ignore[union-attr]
    fill = -start % ALIGNMENT
    return struct.pack("<HH", _PADDING_ID, fill) + b"\0" * fill
