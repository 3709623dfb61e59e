"""Files that are no archive any more, or never were: each gets one short typed error."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn

import tracepack
from tests.archive.files import corrupt, rewritten
from tracepack.serialization.container.schema import MANIFEST, WEIGHTS


def test_a_file_that_is_not_there_or_not_ours(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"hello, this is text")
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    for name, text in [
        ("nowhere", "nowhere': there is no such file"),
        ("folder", "folder': a folder, not a file"),
        ("empty", "empty': the file is empty"),
        ("text", "text': not a tracepack archive; got a file that starts with b'hell'"),
        ("foreign.zip", "foreign.zip': not a tracepack archive: it has no manifest"),
    ]:
        with pytest.raises(tracepack.ArchiveError, match=text):
            tracepack.load(tmp_path / name)
    with pytest.raises(
        tracepack.ArchiveError, match="not an archive; got int; expected a path, bytes or a binary file"
    ):
        tracepack.load(3)
    with pytest.raises(tracepack.ArchiveError, match="unknown value of verify; got 'some'; expected one of"):
        tracepack.load(tmp_path / "text", verify="some")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_to_which_nobody_writes_is_refused_at_once(tmp_path):
    """In a process of its own: one that waits for a writer is ended."""
    os.mkfifo(tmp_path / "pipe")
    code = f"import tracepack; tracepack.load({str(tmp_path / 'pipe')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "pipe': a pipe or a device, not a file; expected a file that Pipeline.save wrote" in done.stderr


@pytest.mark.parametrize("member", [MANIFEST, "graphs/main.msgpack", "graphs/op0.msgpack", WEIGHTS])
def test_one_flipped_bit_is_found(cell_file, member):
    data = corrupt(cell_file[0].read_bytes(), member)
    text = "truncated or damaged" if member == MANIFEST else f"member '{member}': a member was altered: its sha256"
    with pytest.raises(tracepack.ArchiveError, match=text):
        tracepack.load(data)


def test_large_weights_are_hashed_on_request_only(tmp_path):
    module = nn.Linear(1600, 1600)
    op, x = tracepack.script(module), torch.rand(1, 1600)
    path = tmp_path / "large.tpk"
    tracepack.trace(lambda x: op(x), x).save(path)
    data = corrupt(path.read_bytes(), WEIGHTS)
    tracepack.load(data)  # as documented: large weights are checked by verify="all"
    with pytest.raises(tracepack.ArchiveError, match="member 'weights.safetensors': a member was altered"):
        tracepack.load(data, verify="all")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(cell_file, kept):
    data = cell_file[0].read_bytes()
    with pytest.raises(tracepack.ArchiveError, match="truncated or damaged"):
        tracepack.load(data[: int(len(data) * kept)])


def test_a_newer_format_says_so(cell_file):
    for version, text in [
        ([2, 0], "a newer format; got 2.0; expected 1.0 to 1"),
        ([1, 99], "a newer format; got 1.99"),
    ]:
        with pytest.raises(tracepack.ArchiveError, match=text):
            tracepack.load(rewritten(cell_file[0], lambda m, v=version: m.update(version=v)))


def test_a_missing_or_unlisted_member_is_named(cell_file):
    def lose(manifest):
        del manifest["members"][WEIGHTS]

    def expect_more(manifest):
        manifest["members"]["kernels/0/0"] = {"sha256": "0", "size": 1}

    with pytest.raises(
        tracepack.ArchiveError, match="member 'weights.safetensors': a member is not listed in the manifest"
    ):
        tracepack.load(rewritten(cell_file[0], lose))
    with pytest.raises(tracepack.ArchiveError, match="member 'kernels/0/0': a member is missing"):
        tracepack.load(rewritten(cell_file[0], expect_more))


def test_random_damage_never_answers_differently(cell_file):
    """Bits flipped, bytes cut, swapped and doubled anywhere: a typed error, or the right answer."""
    path, module, x, h = cell_file
    data, expected = path.read_bytes(), module(x, h)[0]
    source = random.Random(0)
    messages = []
    for _ in range(400):
        damaged = bytearray(data)
        kind = source.randrange(4)
        at = source.randrange(len(data))
        if kind == 0:
            damaged[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            del damaged[at : at + source.randrange(1, 40)]
        elif kind == 2:
            damaged[at:at] = damaged[at : at + source.randrange(1, 40)]
        else:
            damaged[at : at + 8] = source.randbytes(8)
        try:
            result = tracepack.load(bytes(damaged))(x, h)[0]
        except tracepack.TracepackError as error:
            messages.append(str(error))
        else:
            assert torch.equal(result, expected)
    assert len(messages) > 300
    assert all(len(text) < 600 and "\n" not in text for text in messages)
