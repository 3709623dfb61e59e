"""Where a compiler or its libraries cannot be used here: a layer runs on torch's operators, and says so once."""

from __future__ import annotations

import re
import resource
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tracepack.ops.comprehension import ComprehensionWarning, define
from tracepack.ops.comprehension.kernel import ARTIFACT, ComprehensionKernel
from tracepack.ops.comprehension.run import select
from tracepack.ops.kernels import cache, toolchain

SAID = r"^a comprehension runs on torch's operators: "


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(select, "_HERE", select.Artifacts(trusted=True))
    toolchain.find_toolchain.cache_clear()
    yield
    monkeypatch.undo()
    toolchain.find_toolchain.cache_clear()


def layer() -> Any:
    return define("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")


def check(made: Any, rows: int) -> None:
    a, b = torch.randn(rows, 4, requires_grad=True), torch.randn(4, 5)
    found = made(a, b, options="conv")
    torch.testing.assert_close(found, a @ b, rtol=1e-4, atol=1e-5)
    found.sum().backward()
    torch.testing.assert_close(a.grad, b.sum(1).expand(rows, 4), rtol=1e-4, atol=1e-5)


def runs_and_says(reason: str) -> None:
    made = layer()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (3, 3, 6):
            check(made, rows)
    (only,) = [w for w in said if issubclass(w.category, ComprehensionWarning)]
    assert re.search(SAID + reason, str(only.message)), only.message


def compiler(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a script the compiler of this process."""
    (folder / "own-c++").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "own-c++").chmod(0o700)
    monkeypatch.setenv("CXX", str(folder / "own-c++"))
    toolchain.find_toolchain.cache_clear()


def test_a_compiler_that_always_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, "echo own-c++: no licence today >&2; echo a second line >&2; exit 1", monkeypatch)
    runs_and_says(r"the C\+\+ compiler .*own-c\+\+ cannot work here: own-c\+\+: no licence today\. Does it compile")


def test_a_compiler_that_the_system_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, "", monkeypatch)
    (tmp_path / "own-c++").write_bytes(b"\0 of another machine")
    runs_and_says(r"the C\+\+ compiler .*own-c\+\+ cannot work here: .*Exec format error")


def test_a_compiler_that_was_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file would compile: the memory ends with the kernel's."""
    command = toolchain.find_toolchain().command[0]
    said = "g++: fatal error: Killed signal terminated program cc1plus"
    ends = f'*kernel.cpp) test -s "$word" && echo {said} >&2 && exit 1'
    compiler(tmp_path, f'for word; do case "$word" in {ends};; esac; done; exec {command} "$@"', monkeypatch)
    runs_and_says(rf"the C\+\+ compiler .* cannot work here: {re.escape(said)}")


def test_no_folder_for_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    runs_and_says(r"compiled code cannot be kept: .*cache cannot be written .* Set TRACEPACK_CACHE to a folder of")


def test_a_full_disk(tmp_path: Path) -> None:
    cache.folder("comprehension")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        runs_and_says(r"compiled code cannot be kept in .*: File too large\. Set TRACEPACK_CACHE to a folder of")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(layer(), 7)  # with space again, it compiles
    assert list((tmp_path / "cache" / "comprehension").glob("*.so"))


def test_a_folder_from_which_no_code_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> None:
        raise OSError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(toolchain.ctypes, "CDLL", refused)
    runs_and_says(r"a compiled library cannot be loaded: .*failed to map segment.* Set TRACEPACK_CACHE")


def test_a_compiler_has_a_place_for_its_files_without_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_folder() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    command = toolchain.find_toolchain().command[0]
    compiler(tmp_path, f'test "$TMPDIR" = {tmp_path}/cache && exec {command} "$@"', monkeypatch)
    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(layer(), 3)
    assert list((tmp_path / "cache" / "comprehension").glob("*.so"))


def test_an_archive_with_libraries_loads_without_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = ComprehensionKernel(layer())
    assets = {**kernel.assets(), f"{ARTIFACT}of-another-machine.so": b"code"}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    built = ComprehensionKernel.build_trusted(kernel.description(), assets)
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    torch.testing.assert_close(built(a, b), a @ b, rtol=1e-4, atol=1e-5)
