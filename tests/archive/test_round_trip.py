"""What is saved comes back, from any source."""

from __future__ import annotations

import cmath
import io
import os
import subprocess
import sys

import pytest
import torch

import tracepack
from tests.models import MyCell


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


def test_a_pipeline_made_of_a_loaded_op_saves_again(cell_file, reloaded):
    _, module, x, h = cell_file
    again = reloaded(reloaded(tracepack.load(cell_file[0])))
    assert torch.equal(again(x, h)[0], module(x, h)[0])


class Named(MyCell):
    """A subclass, so that its name shows."""


def test_two_ops_made_at_once_are_not_confused(reloaded):
    modules = [Named().eval() for _ in range(8)]
    ops = [tracepack.script(module) for module in modules]
    x = torch.rand(3, 4)
    mod = reloaded(tracepack.trace(lambda x: [op(x, x)[0] for op in ops], x))
    for result, module in zip(mod(x), modules, strict=True):
        assert torch.equal(result, module(x, x)[0])


def test_a_guard_on_a_complex_number_or_a_long_integer(tmp_path):
    def process(f, n):
        return cmath.exp(1j * f), list(range(n, n + 2))[1]

    path = tmp_path / "guards.tpk"
    tracepack.trace(process, 2.5, 2**70).save(path)
    loaded = tracepack.load(path)
    assert loaded(2.5, 2**70) == process(2.5, 2**70)
    with pytest.raises(tracepack.GuardError, match="plain complex number; got 3.5j"):
        loaded(3.5, 2**70)
