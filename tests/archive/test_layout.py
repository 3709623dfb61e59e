"""Zip files that two readers could read as two archives: each says the same everywhere and has no other bytes."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile

import pytest
import torch

import tracepack
from tracepack.serialization.container.archive import Archive

X = torch.ones(3)


@pytest.fixture(scope="module")
def data() -> bytes:
    file = io.BytesIO()
    tracepack.trace(lambda x: x * 2 + torch.arange(3), X).save(file)
    return file.getvalue()


def at(data: bytes, name: str) -> int:
    """Where the header of a member lies."""
    return zipfile.ZipFile(io.BytesIO(data)).getinfo(name).header_offset


def put(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def end_of(data: bytes) -> int:
    return data.rfind(b"PK\x05\x06")


WEIGHTS = "weights.safetensors"
DIFFERING = "is another one in its header than in the directory"
COUNTS = "the directory is not where the members end, or counts others"
CHANGES = {
    "another name": (lambda d: put(d, at(d, WEIGHTS) + 30, b"WEIGHTS"), DIFFERING),
    "compressed": (lambda d: put(d, at(d, WEIGHTS) + 8, struct.pack("<H", 8)), DIFFERING),
    "encrypted": (lambda d: put(d, at(d, WEIGHTS) + 6, struct.pack("<H", 1)), DIFFERING),
    "other sizes": (lambda d: put(d, at(d, WEIGHTS) + 18, struct.pack("<II", 1, 1)), DIFFERING),
    "another checksum": (lambda d: put(d, at(d, WEIGHTS) + 14, b"abcd"), DIFFERING),
    "on another disk": (lambda d: put(d, d.find(b"PK\x01\x02") + 34, struct.pack("<H", 3)), DIFFERING),
    "a name that ends early": (lambda d: d.replace(b"weights.safetensors", b"weights.safetensor\0"), "another one|CRC"),
    "a script before": (lambda d: b"#!/bin/sh\nexit\n" + d, "bytes of no member come before a member; got 15"),
    "an archive before": (lambda d: d + d, f"bytes of no member come before a member; got|{COUNTS}"),
    "bytes after": (lambda d: d + b"more", "bytes of no member follow the directory"),
    "one member less": (lambda d: put(d, end_of(d) + 8, struct.pack("<HH", 2, 2)), COUNTS),
    "another directory": (lambda d: put(d, end_of(d) + 12, struct.pack("<I", 7)), "damaged|before a member|directory"),
    "a comment with an end": (
        lambda d: put(d, end_of(d) + 20, struct.pack("<H", 30)) + b"PK\x05\x06" + bytes(26),
        "follow the directory|damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_can_be_read_in_two_ways_is_refused(data, name):
    change, text = CHANGES[name]
    assert torch.equal(tracepack.load(data)(X), X * 2 + torch.arange(3))
    with pytest.raises(tracepack.ArchiveError, match=text):
        tracepack.load(change(data))


def rewritten(data: bytes, before: bytes = b"", **options) -> bytes:
    """The same members, written anew."""
    old, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            out.write(before)
            new.start_dir = out.tell()
            with new.open(zipfile.ZipInfo(name), "w", **options) as file:
                file.write(old.read(name))
    return out.getvalue()


def test_what_lies_between_members_is_refused(data):
    with pytest.raises(tracepack.ArchiveError, match="bytes of no member come before a member; got 50"):
        tracepack.load(rewritten(data, before=b"PK\x03\x04".ljust(50, b"\0")))


def test_a_member_twice_is_refused(data):
    out = io.BytesIO(data)
    with warnings.catch_warnings(), zipfile.ZipFile(out, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr(WEIGHTS, b"other")
    with pytest.raises(tracepack.ArchiveError, match="two members have the same name"):
        tracepack.load(out.getvalue())


class Pipe(io.RawIOBase):
    """A file that cannot be sought in: sizes follow the members."""

    def __init__(self) -> None:
        self.written = io.BytesIO()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        return self.written.write(data)


def test_what_other_writers_and_large_files_have_is_read(data):
    pipe = Pipe()
    tracepack.load(data).save(pipe)
    for found in (pipe.written.getvalue(), rewritten(data), rewritten(data, force_zip64=True)):
        assert found != data
        assert torch.equal(tracepack.load(found)(X), X * 2 + torch.arange(3))
    sizes = pipe.written.getvalue().find(b"PK\x07\x08") + 12
    with pytest.raises(tracepack.ArchiveError, match="in what follows it than in the directory"):
        tracepack.load(put(pipe.written.getvalue(), sizes, b"\x01"))


def test_a_directory_of_zip64_is_read():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number in range(66_000):
            file.writestr(zipfile.ZipInfo(f"m{number}"), b"")
    with pytest.raises(tracepack.ArchiveError, match="it has no manifest"):
        Archive(out.getvalue())
    wrong = put(out.getvalue(), out.getvalue().rfind(b"PK\x06\x06") + 24, struct.pack("<Q", 65_999))
    with pytest.raises(tracepack.ArchiveError, match=COUNTS):
        Archive(wrong)
