"""The cache on disk, the compiler's process, and the C++ compilers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from tracepack.ops import slang
from tracepack.ops.kernels import cache_files as cache
from tracepack.ops.kernels import toolchain
from tracepack.ops.slang.compile import client as service
from tracepack.ops.slang.compile import program
from tracepack.ops.slang.language.sources import read_source

SOURCE = "float cached(float x) { return x + 40; }"


def files(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in directory.rglob("*.so")}


def test_nothing_is_compiled_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    first = program.Program(read_source(SOURCE))
    assert slang.SlangModule(first).cached(torch.ones(1)).tolist() == [41.0]
    before = files(tmp_path)
    assert len(before) == 1

    def refuse(**request: object) -> dict[str, object]:
        raise AssertionError(request)

    monkeypatch.setattr(program, "ask", refuse)
    again = slang.SlangModule(program.Program(read_source(SOURCE)))
    assert again.cached(torch.ones(1)).tolist() == [41.0]
    assert files(tmp_path) == before


def test_the_key_holds_source_compilers_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_source(SOURCE).key != read_source(SOURCE + " ").key
    assert cache.key("a", "b") != cache.key("a", "c")
    assert cache.processor()
    assert toolchain.find_toolchain().identity


def test_a_file_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "types.json"
    path.write_bytes(b'{"functions": {')
    assert cache.read_json(path) is None
    cache.write_json(path, {"a": 1})
    assert cache.read_json(path) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_compiler_that_crashes_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started = service.Service()
    monkeypatch.setattr(service, "_START", "import sys; sys.stdin.readline(); import os; os.abort()")
    with pytest.raises(slang.SlangCompileError, match="the Slang compiler crashed on this source"):
        started.ask(arguments=[], do="code")


def test_a_compiler_that_never_comes_back_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started = service.Service()
    monkeypatch.setattr(service, "_START", "import time; time.sleep(60)")
    monkeypatch.setattr(service, "TIMEOUT", 0.2)
    with pytest.raises(slang.SlangCompileError, match="did not come back within"):
        started.ask(arguments=[], do="code")


def test_slang_still_compiles_after_an_error() -> None:
    with pytest.raises(slang.SlangCompileError):
        slang.load("float f(float x) { return y; }")
    assert slang.load("float after(float x) { return x; }").after(2.0) == 2.0


@pytest.mark.campaign
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
def test_zig_compiles_where_there_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    found = toolchain.find_toolchain.__wrapped__()
    assert found.name == "zig"
    found.compile('extern "C" int answer() { return 42; }', tmp_path / "answer.so")
    assert (tmp_path / "answer.so").exists()


BARE = """
import shutil, numpy as np, slangpy as spy, torch
from tracepack.ops import slang
assert not any(map(shutil.which, ("g++", "clang++", "c++")))
module, x = slang.load("[Differentiable] float f(float x) { return exp(x); }"), torch.randn(5, requires_grad=True)
module.f(x).sum().backward()
torch.testing.assert_close(x.grad, x.detach().exp())
device = slang.create_device("cpu")
twice = slang.load("float f(float x) { return 2 * x; }", device).f
print(twice(spy.Tensor.from_numpy(device, np.ones(3, np.float32)), _result="numpy"))
"""


@pytest.mark.campaign
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
def test_zig_alone_serves_a_bare_machine(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "TRACEPACK_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = ":".join(filter(None, sys.path))
    done = service.subprocess.run(
        [sys.executable, "-c", BARE], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.strip() == "[2. 2. 2.]", done.stderr
    assert "so zig builds its C++ library first; this once takes a minute or two\n" in done.stderr
    assert done.stderr.rstrip().endswith("done")


def test_slangs_own_device_finds_zig_by_the_name_of_gxx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    announced: list[str] = []
    zig = toolchain.Toolchain("zig", ("echo", "zig c++"), "1", ("-O3", "-march=native", "-target", "x86_64-linux-gnu"))
    monkeypatch.setattr(toolchain, "find_toolchain", lambda: zig)
    monkeypatch.setattr(toolchain.Toolchain, "announce", lambda self: announced.append(self.name))
    toolchain.put_on_path()
    toolchain.put_on_path()
    assert announced == ["zig", "zig"]
    assert toolchain.os.environ["PATH"] == f"{tmp_path}/slang/zig/bin:/bin:/usr/bin"
    run = service.subprocess.run(["g++", "-v"], capture_output=True, text=True, check=True)
    assert run.stderr.startswith("gcc version")
    run = service.subprocess.run(["g++", "a file.cpp"], capture_output=True, text=True, check=True)
    assert run.stdout == "zig c++ -march=native -target x86_64-linux-gnu a file.cpp\n"


def test_the_compilers_process_needs_no_torch() -> None:
    code = "import sys, tracepack.ops.slang.worker; assert 'torch' not in sys.modules"
    done = service.subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
