"""Reads an archive: one stored zip with a manifest; nothing is ever extracted.

This module knows members and hashes, not graphs, and needs no torch; `archive_writer` writes the file.
"""

from __future__ import annotations

import encodings.cp437  # noqa: F401 - in which zipfile reads names: else the first archive waits for its import
import hashlib
import io
import mmap
import os
import stat
import zipfile
from typing import Any

import msgpack

from ...ops.graph.errors import ArchiveError
from .schema import FIELDS, FORMAT, LARGEST_MANIFEST, LATER, MANIFEST, VERSION, WEIGHTS
from .zip_layout import members_of

CHUNK = 8 << 20  # bytes that are hashed, and written, at a time


def unpack(data: bytes, member: str) -> Any:
    """Plain data from msgpack. A time of msgpack's own is read as a float: as a key it has a hash that a file chooses.

    Raises:
        ArchiveError: it is not msgpack, or has a value of a type that is not of msgpack's own.
    """
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False, timestamp=1, ext_hook=_no_extension)
    except Exception as error:  # msgpack raises ValueError, and exceptions of its own
        raise ArchiveError("a member cannot be decoded", where=member, got=type(error).__name__) from error


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"a value of the type {code}")


class Archive:
    """An open archive.

    Attributes:
        label: the name of the file in messages.
        manifest: the manifest, its fields checked.
        identity: equal for two archives of the same unchanged file; None for an archive in memory.
    """

    def __init__(self, source: Any) -> None:
        """Opens a path, bytes, or a binary file object.

        Raises:
            ArchiveError: missing, empty, truncated, altered, foreign, or of a newer format.
        """
        self.label, self.buffer, self.identity = _open(source)
        try:
            self._zip = zipfile.ZipFile(_Reader(self.buffer))
            self._members = members_of(self._zip, self.buffer, self.error)
            self.manifest = self._read_manifest()
        except ArchiveError:
            raise
        except Exception as error:  # zipfile raises errors of many kinds on damaged files
            raise self._damaged(error) from error

    def _read_manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._members:
            raise self.error("not a tracepack archive: it has no manifest", fix="Pass a file that Pipeline.save wrote.")
        if self._members[MANIFEST][1] > LARGEST_MANIFEST:
            raise self.error("the manifest is too large", member=MANIFEST)
        manifest = unpack(self.manifest_bytes(), MANIFEST)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise self.error("not a tracepack archive", member=MANIFEST)
        self._check_version(manifest.get("version"))
        for name, kind in FIELDS.items():
            if LATER.get(name, 0) <= manifest["version"][1] and not isinstance(manifest.get(name), kind):
                raise self.error("a field of the manifest is missing or malformed", member=MANIFEST, got=name)
        return manifest

    def manifest_bytes(self) -> bytes:
        """The manifest as it is written; zipfile checks its CRC."""
        return self._zip.read(MANIFEST)

    @property
    def comment(self) -> bytes:
        """The comment of the zip, which holds signatures."""
        return self._zip.comment

    def _check_version(self, version: Any) -> None:
        match version:
            case [int(major), int(minor)]:
                pass
            case _:
                raise self.error("the format version is malformed", member=MANIFEST, got=repr(version))
        if major != VERSION[0] or minor > VERSION[1]:
            producer = "a newer" if (major, minor) > VERSION else "an older"
            raise self.error(
                f"the file was written in {producer} format", got=f"{major}.{minor}",
                expected=f"{VERSION[0]}.0 to {VERSION[0]}.{VERSION[1]}", fix="Install a tracepack that reads it.",
            )  # fmt: skip

    def names(self) -> list[str]:
        """Every member but the manifest."""
        return [name for name in self._members if name != MANIFEST]

    def view(self, name: str) -> memoryview:
        """The bytes of a member, without a copy.

        Raises:
            ArchiveError: the member is missing, or has another size than the manifest says.
        """
        listed = self.manifest["members"].get(name)
        if name not in self._members or not isinstance(listed, dict):
            raise self.error("a member is missing", member=name)
        start, size = self._members[name]
        if listed.get("size") != size:
            raise self.error(
                "a member has another size than the manifest says", member=name, got=size, expected=listed.get("size")
            )
        return memoryview(self.buffer)[start : start + size]

    def offset(self, name: str) -> int:
        """Where a member's data starts in the file."""
        start, _ = self._members[name]
        return int(start)

    def read(self, name: str) -> bytes:
        """The bytes of a member, its hash checked."""
        data = bytes(self.view(name))
        self.check(name)
        return data

    def check(self, name: str) -> None:
        """Compares a member with its hash.

        Raises:
            ArchiveError: it was altered.
        """
        view = self.view(name)
        digest = hashlib.sha256()
        for start in range(0, len(view), CHUNK):
            digest.update(view[start : start + CHUNK])
        expected = self.manifest["members"][name].get("sha256")
        if digest.hexdigest() != expected:
            raise self.error("a member was altered: its sha256 is not the one in the manifest", member=name)

    def check_listing(self) -> None:
        """Refuses members that the manifest does not list, and listed ones that are missing."""
        for name in self.names():
            if name not in self.manifest["members"]:
                raise self.error("a member is not listed in the manifest", member=name)
        for name in self.manifest["members"]:
            self.view(name)

    def error(
        self, what: str, *, member: str = "", got: Any = None, expected: Any = None, fix: str = ""
    ) -> ArchiveError:
        """An error that names the file, and the member in it."""
        where = f"{self.label}, member {member!r}" if member else self.label
        return ArchiveError(what, where=where, got=got, expected=expected, fix=fix)

    def _damaged(self, error: Exception) -> ArchiveError:
        start = bytes(self.buffer[:4])
        if start == b"PK\x03\x04":
            return self.error(
                "the file is truncated or damaged", got=str(error).split("\n")[0], fix="Copy or save it again."
            )
        return self.error(
            "not a tracepack archive",
            got=f"a file that starts with {start!r}",
            fix="Pass a file that Pipeline.save wrote.",
        )

    def weights_size(self) -> int:
        """Bytes of weights."""
        _, size = self._members.get(WEIGHTS, (0, 0))
        return size


