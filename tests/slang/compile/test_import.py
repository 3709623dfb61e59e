"""`tracepack.slang` and `tracepack.comprehension` are modules by every way of importing them, and the same ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

WAYS = (
    "import tracepack.{0}; found = tracepack.{0}",
    "from tracepack import {0} as found",
    "import tracepack; found = tracepack.{0}",
    "import tracepack.{0} as found",
    "import importlib; found = importlib.import_module('tracepack.{0}')",
    "from tracepack import {0} as first; import tracepack.{0}; found = tracepack.{0}; assert first is found",
)


@pytest.mark.parametrize(("module", "name"), [("slang", "load"), ("comprehension", "define")])
def test_every_way_of_importing(module: str, name: str) -> None:
    lines = [
        f"{way.format(module)}; import tracepack.ops.{module} as whole; assert found is whole, found" for way in WAYS
    ]
    lines += [f"from tracepack.{module} import {name}; assert {name} is whole.{name}"]
    for line in (lines[0], "\n".join(lines)):  # once first of all, then all of them in one process
        done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_short_name_does_not_import_torch() -> None:
    line = "import sys, tracepack.slang; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
