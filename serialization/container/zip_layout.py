"""Checks where the members of an archive lie: every reader of zip files must see the same members in the same bytes.

A zip file says everything twice, before each member and in the directory at its end, and may hold bytes that neither
speaks of. Readers differ in which one they believe. So both must say the same, and members, directory and end follow
each other without a gap, from the first byte of the file to the last.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from typing import Any

from ...ops.graph.errors import ArchiveError
from .schema import MOST_MEMBERS

Refuse = Callable[..., ArchiveError]
"""Makes the error: what is wrong, and the member by name."""

_LOCAL, _END = b"PK\x03\x04", b"PK\x05\x06"
_LOCAL_SIZE, _END_SIZE, _END_64_SIZE = 30, 22, 76  # bytes; the last is that of both records of zip64
_ENCRYPTED, _SIZES_FOLLOW, _UTF_8 = 0x1, 0x8, 0x800
_KNOWN_FLAGS = _SIZES_FOLLOW | _UTF_8
_IN_EXTRA, _ZIP_64 = 0xFFFFFFFF, 1
_FOLLOWING = (b"", b"PK\x07\x08")


def members_of(archive: zipfile.ZipFile, buffer: Any, refuse: Refuse) -> dict[str, tuple[int, int]]:
    """The offset and the size of every member's data.

    Args:
        archive: the directory, as Python reads it.
        buffer: the bytes of the file.
        refuse: makes an error that names the file.

    Raises:
        ArchiveError: two members have one name or overlap, one is compressed, or the file can be read in two ways.
    """
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    end = 0
    found: dict[str, tuple[int, int]] = {}
    if len(entries) > MOST_MEMBERS:
        raise refuse("too many members", got=len(entries), expected=f"at most {MOST_MEMBERS}")
    for entry in entries:
        if entry.filename in found:
            raise refuse("two members have the same name", member=entry.filename)
        if (
            entry.compress_type != zipfile.ZIP_STORED
            or entry.flag_bits & _ENCRYPTED
            or entry.file_size != entry.compress_size
        ):
            raise refuse("a member is compressed or encrypted", member=entry.filename)
        if entry.header_offset < end:
            raise refuse("two members overlap", member=entry.filename)
        if entry.header_offset > end:
            gap = entry.header_offset - end
            raise refuse("bytes of no member come before a member", member=entry.filename, got=gap)
        start = _start_of_data(entry, buffer, refuse)
        found[entry.filename] = (start, entry.file_size)
        end = start + entry.file_size
        if entry.flag_bits & _SIZES_FOLLOW:
            end += _following(entry, bytes(buffer[end : end + 24]), refuse)
    _check_end(archive, end, len(entries), buffer, refuse)
    return found


def _start_of_data(entry: zipfile.ZipInfo, buffer: Any, refuse: Refuse) -> int:
    """Where the data of a member start, after a header that says what the directory says."""
    at = entry.header_offset
    header = bytes(buffer[at : at + _LOCAL_SIZE])
    if len(header) < _LOCAL_SIZE or header[:4] != _LOCAL:
        raise refuse("the header of a member is damaged", member=entry.filename)
    flags, method = struct.unpack("<HH", header[6:10])
    crc, packed, size, name_length, extra_length = struct.unpack("<IIIHH", header[14:30])
    start = at + _LOCAL_SIZE + name_length + extra_length
    if start + entry.file_size > len(buffer):
        raise refuse("a member reaches beyond the end of the file", member=entry.filename)
    name = bytes(buffer[at + _LOCAL_SIZE : at + _LOCAL_SIZE + name_length])
    sizes = _sizes_in(bytes(buffer[start - extra_length : start]), packed, size)
    follows = bool(flags & _SIZES_FOLLOW)
    same = (
        flags == entry.flag_bits
        and not flags & ~_KNOWN_FLAGS
        and method == zipfile.ZIP_STORED
        and name == entry.orig_filename.encode("utf-8" if flags & _UTF_8 else "cp437", "replace")
        and (follows or (crc == entry.CRC and sizes == (entry.file_size, entry.file_size)))
        and entry.orig_filename == entry.filename
        and entry.volume == 0
    )
    if not same:
        raise refuse("a member is another one in its header than in the directory", member=entry.filename)
    return int(start)


def _sizes_in(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """The sizes in a header; those of a large member are in the extra field of zip64."""
    at = 0
    while at + 4 <= len(extra) and (packed, size) == (_IN_EXTRA, _IN_EXTRA):
        kind, length = struct.unpack("<HH", extra[at : at + 4])
        if kind == _ZIP_64 and length >= 16 and at + 20 <= len(extra):
            size, packed = struct.unpack("<QQ", extra[at + 4 : at + 20])
        at += 4 + length
    return packed, size


def _following(entry: zipfile.ZipInfo, data: bytes, refuse: Refuse) -> int:
    """The length of the checksum and the sizes that follow a member, where they were not known before it."""
    for mark in _FOLLOWING:
        for form, most in (("<III", 1 << 32), ("<IQQ", 1 << 64)):
            wanted = mark + struct.pack(form, entry.CRC, *[entry.file_size % most] * 2)
            if data.startswith(wanted):
                return len(wanted)
    raise refuse("a member is another one in what follows it than in the directory", member=entry.filename)


def _check_end(archive: zipfile.ZipFile, end: int, count: int, buffer: Any, refuse: Refuse) -> None:
    """Checks that the directory follows the last member, and the comment ends the file."""
    at = len(buffer) - _END_SIZE - len(archive.comment)
    record = bytes(buffer[max(at, 0) : max(at, 0) + _END_SIZE])
    if at < 0 or record[:4] != _END or _END in archive.comment:
        raise refuse("bytes of no member follow the directory")
    disks, here, everywhere, size, start, comment = struct.unpack("<IHHIIH", record[4:])
    if bytes(buffer[max(at - 20, 0) : max(at - 16, 0)]) == b"PK\x06\x07":
        at -= _END_64_SIZE
        here, everywhere, size, start = struct.unpack("<4Q", bytes(buffer[max(at, 0) :][24:56]))
    told = archive.start_dir == start == end and start + size == at and (disks, here, everywhere) == (0, count, count)
    if not told or comment != len(archive.comment):
        raise refuse("the directory is not where the members end, or counts others")
