"""Kernels of the tests, built with the address and undefined-behaviour sanitizers; `make sanitize` takes all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracepack.ops.kernels.toolchain import find_toolchain, has_toolchain

HERE = Path(__file__).parent


def asan() -> str:
    """What to load before everything: g++'s address sanitizer, or an empty text.

    The C++ library comes with it, in which the sanitizer finds how exceptions are thrown; without it torch's end the
    process.
    """
    if not has_toolchain() or find_toolchain().family != "gcc":
        return ""
    paths = []
    for name in ("libasan.so", "libstdc++.so"):
        found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        paths.append(Path(found.stdout.strip()))
    return " ".join(map(str, paths)) if all(path.is_absolute() and path.exists() for path in paths) else ""


pytestmark = pytest.mark.skipif(not asan(), reason="g++ with its address sanitizer is not installed")


def sanitized(*arguments):
    environment = {
        **os.environ,
        "TRACEPACK_SANITIZE": "address,undefined",
        "LD_PRELOAD": asan(),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTEST_ADDOPTS": "",
    }
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_the_sanitizer_sees_a_read_outside(tmp_path):
    """A kernel that claims an index to be inside, so that the next test means something."""
    script = tmp_path / "outside.py"
    script.write_text("""
import torch
from dataclasses import replace
from tracepack.ops.comprehension.cpp.emitter import CppEmitter
from tracepack.ops.comprehension.expr.ir import integer, op, var
from tracepack.ops.comprehension import Options, define
layer = define("def f(float(N) A) -> (O) { O(i) = A(i) }")
a = torch.ones(64)
program = layer.plan([a]).program
nest = program.nests[0]
wrong = replace(nest.value, indices=(op("+", var("i"), integer(64)),))
program = replace(program, nests=(replace(nest, value=wrong),))
CppEmitter(program, Options("naive").resolve(program))([a])
""")
    done = sanitized(str(script))
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr


def test_kernels_at_the_ends_of_integers(tmp_path):
    test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "C++ and not analysis", str(HERE / "test_widths.py")]
    done = sanitized(*test)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
