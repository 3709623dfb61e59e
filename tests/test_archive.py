"""The archive: what is saved comes back, from any source, and everything bad gets one short typed error."""

from __future__ import annotations

import errno
import io
import os
import random
import struct
import subprocess
import sys
import zipfile

import msgpack
import numpy as np
import pytest
import safetensors.numpy
import torch
from models import MyCell
from torch import nn

import tracepack
from tracepack.serialization.archive import Archive
from tracepack.serialization.schema import MANIFEST, WEIGHTS


def test_a_saved_pipeline_runs_in_a_fresh_process_without_its_source(cell_file, tmp_path):
    path, module, x, h = cell_file
    torch.save((x, h), tmp_path / "inputs.pt")
    code = (
        "import sys, torch, tracepack; x, h = torch.load(sys.argv[2]);"
        "torch.save(tracepack.load(sys.argv[1]).run({'x': x, 'h': h}), sys.argv[3])"
    )
    moved = tmp_path / "elsewhere.bin"
    os.rename(path, moved)
    out = tmp_path / "out.pt"
    subprocess.run([sys.executable, "-c", code, str(moved), str(tmp_path / "inputs.pt"), str(out)], check=True)
    result = torch.load(out)
    assert type(result) is tuple
    assert all(torch.equal(a, b) for a, b in zip(result, module(x, h), strict=True))


def test_bytes_and_file_objects_load(cell_file):
    path, module, x, h = cell_file
    data = path.read_bytes()
    expected = module(x, h)[0]
    for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), path.open("rb"), str(path), path):
        assert torch.equal(tracepack.load(source)(x, h)[0], expected)
        if hasattr(source, "close"):
            source.close()


def test_saving_twice_gives_the_same_bytes(cell_file, tmp_path, reloaded):
    path, _, x, h = cell_file
    loaded = tracepack.load(path)
    for name in ("a", "b"):
        loaded.save(tmp_path / name, examples=[{"x": x, "h": h}])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == path.read_bytes()


