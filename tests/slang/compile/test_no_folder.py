"""A Slang function where compiled code cannot be made or kept: one error of ours that says what to set."""

from __future__ import annotations

import resource
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tracepack.ops.kernels import cache, toolchain
from tracepack.ops.kernels.cache import CacheFolderError
from tracepack.ops.slang.compile import native_library
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.language.errors import CompilerNotFoundError
from tracepack.ops.slang.launch import slangpy_device


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


@pytest.mark.campaign  # it builds SlangPy's own module twice
def test_a_folder_that_is_removed_between_two_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "kept"))
    assert call(404) == [808.0]
    compiled = tensor_module(one_thread=True) / "slangpy.slang-module"
    assert compiled.is_file()
    shutil.rmtree(tmp_path / "kept")
    assert call(405) == [810.0]
    assert tensor_module(one_thread=True) / "slangpy.slang-module" == compiled
    assert compiled.is_file()


def no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)


def zig(folder: Path, script: str) -> toolchain.Toolchain:
    (folder / "zig").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "zig").chmod(0o700)
    return toolchain.Toolchain("zig", (str(folder / "zig"),), "1")


def test_zig_builds_its_library_in_the_cache_where_there_is_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "cache"))
    no_temporary_folder(monkeypatch)
    native_library.prepare(zig(tmp_path, f'echo "$TMPDIR $*" > {tmp_path}/seen'))
    assert "zig builds its C++ library first" in capsys.readouterr().err
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert seen.startswith(f"{tmp_path}/cache c++ ")
    assert f"-o {tmp_path}/cache/slang/zig/" in seen
    assert sorted(path.name for path in (tmp_path / "cache" / "slang" / "zig").iterdir()) == ["ready"]


def test_zig_without_any_folder_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "file"))
    no_temporary_folder(monkeypatch)
    with pytest.raises(CacheFolderError, match=r"cannot be kept: .*file cannot be written .* Set TRACEPACK_CACHE to a"):
        native_library.prepare(zig(tmp_path, "exit 1"))


def test_a_zig_that_cannot_be_started_is_said_by_the_kernels_own_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "cache"))
    found = zig(tmp_path, "")
    (tmp_path / "zig").write_bytes(b"\0 of another machine")
    monkeypatch.setattr(native_library, "find_toolchain", lambda: found)
    with pytest.raises(CompilerNotFoundError, match=r"zig cannot work here: .*Exec format error.*Slang's CPU kernels"):
        call(406)


@pytest.mark.campaign  # it compiles for two devices
def test_a_device_of_slangpy_outlives_the_folder_of_its_shaders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = pytest.importorskip("slangpy")
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "kept"))
    device = tracepack.slang.create_device("cpu")
    for number in (2, 3):
        text = f'import "slangpy"; [Differentiable] float f(float x) {{ return x * {number}; }}'
        module = tracepack.slang.load(text)
        x = spy.Tensor.from_numpy(device, np.array([1, 2], np.float32)).with_grads(zero=True)
        y = module.f(x, _result="tensor").with_grads()
        y.grad.copy_from_numpy(np.ones(2, np.float32))
        module.f.bwds(x, _result=y)
        assert y.to_numpy().tolist() == [number, 2 * number]
        assert x.grad.to_numpy().tolist() == [number] * 2
        shutil.rmtree(tmp_path / "kept")


def test_a_shader_of_slangpys_device_that_is_damaged_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    folder = slangpy_device.cpu_shaders()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "atomics.slang").write_bytes(b"")
    (folder / "core.slang").unlink()
    assert slangpy_device.cpu_shaders() == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
