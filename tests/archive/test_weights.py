"""The weights in a file: stored once, aligned, mapped rather than read, of every dtype and layout."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import safetensors.numpy
import torch
from torch import nn

import tracepack
from tests.archive.files import manifest_of, rewritten
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.container.schema import WEIGHTS


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
    from tracepack.ops.graph.traverse import constants

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


def test_weights_of_a_file_that_was_rewritten_in_place_are_not_kept(tmp_path):
    """Unaligned weights are copied, and the copy of the old ones was shared with what was loaded next."""
    path, plain = tmp_path / "a.tpk", tmp_path / "plain.tpk"
    loaded = []
    for factor in (2, 3):
        weight = torch.arange(4.0) * factor
        with pytest.warns(UserWarning, match="the default of 'weight' belongs to the pipeline"):
            mod = tracepack.trace(lambda x, weight=weight: x + weight, torch.ones(4))
        mod.save(plain)
        data = rewritten(plain, lambda manifest: None, padding=3)
        with open(path, "r+b" if loaded else "wb") as file:
            file.write(data)
        os.utime(path, ns=(10**18, 10**18))
        loaded.append(tracepack.load(path))
    assert path.stat().st_size == len(data)
    assert torch.equal(loaded[1](torch.zeros(4)), torch.arange(4.0) * 3)
