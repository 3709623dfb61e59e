"""The one C++ compiler: which is found, and that both families of kernels compile where only one is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from tracepack.ops.kernels import cache, toolchain
from tracepack.ops.kernels.toolchain import NoToolchainError, ToolchainError, find_toolchain

ORDER = ("own", "g++", "clang++", "c++", "zig")


@pytest.fixture
def compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a program under each name, and CXX naming one that no list holds."""
    for name in ORDER:
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} 1.0\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "own -m64")
    monkeypatch.setattr(toolchain.util, "find_spec", lambda name: None)
    return tmp_path


def test_the_order_is_cxx_gxx_clang_cxx_zig(compilers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ORDER:
        found.append(find_toolchain.__wrapped__().command)
        (compilers / name).unlink()
    assert found == [(f"{compilers}/own", "-m64"), *((f"{compilers}/{name}",) for name in ORDER[1:])]
    with pytest.raises(NoToolchainError, match=r"no C\+\+ compiler was found on this machine\. Install g\+\+ or clang"):
        find_toolchain.__wrapped__()
    monkeypatch.setattr(toolchain, "find_toolchain", find_toolchain.__wrapped__)
    assert not toolchain.has_toolchain()
    assert toolchain.compiler_version() == "none"


def test_the_family_is_that_of_the_file_behind_the_name(compilers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX")
    assert find_toolchain.__wrapped__().family == "gcc"
    (compilers / "g++").unlink()
    (compilers / "g++").symlink_to(compilers / "clang++")  # as on a Mac
    assert find_toolchain.__wrapped__().family == "clang"
    for name in ("g++", "clang++", "c++"):
        (compilers / name).unlink()
    zig = find_toolchain.__wrapped__()
    assert (zig.family, zig.version) == ("zig", "zig zig 1.0")


def test_another_compiler_has_another_identity(compilers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX")
    before = find_toolchain.__wrapped__().identity
    (compilers / "g++").write_text("#!/bin/sh\necho of another release\n")
    assert find_toolchain.__wrapped__().identity != before


def test_a_refusal_keeps_what_the_compiler_named(tmp_path: Path) -> None:
    with pytest.raises(
        ToolchainError, match=r"refused generated code: kernel\.cpp:1:\d+: error: .*missing_name"
    ) as got:
        find_toolchain().compile("int f() { return missing_name; }", tmp_path / "f.so", ["-shared", "-fPIC"])
    assert "missing_name" in got.value.log
    assert list(tmp_path.iterdir()) == []


def test_a_library_is_trusted_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        find_toolchain().compile("int f() { return 1; }", tmp_path / "f.so", ["-shared", "-fPIC"])
    finally:
        os.umask(before)
    assert cache.holds(tmp_path / "f.so")


BOTH = """
import os, warnings
import torch, tracepack as tp
from tracepack.ops.kernels.toolchain import find_toolchain
from tracepack.ops.slang import load
warnings.simplefilter("error")
before = os.environ["PATH"]
x = torch.randn(1000, requires_grad=True)
load("[Differentiable] float f(float x) { return exp(x) * x; }").f(x).sum().backward()
torch.testing.assert_close(x.grad, x.detach().exp() * (1 + x.detach()))
a, b = torch.randn(130, 65), torch.randn(65, 97)
product = tp.comprehension.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
torch.testing.assert_close(product(a, b, options="conv"), a @ b, rtol=1e-4, atol=1e-4)
waves = tp.comprehension.define("def f(float(M,K) A) -> (C) { C(m,k) = sin(A(m,k)) + log(abs(A(m,k))) }")
torch.testing.assert_close(waves(a, options="conv"), a.sin() + a.abs().log(), rtol=1e-5, atol=1e-5)
assert os.environ["PATH"] == before
print(find_toolchain().family)
"""


def compile_both(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a kernel of each family in a process whose PATH is a folder; a family that falls back warns, and fails."""
    home = {
        "HOME": str(folder),
        "TRACEPACK_CACHE": str(folder / "cache"),
        "PYTHONPATH": ":".join(filter(None, sys.path)),
    }
    return subprocess.run(
        [sys.executable, "-c", BOTH], capture_output=True, text=True, check=False, env={"PATH": str(folder), **home}
    )


@pytest.mark.skipif(shutil.which("clang++") is None, reason="clang++ is not installed")
@pytest.mark.skipif(util.find_spec("slangpy") is None, reason="the extra 'slang' is not installed")
def test_clang_alone_serves_both_families(tmp_path: Path) -> None:
    for name in ("clang++", "ld"):  # a compiler starts its linker by name
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = compile_both(tmp_path)
    assert done.stdout == "clang\n", done.stderr


@pytest.mark.campaign  # zig builds its C++ library first, which takes minutes
@pytest.mark.skipif(util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
@pytest.mark.skipif(util.find_spec("slangpy") is None, reason="the extra 'slang' is not installed")
def test_zig_alone_serves_both_families(tmp_path: Path) -> None:
    done = compile_both(tmp_path)
    assert done.stdout == "zig\n", done.stderr
    assert "so zig builds its C++ library first; this once takes a minute or two\n" in done.stderr
    assert done.stderr.rstrip().endswith("done")
