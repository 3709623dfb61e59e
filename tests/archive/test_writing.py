"""Saving writes the whole file or nothing."""

from __future__ import annotations

import errno
import io
import os

import pytest

import tracepack


def test_a_full_disk_leaves_the_old_file_whole(cell_file, monkeypatch):
    path = cell_file[0]
    before = path.read_bytes()
    mod = tracepack.load(path)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tracepack.serialization.container.replacing.os.fsync", full)
    with pytest.raises(
        tracepack.ArchiveError, match="cannot write the archive; got No space left on device. A file that was"
    ):
        mod.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_device_without_space_is_reported(cell_file):
    mod = tracepack.load(cell_file[0])
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(tracepack.ArchiveError, match="No space left"):
        mod.save(full)


class Slow(io.RawIOBase):
    """An unbuffered file that takes a part of what it is given, and so many bytes in all."""

    def __init__(self, most, part):
        self.content, self.most, self.part = bytearray(), most, part

    def writable(self):
        return True

    def write(self, data):
        taken = bytes(data)[: min(self.part, self.most - len(self.content))]
        self.content += taken
        return len(taken)


def test_a_file_object_that_takes_a_part_gets_the_rest(cell_file):
    mod = tracepack.load(cell_file[0])
    slow = Slow(1 << 30, 100)
    mod.save(slow)
    assert tracepack.load(bytes(slow.content), verify="all").signature == mod.signature
    for most in (0, 1000, len(slow.content) - 1):
        with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got the file object takes no more"):
            mod.save(Slow(most, 100))


def test_a_folder_that_is_not_there_is_reported(cell_file, tmp_path):
    mod = tracepack.load(cell_file[0])
    with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got No such file or directory"):
        mod.save(tmp_path / "nowhere" / "a.tpk")


def test_a_read_only_folder_is_reported(cell_file, tmp_path, monkeypatch):
    mod = tracepack.load(cell_file[0])

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tracepack.serialization.container.replacing.os.open", refuse)  # root may write anywhere
    with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got Permission denied"):
        mod.save(tmp_path / "a.tpk")
    assert list(tmp_path.iterdir()) == [cell_file[0]]


def test_an_interrupt_while_saving_leaves_nothing_behind(cell_file, monkeypatch):
    path = cell_file[0]
    before = path.read_bytes()
    mod = tracepack.load(path)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("tracepack.serialization.container.archive_writer._write_member", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mod.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
