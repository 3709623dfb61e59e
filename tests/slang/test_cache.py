"""The cache on disk, the compiler's process, and the C++ compilers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tracepack.ops import slang
from tracepack.ops.kernels import cache, toolchain
from tracepack.ops.kernels.cpu import processor
from tracepack.ops.slang.compile import client as service
from tracepack.ops.slang.compile import native_library, program, slangc
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.language.sources import Source, read_source
from tracepack.ops.slang.launch import slangpy_device

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
    assert processor()
    assert toolchain.find_toolchain().identity


def test_a_file_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "types.json"
    path.write_bytes(b'{"functions": {')
    assert cache.read_json(path) is None
    cache.write_json(path, {"a": 1})
    assert cache.read_json(path) == {"a": 1}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["types.json", "types.json.sha256"]


def test_a_compiler_that_crashes_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started = service.Service()
    monkeypatch.setattr(service, "_START", "import sys; sys.stdin.readline(); import os; os.abort()")
    with pytest.raises(slang.SlangCompileError, match="the Slang compiler crashed on this source"):
        started.ask(arguments=[], do="code")


def test_a_compiler_that_never_comes_back_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started = service.Service()
    monkeypatch.setattr(service, "_START", "import time; time.sleep(60)")
    monkeypatch.setattr(service, "TIMEOUT", 0.2)
    with pytest.raises(slang.SlangCompileError, match="did not return within"):
        started.ask(arguments=[], do="code")


def test_slang_still_compiles_after_an_error() -> None:
    with pytest.raises(slang.SlangCompileError):
        slang.load("float f(float x) { return y; }")
    assert slang.load("float after(float x) { return x; }").after(2.0) == 2.0


def test_slangs_own_device_is_told_zig_by_the_name_of_gxx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SlangPy's CPU device starts g++ by name; the PATH is the user's, so the error says what to put there."""
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    zig = tmp_path / "zig"
    zig.write_text('#!/bin/sh\necho zig "$@"\n')
    zig.chmod(0o700)
    monkeypatch.setattr(native_library, "prepare", lambda toolchain: None)
    found = toolchain.Toolchain("zig", (str(zig),), "1")
    monkeypatch.setattr(slangpy_device, "slang_toolchain", lambda: found)
    monkeypatch.setattr(slangpy_device.shutil, "which", lambda name: None)
    before = os.environ["PATH"]
    with pytest.raises(slang.CompilerNotFoundError, match=r"the PATH has neither; .* PATH=\"(.*):\$PATH\"") as caught:
        slang.create_device("cpu")
    assert os.environ["PATH"] == before
    folder = caught.value.fix.split('"')[1].removesuffix(":$PATH")
    run = service.subprocess.run([f"{folder}/g++", "-v"], capture_output=True, text=True, check=True)
    assert run.stderr.startswith("gcc version")
    run = service.subprocess.run([f"{folder}/g++", "a file.cpp"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("zig c++ -march=native -target ")
    assert run.stdout.endswith("a file.cpp\n")


def test_the_compilers_process_needs_no_torch() -> None:
    code = "import sys, tracepack.ops.slang.compile.worker; assert 'torch' not in sys.modules"
    done = service.subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_compiler_that_holds_much_memory_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = "from tracepack.ops.slang.compile import worker; worker.MOST_MEMORY = 0; "
    monkeypatch.setattr(service, "_START", service._START.replace("from tracepack", limit + "from tracepack", 1))
    started = service.Service()
    for number in range(2):
        source = tmp_path / f"s{number}.slang"
        source.write_text(f"[numthreads(1, 1, 1)] void f{number}() {{}}")
        found = started.ask(do="code", arguments=slangc.arguments_for(source, [], entry=f"f{number}"))
        assert f"f{number}" in found["code"]
        assert started._process is None


def test_what_the_users_process_holds_is_not_the_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = f"from tracepack.ops.slang.compile import worker; worker.MOST_MEMORY = {250 << 20}; "
    monkeypatch.setattr(service, "_START", service._START.replace("from tracepack", limit + "from tracepack", 1))
    model = torch.ones(300 << 18)
    started = service.Service()
    for number in range(2):
        source = tmp_path / f"s{number}.slang"
        source.write_text(f"[numthreads(1, 1, 1)] void f{number}() {{}}")
        started.ask(do="code", arguments=slangc.arguments_for(source, [], entry=f"f{number}"))
        assert started._process is not None
    started._stop()
    assert model.nbytes > 250 << 20


def test_modules_that_share_slangpys_own_compile_as_they_do_alone(tmp_path: Path) -> None:
    """Nothing of one module, an operator, an extension or a type of the same name, is seen by the next one."""
    text = """import "slangpy";
struct Pair {{ float low; float{size} high; }};
Pair operator+(Pair a, Pair b) {{ Pair r; r.low = a.low + {factor} * b.low; r.high = a.high; return r; }}
extension float {{ float scaled() {{ return this * {factor}; }} }}
float first(ITensor<float3x2, 1> x) {{ return x[0][1][1]; }}
[shader("compute")] [numthreads(1, 1, 1)]
void entry(uint64_t at, float* y, Pair* p, float3x2 m)
{{ p[at] = p[at] + p[at]; y[at] = y[at].scaled() + mul(m, float2(1, {factor})).x; }}
"""
    folder = tensor_module(one_thread=True)
    shared, alone = service.Service(), service.Service()
    for factor, size in ((2, 3), (5, 4), (2, 3)):
        unit = tmp_path / f"unit{factor}.slang"
        unit.write_text(text.format(factor=factor, size=size))
        own = slangc.arguments_for(unit, [folder], entry="entry")
        wanted = alone.ask(arguments=own, do="code")
        common = slangc.arguments_in_session(unit, entry="entry")
        assert shared.ask(arguments=common, session=str(folder), do="code") == wanted
    alone._stop()
    unit = tmp_path / "last.slang"
    unit.write_text('import "slangpy";\n[shader("compute")] void entry(float* y) { y[0] = y[0].scaled(); }')
    with pytest.raises(slang.SlangCompileError, match="'scaled' is not a member of 'float'"):
        shared.ask(arguments=slangc.arguments_in_session(unit, entry="entry"), session=str(folder), do="code")


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ('import "slangpy";\nfloat f(float x) { return x; }', True),
        ("import slangpy;\nfloat f(float x) { return x; }", True),
        ("float f(float x) { return x; }", False),
        ("import slangpy;\nimport other;", False),
        ('import slangpy;\n#include "/a/file.h"', False),
        ("import slangpy;\n#include </a/file.h>", False),
        ("module mine;\nimport slangpy;", False),
    ],
)
def test_only_a_module_that_reads_no_other_file_shares_slangpys_own(text: str, alone: bool) -> None:
    assert Source("module", text).is_slangpy_alone is alone


def test_a_session_that_fails_is_left_for_a_compilation_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(**request: Any) -> dict[str, Any]:
        asked.append("session" in request)
        if asked[-1]:
            raise slang.SlangCompileError("the Slang compiler crashed on this source")
        return answer(**request)

    answer = program.ask
    monkeypatch.setattr(program, "ask", ask)
    x = torch.rand(2, 3)
    module = slang.load('import "slangpy";\nfloat place(ITensor<float, 2> x) { return x[1, 2]; }')
    assert module.place(x) == x[1, 2]
    assert asked == [True, False] * 2
