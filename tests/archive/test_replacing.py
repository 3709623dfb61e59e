"""Saving over a file: its mode stays, names are bounded, strays of a killed writer go, and errors are ours."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
import torch

import tracepack
from tests.campaigns.interrupts import presses
from tracepack.serialization.container.replacing import replacing


@pytest.fixture
def mod():
    return tracepack.trace(lambda x: x + 1, torch.ones(2))


def test_a_private_file_stays_private(mod, tmp_path):
    path = tmp_path / "secret.tpk"
    mod.save(path)
    for mode in (0o600, 0o640, 0o644):
        path.chmod(mode)
        mod.save(path)
        assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("length", [200, 250, 255])
def test_a_long_name_is_saved(mod, tmp_path, length):
    path = tmp_path / ("n" * (length - 4) + ".tpk")
    mod.save(path)
    assert torch.equal(tracepack.load(path)(torch.zeros(2)), torch.ones(2))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


KILLED = """
    import os, signal, sys, torch, tracepack
    import tracepack.serialization.container.archive_writer as writer
    plain = writer._write_member
    def die(archive, item):
        plain(archive, item)
        os.kill(os.getpid(), signal.SIGKILL)
    writer._write_member = die
    tracepack.trace(lambda x: x + 1, torch.ones(2)).save(sys.argv[1])
"""


def test_what_a_killed_save_left_is_removed_by_the_next(mod, tmp_path):
    path = tmp_path / "a.tpk"
    mod.save(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
    other = tmp_path / "b.tpk"
    mod.save(other)
    assert len(list(tmp_path.iterdir())) == 3  # another file's strays are its own business
    mod.save(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tpk", "b.tpk"]


def test_two_savers_leave_one_whole_file(mod, tmp_path):
    path, failures = tmp_path / "both.tpk", []

    def save():
        try:
            for _ in range(10):
                mod.save(path)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert torch.equal(tracepack.load(path, verify="all")(torch.zeros(2)), torch.ones(2))
    assert [p.name for p in tmp_path.iterdir()] == ["both.tpk"]


@pytest.mark.parametrize("path", [b"bytes.tpk", "a\0b.tpk", 5, None, ["a"]])
def test_what_is_no_path_is_refused(mod, path):
    with pytest.raises(tracepack.ArchiveError, match="not a path; got"):
        mod.save(path)


def test_a_nul_in_the_path_of_a_load_is_refused():
    with pytest.raises(tracepack.ArchiveError, match="not a path"):
        tracepack.load("a\0b.tpk")


class Full(io.BytesIO):
    def write(self, data):
        raise OSError(28, "No space left on device")


def test_a_file_object_that_cannot_be_written_is_our_error(mod):
    closed = io.BytesIO()
    closed.close()
    for file, text in ((Full(), "No space left on device"), (closed, "closed file"), (io.StringIO(), "str")):
        with pytest.raises(tracepack.ArchiveError, match=f"cannot write the archive; got .*{text}"):
            mod.save(file)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_our_error(mod):
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(tracepack.ArchiveError, match="cannot write"):
        mod.save(full)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_interrupt_at_any_bytecode_leaves_no_other_file(tmp_path):
    """The file system's calls are in two files: the one that replaces a file, and Python's own context managers."""

    def is_near(frame):
        return frame.f_code.co_filename.endswith(("replacing.py", "contextlib.py"))

    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    landed = 0
    for number in range(2000):
        tracer = presses.AtBytecode(is_near, 0, number)
        try:
            with presses.traced(tracer), replacing(path) as file:
                file.write(b"new")
        except presses.Interrupted:
            landed += 1
        assert [p.name for p in tmp_path.iterdir()] == ["a.txt"], f"bytecode {number}: {tracer.raised}"
        assert path.read_bytes() in (b"old", b"new")
        if not tracer.raised:
            break
    assert landed > 200
    assert path.read_bytes() == b"new"


def test_a_symbolic_link_stays_and_the_file_that_it_leads_to_is_replaced(mod, tmp_path):
    target, link = tmp_path / "model-17.tpk", tmp_path / "current.tpk"
    link.symlink_to(target.name)
    mod.save(link)  # the target is new
    first = target.read_bytes()
    tracepack.trace(lambda x: x + 2, torch.ones(2)).save(link)
    assert link.is_symlink()
    assert target.read_bytes() != first
    assert torch.equal(tracepack.load(link)(torch.zeros(2)), torch.full((2,), 2.0))
    assert sorted(os.listdir(tmp_path)) == ["current.tpk", "model-17.tpk"]


def test_a_pipe_is_not_replaced_by_a_file(mod, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got a device, a pipe or a socket; exp"):
        mod.save(path)
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_file_object_that_cannot_be_read_is_an_error_of_ours(mod, tmp_path):
    path = tmp_path / "a.tpk"
    mod.save(path)
    with open(path, "rb") as closed:
        pass
    with open(tmp_path / "new", "wb") as written:
        for source in (io.StringIO("text"), closed, written):
            with pytest.raises(tracepack.ArchiveError, match="the file object cannot be read; got .*; expected a bin"):
                tracepack.load(source)


def test_a_long_path_is_cut_in_the_message():
    with pytest.raises(tracepack.ArchiveError, match="cannot read the file; got File name too long") as caught:
        tracepack.load("x" * 5000)
    assert len(str(caught.value)) < 300


def test_examples_and_states_of_another_kind_are_refused(mod, tmp_path):
    with pytest.raises(tracepack.SignatureError, match="examples are a list of dicts like run's; got int"):
        mod.save(tmp_path / "a.tpk", examples=5)
    with pytest.raises(tracepack.SignatureError, match=r"no state of a pipeline; got NoneType; expected the dict that"):
        mod.load_state(None)
    assert os.listdir(tmp_path) == []