def _all_of(source: Any) -> bytearray:
    try:
        return bytearray(source.read())
    except (OSError, ValueError, TypeError) as error:
        raise ArchiveError(
            "the file object cannot be read", got=str(error)[:120], expected="a binary file object, open for reading"
        ) from error


def _open(source: Any) -> tuple[str, Any, Any]:
    if isinstance(source, bytes | bytearray | memoryview):
        return _checked_length("bytes", bytearray(source), None)
    if hasattr(source, "read"):
        return _checked_length("file object", _all_of(source), None)
    try:
        path = os.fspath(source)
    except TypeError:
        raise ArchiveError(
            "not an archive", got=type(source).__name__, expected="a path, bytes or a binary file object"
        ) from None
    return _map(path)


def _map(path: Any) -> tuple[str, Any, Any]:
    """Maps a file privately: writes to the memory stay in this process, and pages are read at the first use."""
    label = repr(path)[:200]
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ArchiveError(
                    "a pipe or a device, not a file", where=label, expected="a file that Pipeline.save wrote",
                    fix="Copy it to a file first.",
                )  # fmt: skip
            if status.st_size == 0:
                raise ArchiveError("the file is empty", where=label, fix="Copy or save it again.")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileNotFoundError:
        raise ArchiveError("there is no such file", where=label) from None
    except ValueError:  # the path contains a NUL
        raise ArchiveError("not a path", where=label[:200]) from None
    except IsADirectoryError:
        raise ArchiveError("a folder, not a file", where=label, expected="a file that Pipeline.save wrote") from None
    except OSError as error:
        raise ArchiveError("cannot read the file", where=label, got=error.strerror or str(error)) from error
    identity = (os.path.realpath(path), status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    return label, mapped, identity


def _opened_at_once(path: str, flags: int) -> int:
    """Opens a file, also where it is a pipe to which nobody writes: for one `open` would wait."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _checked_length(label: str, data: Any, identity: Any) -> tuple[str, Any, Any]:
    if not data:
        raise ArchiveError("the archive is empty", where=label)
    return label, data, identity


class _Reader(io.RawIOBase):
    """A seekable file over a buffer, without copying it."""

    def __init__(self, buffer: Any) -> None:
        self._view, self._at = memoryview(buffer), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._at, len(self._view))[whence]
        if base + offset < 0:
            raise OSError("a seek before the start")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = len(self._view) if size is None or size < 0 else min(self._at + size, len(self._view))
        data = bytes(self._view[self._at : end])
        self._at = max(self._at, end)
        return data
