"""A Slang function where compiled code cannot be made or kept: one error of ours that says what to set."""

from __future__ import annotations

import resource
import shutil
import tempfile
from pathlib import Path

import pytest
import torch

import tracepack
from tracepack.ops.kernels import cache, toolchain
from tracepack.ops.kernels.cache import CacheFolderError
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.language.errors import CompilerNotFoundError


def call(number: int) -> list[float]:
    found: torch.Tensor = tracepack.slang.load(f"float f(float x) {{ return x * {number}; }}").f(torch.tensor([2.0]))
    return found.tolist()


def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(CacheFolderError, match=r"cannot be kept: .*file cannot be written .* Set TRACEPACK_CACHE to a"):
        call(401)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    cache.folder("slang")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(CacheFolderError, match=r"kept in .*: File too large\. Set TRACEPACK_CACHE to a folder of"):
            call(402)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert call(402) == [804.0]


def test_a_compiler_that_cannot_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "false")
    toolchain.find_toolchain.cache_clear()
    try:
        with pytest.raises(
            CompilerNotFoundError,
            match=r"the C\+\+ compiler .*false cannot work here: no message, and Slang's CPU kernels need one\. Does",
        ):
            call(403)
    finally:
        toolchain.find_toolchain.cache_clear()


def test_a_folder_that_is_removed_between_two_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "kept"))
    assert call(404) == [808.0]
    compiled = tensor_module(one_thread=True) / "slangpy.slang-module"
    assert compiled.is_file()
    shutil.rmtree(tmp_path / "kept")
    assert call(405) == [810.0]
    assert tensor_module(one_thread=True) / "slangpy.slang-module" == compiled
    assert compiled.is_file()