def manifest_of(path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return msgpack.unpackb(archive.read(MANIFEST))


def test_weights_are_aligned_stored_once_and_readable_by_safetensors(tmp_path):
    first, second = nn.Linear(33, 7), nn.Linear(33, 7)
    second.weight = first.weight  # tied
    bias = first.bias.detach().clone()
    second.bias.data.copy_(bias)  # equal
    ops = [tracepack.script(m, name=n) for m, n in ((first, "a"), (second, "b"))]
    path = tmp_path / "two.tpk"
    tracepack.trace(lambda x: ops[0](x) + ops[1](x), torch.rand(2, 33)).save(path)
    with zipfile.ZipFile(path) as archive:
        data = archive.read(WEIGHTS)
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    tensors = {k: v for k, v in safetensors.numpy.load(data).items() if not k.startswith("~")}
    assert sorted(v.shape for v in tensors.values()) == [(7,), (7, 33)]
    weights = next(v for v in tensors.values() if v.ndim == 2)
    assert np.array_equal(weights, first.weight.detach().numpy())
    archive = Archive(str(path))
    assert archive.offset(WEIGHTS) % 64 == 0
    assert (8 + struct.unpack("<Q", data[:8])[0]) % 64 == 0
    rows = manifest_of(path)["constants"]
    assert len({row["tensor"] for row in rows}) == 2


def test_weights_are_shared_between_loads_of_one_file(cell_file):
    path, *_ = cell_file
    from tracepack.ops.graph import constants

    first, second = tracepack.load(path), tracepack.load(path)
    pointers = [[c.tensor.data_ptr() for c in constants(mod.graph)] for mod in (first, second)]
    assert pointers[0] == pointers[1]
    path.write_bytes(path.read_bytes())  # another file under the same name
    os.utime(path, (1, 1))
    third = tracepack.load(path)
    assert [c.tensor.data_ptr() for c in constants(third.graph)] != pointers[0]


@pytest.mark.parametrize("dtype", [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.float8_e4m3fn,
    torch.float8_e5m2,
])  # fmt: skip
def test_every_dtype_of_constant_comes_back(dtype, reloaded):
    bits = torch.randint(0, 2, (3, 5 * dtype.itemsize), dtype=torch.uint8)
    table = bits.view(torch.bool)[:, :5] if dtype is torch.bool else bits.view(dtype)
    mod = reloaded(tracepack.trace(lambda x: (table.clone(), x), torch.zeros(1)))
    result = mod(torch.zeros(1))[0]
    assert result.dtype == dtype
    assert torch.equal(result.view(torch.uint8), table.contiguous().view(torch.uint8))


@pytest.mark.parametrize("make", [
    lambda: torch.rand(4, 5).t(), lambda: torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
    lambda: torch.rand(8)[::2], lambda: torch.rand(1).expand(4), lambda: torch.zeros(0, 3), lambda: torch.tensor(3.0),
    lambda: torch.rand(2, 2, dtype=torch.complex64).conj(),
])  # fmt: skip
def test_constants_of_any_layout_come_back(make, reloaded):
    table = make()
    result = reloaded(tracepack.trace(lambda x: table * x, torch.ones(1)))(torch.ones(1))
    assert torch.equal(result, table * torch.ones(1))


def corrupt(data: bytes, member: str) -> bytes:
    """One bit of a member's data flipped."""
    archive = Archive(data)
    start, size = archive._members[member]
    changed = bytearray(data)
    changed[start + size // 2] ^= 1
    return bytes(changed)


def rewritten(path, change) -> bytes:
    """The archive with its manifest changed, everything else as it was."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == MANIFEST:
                manifest = msgpack.unpackb(data, strict_map_key=False)
                change(manifest)
                data = msgpack.packb(manifest)
            new.writestr(entry.filename, data)
    return out.getvalue()


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
    with pytest.raises(tracepack.ArchiveError, match="not a way to verify; got 'some'; expected one of"):
        tracepack.load(tmp_path / "text", verify="some")


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


def with_graph(path, change) -> bytes:
    """The archive with its main graph changed and its hash made right, as an attacker would."""
    import hashlib

    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        graph = msgpack.unpackb(old.read("graphs/main.msgpack"), strict_map_key=False)
        change(graph)
        data = msgpack.packb(graph)
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "graphs/main.msgpack":
                content = data
            if entry.filename == MANIFEST:
                manifest = msgpack.unpackb(content, strict_map_key=False)
                manifest["members"]["graphs/main.msgpack"] = {
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "size": len(data),
                }
                content = msgpack.packb(manifest)
            new.writestr(entry.filename, content)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["aten.from_file.default", "aten.set_.source_Storage", "aten.as_strided_copy.out", "aten.save.default",
             "torch.load", "torch.Tensor.data_ptr", "torch.hub.load", "os.system", "py.__import__",
             "torch.Tensor.set_"],
)  # fmt: skip
def test_an_operator_that_is_not_allowed_is_refused(cell_file, name):
    def change(graph):
        graph["nodes"] = [{"target": ["operator", name], "args": [{"v": 0}], "output": {"o": ["float32", [3, 4]]}}]
        graph["output"] = {"v": 2}

    with pytest.raises(
        tracepack.UnknownOperatorError, match=f"operator '{name}' is not on the list of allowed operators"
    ):
        tracepack.load(with_graph(cell_file[0], change))


def test_an_operator_that_this_torch_lacks_says_so(cell_file, monkeypatch):
    from tracepack.ops import operators

    monkeypatch.setattr(operators, "allowed", lambda: frozenset(["torch.not_there_yet"]))

    def change(graph):
        graph["nodes"] = [
            {"target": ["operator", "torch.not_there_yet"], "args": [{"v": 0}], "output": {"o": ["float32", [3]]}}
        ]
        graph["output"] = {"v": 2}

    data = with_graph(cell_file[0], change)
    monkeypatch.setattr("tracepack.serialization.contents._body", lambda *args: None)
    with pytest.raises(
        tracepack.UnknownOperatorError, match=r"operator 'torch.not_there_yet' does not exist in torch 2"
    ):
        tracepack.load(data)(*cell_file[2:])


MALFORMED = {
    "a value from nowhere": (lambda g: g.update(output={"v": 99}), r"graphs/main.msgpack.output: malformed; got 99"),
    "a value too early": (
        lambda g: g["nodes"][0]["args"].insert(0, {"v": 3}),
        "malformed; got 3; expected a number below 2",
    ),
    "no nodes": (lambda g: g.pop("nodes"), "graphs/main.msgpack.nodes: malformed; got 'NoneType'; expected list"),
    "another target": (lambda g: g["nodes"][0].update(target=["eval", "1"]), r"nodes\[0\].target: malformed"),
    "a body from nowhere": (lambda g: g["nodes"][0].update(target=["body", 7]), "expected a number below 1"),
    "a keyword with code": (
        lambda g: g["nodes"].append(
            {"target": ["operator", "torch.add"], "args": [{"v": 0}], "kwargs": {"x=exit()": 1}}
        ),
        "a keyword argument has an impossible name; got 'x=exit",
    ),
    "endless nesting": (lambda g: g.update(output=nested(150)), "malformed; got 'more than|a member cannot be decoded"),
}


def nested(depth):
    tree = 1
    for _ in range(depth):
        tree = {"t": [tree]}
    for _ in range(200):
        tree = [tree]
    return tree


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_graph_is_refused_with_its_path(cell_file, name):
    change, text = MALFORMED[name]
    with pytest.raises((tracepack.ArchiveError, tracepack.GraphError), match=text):
        tracepack.load(with_graph(cell_file[0], change))(*cell_file[2:])


@pytest.mark.parametrize(
    "guard", ["__import__('os').system('true')", "N.__class__", "9**9**9", "(lambda: 1)()", "[1]", "f'{N}'"]
)
def test_a_guard_that_is_no_guard_is_refused(cell_file, guard):
    with pytest.raises(tracepack.GraphError, match="a guard expression"):
        tracepack.load(rewritten(cell_file[0], lambda m: m["facts"].update(guards=[guard])))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_an_opaque_op_needs_trust(reloaded):
    @torch.jit.script
    def shout(x: torch.Tensor, word: str):
        return x + len(word)

    op = tracepack.script(shout, name="shout")
    with pytest.warns(tracepack.OpaqueOpWarning, match="op 'shout' is kept as TorchScript, so that its archive"):
        mod = tracepack.trace(lambda x: op(x, "abc"), torch.ones(2))
    with pytest.raises(
        tracepack.TrustError, match=r"op 'shout' is kept as torchscript, which can run code. Pass trust=True"
    ):
        reloaded(mod)
    assert torch.equal(reloaded(mod, trust=True)(torch.ones(2)), torch.full((2,), 4.0))


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


def test_a_full_disk_leaves_the_old_file_whole(cell_file, monkeypatch):
    path = cell_file[0]
    before = path.read_bytes()
    mod = tracepack.load(path)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tracepack.serialization.archive.os.fsync", full)
    with pytest.raises(
        tracepack.ArchiveError, match="cannot write the archive; got No space left on device. A file that was"
    ):
        mod.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_device_without_space_is_reported(cell_file):
    mod = tracepack.load(cell_file[0])
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises((tracepack.ArchiveError, OSError)):
        mod.save(full)


def test_a_folder_that_is_not_there_is_reported(cell_file, tmp_path):
    mod = tracepack.load(cell_file[0])
    with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got No such file or directory"):
        mod.save(tmp_path / "nowhere" / "a.tpk")


def test_a_read_only_folder_is_reported(cell_file, tmp_path, monkeypatch):
    mod = tracepack.load(cell_file[0])

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tracepack.serialization.archive.os.open", refuse)  # root may write anywhere
    with pytest.raises(tracepack.ArchiveError, match="cannot write the archive; got Permission denied"):
        mod.save(tmp_path / "a.tpk")
    assert list(tmp_path.iterdir()) == [cell_file[0]]


def test_an_interrupt_while_saving_leaves_nothing_behind(cell_file, monkeypatch):
    path = cell_file[0]
    before = path.read_bytes()
    mod = tracepack.load(path)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("tracepack.serialization.archive._write_member", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mod.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_no_pickle_and_no_unlisted_path(cell_file):
    with zipfile.ZipFile(cell_file[0]) as archive:
        names = archive.namelist()
        content = b"".join(archive.read(name) for name in names)
    assert set(names) == {MANIFEST, "graphs/main.msgpack", "graphs/op0.msgpack", WEIGHTS, "examples.safetensors"}
    assert str(cell_file[0].parent).encode() not in content
    assert os.path.dirname(__file__).encode() not in content


def test_a_large_model_keeps_its_weights_out_of_private_memory(tmp_path):
    op = tracepack.script(nn.Sequential(*(nn.Linear(1000, 1000) for _ in range(8))), name="large")
    path = tmp_path / "large.tpk"
    tracepack.trace(lambda x: op(x), torch.rand(1, 1000)).save(path)
    code = """
import sys, torch, tracepack
def private():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty"))
tracepack.load(sys.argv[2]); before = private(); mod = tracepack.load(sys.argv[1]); print((private() - before) / 1024)
"""
    small = tmp_path / "small.tpk"
    tracepack.trace(lambda x: x + 1, torch.rand(1)).save(small)
    out = subprocess.run(
        [sys.executable, "-c", code, str(path), str(small)], capture_output=True, text=True, check=True
    )
    assert float(out.stdout) < 5


def test_golden_examples_find_skew(cell_file, tmp_path):
    path, module, x, h = cell_file
    tracepack.load(path, verify="golden")
    with torch.no_grad():
        module.linear.bias[2] += 0.25
    op = tracepack.script(module)
    other = tracepack.trace(lambda x, h: op(x, h), x, h)
    other.save(tmp_path / "other.tpk", examples=[{"x": x, "h": h}])

    # The examples of one file over the weights of another: what an environment that computes otherwise would show.
    from tracepack.pipeline.store import verify_golden

    report = verify_golden(other, Archive(str(path)))
    assert not report.passed
    assert [output.name for output in report.outputs] == ["out[0]", "out[1]"]
    with torch.no_grad():
        gap = (module(x, h)[0] - tracepack.load(path)(x, h)[0]).abs().max().item()
    assert report.outputs[0].largest == pytest.approx(gap, rel=1e-6)
    with pytest.raises(
        tracepack.GoldenMismatchError, match=r"golden examples give other outputs here: out\[0\] differs by up to 0"
    ):
        report.require()


def test_an_altered_example_is_found_by_verify_all(cell_file):
    data = corrupt(cell_file[0].read_bytes(), "examples.safetensors")
    tracepack.load(data)
    for verify in ("all", "golden"):
        with pytest.raises(tracepack.ArchiveError, match="member 'examples.safetensors': a member was altered"):
            tracepack.load(data, verify=verify)


def test_examples_that_are_no_feeds_are_refused(tmp_path):
    mod, x = tracepack.trace(lambda x: x + 1, torch.ones(1)), torch.ones(1)
    for examples in ({"x": x}, [(x,)], [x]):
        with pytest.raises(tracepack.SignatureError, match="examples are a list of dicts like run's; got"):
            mod.save(tmp_path / "a.tpk", examples=examples)
    assert not (tmp_path / "a.tpk").exists()


def test_without_golden_examples_golden_verification_says_so(tmp_path):
    path = tmp_path / "a.tpk"
    tracepack.trace(lambda x: x + 1, torch.ones(1)).save(path)
    with pytest.raises(tracepack.GoldenMismatchError, match="the archive has no golden examples. Save it with save"):
        tracepack.load(path, verify="golden")


def test_golden_examples_of_every_kind(tmp_path):
    def process(x, n, words):
        return {"y": x * n, "v": x.max(0), "n": n + 1, "nan": x / 0 * 0}

    mod = tracepack.trace(process, torch.rand(3, 4), 2, "text")
    path = tmp_path / "a.tpk"
    mod.save(path, examples=[{"x": np.ones((2, 4), np.float32), "n": 5, "words": "text"}])
    tracepack.load(path, verify="golden")


def test_a_pipeline_made_of_a_loaded_op_saves_again(cell_file, reloaded):
    _, module, x, h = cell_file
    again = reloaded(reloaded(tracepack.load(cell_file[0])))
    assert torch.equal(again(x, h)[0], module(x, h)[0])


class Named(MyCell):
    """A subclass, so that its name shows."""


def test_two_ops_made_at_once_are_not_confused(reloaded):
    modules = [Named().eval() for _ in range(40)]
    ops = [tracepack.script(module) for module in modules]
    x = torch.rand(3, 4)
    mod = reloaded(tracepack.trace(lambda x: [op(x, x)[0] for op in ops], x))
    for result, module in zip(mod(x), modules, strict=True):
        assert torch.equal(result, module(x, x)[0])
