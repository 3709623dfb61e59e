"""Kernels of the tests, built with the address and undefined-behaviour sanitizers; `make sanitize` takes all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.comprehensions import sanitizer

HERE = Path(__file__).parent


pytestmark = pytest.mark.skipif(not sanitizer.sanitized(), reason="g++ with its address sanitizer is not installed")


def sanitized(*arguments):
    environment = {
        **os.environ,
        **sanitizer.sanitized(),
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


def test_lanes_behind_an_end_read_nothing(tmp_path):
    """There the condition holds again, for an element that is none: 16 lanes for the 4 of an axis."""
    script = tmp_path / "lanes.py"
    script.write_text("""
import torch
from tracepack.ops.comprehension import Options, define
text = "O(i) +=! i < k + 5 ? A(i) * B(i,k) : 0.0 where i in 0:1024, k in 0:4"
layer = define(f"def f(float(8) A, float(1024,4) B) -> (O) {{ {text} }}")
found = layer(torch.ones(8), torch.ones(1024, 4), options=Options(vectorise="k", check=False))
assert found[:10].tolist() == [4, 4, 4, 4, 4, 3, 2, 1, 0, 0], found
text = "O(i) min=! k < J(i) ? k : A(I(i)) where i in 0:8, k in 0:4"
layer = define(f"def f(int64(8) A, int64(8) I, int64(8) J) -> (O) {{ {text} }}")
options = Options(vectorise="k", check=False)
assert layer(torch.ones(8, dtype=torch.int64), torch.full((8,), 99), torch.full((8,), 4), options=options).sum() == 0
""")
    done = sanitized(str(script))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_random_statements_at_the_ends_of_integers():
    """A few of `make fuzz`, compiled; torch's operators are held against whole numbers on the way."""
    done = sanitized("-m", "tests.fuzz", "comprehensions", "--calls", "4")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "4 definitions of 8 statements: 0 lost" in done.stdout


def test_kernels_at_the_ends_of_integers(tmp_path):
    test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "C++ and not analysis", str(HERE / "test_widths.py")]
    done = sanitized(*test)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
