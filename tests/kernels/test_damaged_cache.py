"""Files of the cache that a full disk or a lost power supply damaged: each family makes them again, without a word."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracepack.ops.comprehension.cpp.library import compile_library, load_library
from tracepack.ops.kernels import cache
from tracepack.ops.kernels.toolchain import Toolchain, ToolchainError, open_library
from tracepack.ops.slang.compile import native_library, program, slangpy_tensors
from tracepack.ops.slang.language.sources import Source
from tracepack.ops.slang.language.specialization import Specialization
from tracepack.ops.slang.language.types import FunctionType, SlangType
from tracepack.ops.slang.launch import gradient_check, slangpy_device

CODE = 'extern "C" int answer() { return 42; }'
Damage = Callable[[Path], None]
Make = Callable[[], Any]
"""Makes what a family keeps, or finds it in the cache, and uses it."""


def emptied(path: Path) -> None:
    replaced(path, b"")


def halved(path: Path) -> None:
    content = path.read_bytes()
    replaced(path, content[: len(content) // 2])


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    replaced(path, bytes(content))


def foreign(path: Path) -> None:
    other = path.with_name(f"other{path.suffix}")
    cache.write_json(other, {"of": "another version"})
    replaced(path, other.read_bytes())
    replaced(path.with_name(f"{path.name}.sha256"), other.with_name(f"{other.name}.sha256").read_bytes())


def folder(path: Path) -> None:
    path.unlink()
    (path / "in it").mkdir(parents=True)


def replaced(path: Path, content: bytes) -> None:
    """Another file of the same name: the library may be in use by this process."""
    path.unlink()
    path.write_bytes(content)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what compilers were asked for."""
    found: list[str] = []
    compiled = Toolchain.compile

    def compile_noted(self: Toolchain, code: str, target: Path, flags: Any, *more: Any) -> None:
        found.append(target.name)
        compiled(self, code, target, ["-shared", "-fPIC", "-O0"])

    def ask(**request: Any) -> dict[str, Any]:
        found.append(request["do"])
        if request["do"] == "module":
            Path(request["target"]).write_bytes(b"a module" * 100)
        return {"functions": {}, "members": {"f": "function"}, "globals": []}

    monkeypatch.setattr(Toolchain, "compile", compile_noted)
    monkeypatch.setattr(native_library, "finish_code", lambda code, *_: ("", code))
    monkeypatch.setattr(program, "ask", ask)
    monkeypatch.setattr(slangpy_tensors, "ask", ask)
    monkeypatch.setattr(gradient_check, "_judge", lambda *_: found.append("judge") or {"repair": "", "wrong": []})
    return found


def library_of_a_comprehension() -> int:
    return int(load_library(compile_library(CODE)).answer())


def library_of_slang() -> int:
    return int(open_library(native_library.native_library(("a part",), "answer", lambda: CODE)).answer())


def types_of_slang() -> dict[str, str]:
    return program.Program(Source("module", "float f(float x) { return x; }")).members


def module_of_slangpy() -> bytes:
    return (slangpy_tensors.tensor_module(one_thread=True) / "slangpy.slang-module").read_bytes()


def verdict_on_a_gradient() -> str:
    source = Source("module", "float3 f(float3 x) { return x; }")
    spec = Specialization(FunctionType("f", (), SlangType("void", "void")), ())
    return gradient_check.repair_for(source, spec, [], (1,), None)


FAMILIES = {
    library_of_a_comprehension: "*.so",
    library_of_slang: "*.so",
    types_of_slang: "types/*.json",
    module_of_slangpy: "*.slang-module",
    verdict_on_a_gradient: "checks/*.json",
}


@pytest.mark.parametrize("damage", [emptied, halved, changed, foreign, folder], ids=lambda each: each.__name__)
@pytest.mark.parametrize("make", FAMILIES, ids=lambda each: each.__name__)
def test_a_damaged_file_is_made_again(
    make: Make, damage: Callable[[Path], None], tmp_path: Path, made: list[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = make()
        assert make() == wanted
        assert len(made) == 1
        (kept,) = tmp_path.rglob(FAMILIES[make])
        whole = kept.read_bytes()
        damage(kept)
        assert make() == wanted
        assert kept.read_bytes() == whole
        assert len(made) == 2
        assert make() == wanted
        assert len(made) == 2


def test_a_lost_or_damaged_digest_costs_one_compilation(tmp_path: Path, made: list[str]) -> None:
    for number, damage in enumerate((Path.unlink, emptied, folder), start=2):
        library_of_a_comprehension()
        (digest,) = tmp_path.rglob("*.so.sha256")
        damage(digest)
        cache._whole.clear()  # as in another process
        assert library_of_a_comprehension() == 42
        assert len(made) == number


def test_a_file_in_place_of_a_folder_gives_way(tmp_path: Path, made: list[str]) -> None:
    (tmp_path / "comprehension").write_text("no folder")
    (tmp_path / "slang").symlink_to(tmp_path / "nowhere")
    assert library_of_a_comprehension() == library_of_slang() == 42


def test_a_library_that_the_system_refuses_is_a_typed_error(tmp_path: Path) -> None:
    cache.write_kept(tmp_path / "whole.so", b"no library")
    with pytest.raises(ToolchainError, match=r"a compiled library cannot be loaded: .*whole\.so.* Set TRACEPACK_CACHE"):
        open_library(tmp_path / "whole.so")


@pytest.mark.parametrize(("pages", "kept"), [(5, True), (4, False), (2, False)])
def test_shaders_that_end_too_early_are_removed(pages: int, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of SlangPy's compiled shaders is mapped to memory: reading after its end ends the process."""
    monkeypatch.setattr(slangpy_device, "version", lambda: "1")
    database = slangpy_device._shader_cache("vulkan") / "rhi" / "data.mdb"
    database.parent.mkdir()
    head = bytearray(4096)
    struct.pack_into("<I", head, 40, 4096)
    last = bytearray(head)
    struct.pack_into("<Q", last, 136, 4)
    database.write_bytes((head + last + bytes(4096 * 3))[: 4096 * pages])
    slangpy_device._shader_cache("vulkan")
    assert database.exists() is kept
