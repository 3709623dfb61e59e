"""A cache that is filled and cannot be written, as of an image with a read-only file system, is read."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tracepack.ops import slang
from tracepack.ops.kernels import cache, toolchain
from tracepack.ops.slang.compile import client, program
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.language.sources import read_source

SOURCE = 'import "slangpy";\n[Differentiable] float f(float a) { return a * a + 3 * sin(a); }'


def made_read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing fails as on such a file system, for root as well, and nothing compiles."""
    real = os.open

    def refused(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).startswith(str(folder)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system", str(path))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(toolchain.Toolchain, "compile", lambda *_: pytest.fail("a library was compiled"))
    monkeypatch.setattr(client._service, "ask", lambda **_: pytest.fail("Slang compiled"))
    cache._found.clear()
    cache._whole.clear()


def check(function: Callable[[torch.Tensor], Any], expected: Callable[[torch.Tensor], torch.Tensor]) -> None:
    a = torch.randn(7, requires_grad=True)
    found, wanted = function(a), expected(a)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), a), torch.autograd.grad(wanted.sum(), a))


def comprehension() -> None:
    layer = tracepack.comprehension.define("def warm(float(N) A) -> (B) { B(i) = A(i) * A(i) + 5.0 }")
    check(layer, lambda a: a * a + 5)


def slang_function() -> None:
    module = slang.SlangModule(program.Program(read_source(SOURCE)))
    check(module.f, lambda a: a * a + 3 * a.sin())
    tensor_module(one_thread=True)


@pytest.mark.parametrize("run", [comprehension, slang_function])
def test_what_it_holds_is_used_without_a_word(
    run: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    run()
    made_read_only(tmp_path, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()


def test_what_it_lacks_goes_to_a_folder_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    cache.write_kept(cache.place("kind", "held"), b"code")
    made_read_only(tmp_path, monkeypatch)
    assert cache.place("kind", "held") == tmp_path / "kind" / "held"
    with pytest.warns(UserWarning, match=r"kept for this process only: .* \(Read-only file system\)\. Set TRACE"):
        lacking = cache.place("kind", "lacking")
    assert tmp_path not in lacking.parents
    shutil.rmtree(lacking.parents[1])


def test_a_damaged_file_in_it_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    held = cache.place("kind", "held")
    cache.write_kept(held, b"code")
    held.write_bytes(b"cod")
    made_read_only(tmp_path, monkeypatch)
    with pytest.warns(UserWarning, match="kept for this process only"):
        found = cache.place("kind", "held")
    assert tmp_path not in found.parents
    shutil.rmtree(found.parents[1])


@pytest.mark.parametrize("owner", ["root", "another"])
def test_a_cache_of_root_is_read_and_one_of_another_user_is_not(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "cache"))
    held = cache.place("kind", "held")
    cache.write_kept(held, b"code")
    mine = os.getuid()
    monkeypatch.setattr(cache, "_ROOT", mine if owner == "root" else -1)
    monkeypatch.setattr(cache.os, "getuid", lambda: mine + 1)
    cache._found.clear()
    if owner == "root":
        assert cache.place("kind", "held") == held
        return
    with pytest.warns(UserWarning, match="belongs to another user"):
        found = cache.place("kind", "held")
    assert tmp_path not in found.parents
    shutil.rmtree(found.parents[1])
