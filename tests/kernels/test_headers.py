"""Precompiled headers: made for the second kernel, never needed, and never older than their text."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tracepack.ops.kernels import cache
from tracepack.ops.kernels.toolchain import Toolchain, ToolchainError

GXX = shutil.which("g++")
FLAGS = ("-std=c++14", "-shared", "-fPIC", "-O1")
HEAD = "template <class T> static T twice(T x) { return 2 * x; }\n"

pytestmark = pytest.mark.skipif(GXX is None, reason="g++ is not installed, and only with it headers are precompiled")

Kernel = Callable[..., int]


@pytest.fixture
def headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "cache"))
    return cache.folder("headers")


@pytest.fixture
def kernel(headers: Path, tmp_path: Path) -> Kernel:
    """Compiles `f(x)` with an expression of its own, and returns its value at 5."""
    numbers = iter(range(100))

    def value(expression: str, head: str = HEAD, flags: tuple[str, ...] = FLAGS, compiler: str = GXX or "") -> int:
        library = tmp_path / f"kernel{next(numbers)}.so"
        code = f'extern "C" int f(int x) {{ return {expression}; }}'
        Toolchain("gcc", (compiler,), compiler).compile(code, library, flags, head=head)
        return int(ctypes.CDLL(str(library)).f(5))

    return value


def compiled(headers: Path) -> list[Path]:
    return sorted(headers.glob("*.gch"))


def test_the_second_kernel_makes_the_header_and_the_others_use_it(headers: Path, kernel: Kernel) -> None:
    assert kernel("twice(x)") == 10
    assert compiled(headers) == []
    assert kernel("twice(x) + 1") == 11
    (made,) = compiled(headers)
    assert made.read_bytes().startswith(b"gpch")
    cache.write_kept(made.with_suffix(""), b"#error the text was parsed")
    before = made.stat().st_mtime_ns
    assert kernel("twice(x) + 2") == 12
    assert made.stat().st_mtime_ns == before


def test_other_text_flags_or_compilers_have_a_header_of_their_own(
    headers: Path, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice_each(**options: object) -> set[int]:
        return {kernel("twice(x)", **options) for _ in range(2)}

    assert twice_each() == {10}
    assert twice_each(head=HEAD.replace("2 *", "3 *")) == {15}
    assert twice_each(head=HEAD.replace("2 *", "FACTOR *"), flags=(*FLAGS, "-DFACTOR=4")) == {20}
    assert twice_each(head=HEAD.replace("2 *", "FACTOR *"), flags=(*FLAGS, "-DFACTOR=5")) == {25}
    (tmp_path / "same").symlink_to(GXX or "")
    assert twice_each(compiler=str(tmp_path / "same")) == {10}
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    assert twice_each() == {10}
    assert len(compiled(headers)) == 6


@pytest.mark.parametrize("damage", ["emptied", "cut", "overwritten", "replaced", "one byte", "a folder"])
def test_a_damaged_header_changes_no_answer(headers: Path, kernel: Kernel, damage: str) -> None:
    assert [kernel("twice(x)") for _ in range(3)] == [10] * 3
    (made,) = compiled(headers)
    content, middle = made.read_bytes(), made.stat().st_size // 2
    made.unlink()
    if damage == "a folder":
        made.mkdir()
    else:
        made.write_bytes(
            {
                "emptied": b"",
                "cut": content[:middle],
                "overwritten": content[:4096] + bytes(len(content) - 4096),
                "replaced": b"no header at all",
                "one byte": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            }[damage]
        )
    assert [kernel(f"twice(x) + {n}") for n in range(3)] == [10, 11, 12]
    assert cache.holds(made)


def test_a_header_that_another_user_could_have_written_is_made_again(headers: Path, kernel: Kernel) -> None:
    assert [kernel("twice(x)") for _ in range(2)] == [10] * 2
    (made,) = compiled(headers)
    made.write_bytes(b"planted")
    made.chmod(0o666)
    assert kernel("twice(x)") == 10
    assert made.read_bytes().startswith(b"gpch")
    assert made.stat().st_mode & 0o777 == 0o600


def test_a_compiler_that_makes_no_header_is_not_asked_again(headers: Path, kernel: Kernel, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\ncase "$*" in *c++-header*) echo once >> {asked}; exit 1 ;; esac\nexec {GXX} "$@"\n')
    script.chmod(0o700)
    assert [kernel(f"twice(x) + {n}", compiler=str(script)) for n in range(4)] == [10, 11, 12, 13]
    assert asked.read_text(encoding="utf-8") == "once\n"
    assert compiled(headers) == []


def test_a_compiler_that_fails_on_its_own_header_gets_the_text(headers: Path, kernel: Kernel, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    script = tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-include*) echo once >> {tried}; exit 4 ;; esac\nexec {GXX} "$@"\n')
    script.chmod(0o700)
    assert [kernel(f"twice(x) + {n}", compiler=str(script)) for n in range(4)] == [10, 11, 12, 13]
    assert tried.read_text(encoding="utf-8") == "once\n"
    assert compiled(headers) == []


def test_a_refusal_names_the_place_in_the_code(headers: Path, kernel: Kernel) -> None:
    assert [kernel("twice(x)") for _ in range(2)] == [10] * 2
    with pytest.raises(ToolchainError, match=r"kernel\.cpp:2:\d+: error: .*missing_name"):
        kernel("missing_name")
    assert kernel("twice(x)") == 10
    assert len(compiled(headers)) == 1
