"""The check for machines with a card, on one without: its script, its benchmark on the stand-in, and its page."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.card import stand_in

ROOT = Path(__file__).parent.parent.parent
REPORT = """<testsuites><testsuite>
<testcase classname="tests.slang.test_cuda" name="test_a"/>
<testcase classname="tests.slang.test_cuda" name="test_b"><failure message="values differ&#10;more">trace</failure>
</testcase>
<testcase classname="tests.slang.test_cuda" name="test_c"><skipped message="this machine has no second CUDA device"/>
</testcase>
</testsuite></testsuites>"""

ROW = {"case": "f", "error": 1e-7, "forward": {"ours": 5.0, "torch": 10.0, "compile": 4.0}}
RESULTS = {"card": "a card", "torch": "2", "cuda": "13", "rows": [ROW]}


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a card says")
def test_the_script_says_that_there_is_no_card() -> None:
    done = subprocess.run(
        [ROOT / "tools" / "gpu_check.sh"], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "gpu_check: torch finds no CUDA card here, so there is nothing to check\n",
    )


INTERPRETER = """#!/bin/sh
case "$*" in
    -c*) exit 0 ;;
    "-m pytest"*) for word; do case $word in --junitxml=*) cp report.xml "${word#*=}" ;; esac; done; exit STATUS ;;
    "-m benchmarks"*) cp results.json "$5" ;;
    *) exec PYTHON "$@" ;;
esac
"""


@pytest.mark.parametrize("status", [0, 1], ids=["passing", "failing"])
def test_the_script_writes_the_page_and_ends_as_the_tests_did(status: int, tmp_path: Path) -> None:
    """The script itself, in a folder of its own, with an interpreter that answers as one on a machine with a card."""
    for folder in ("tools", "docs", "benchmarks/results"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("gpu_check.sh", "make_gpu_page.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    (tmp_path / "report.xml").write_text(REPORT)
    (tmp_path / "results.json").write_text(json.dumps(RESULTS))
    interpreter = tmp_path / "python"
    interpreter.write_text(INTERPRETER.replace("STATUS", str(status)).replace("PYTHON", shlex.quote(sys.executable)))
    interpreter.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "tools" / "gpu_check.sh"], env={**os.environ, "PYTHON": str(interpreter)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "a card, torch 2, CUDA 13." in (tmp_path / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8")) == RESULTS


@pytest.mark.skipif(torch.cuda.is_available(), reason="a card runs the benchmark itself")
def test_the_benchmark_and_the_page_on_the_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import gpu

    names = ["slang: polynomial, 4", "comprehension: rowmax", "packed cell"]
    with stand_in(tmp_path):
        gpu.main(["--no-compile", "--seconds", "0", "--results", str(tmp_path / "gpu.json"), "--cases", *names])
    results = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert [row["case"] for row in results["rows"]] == names
    assert all(row["error"] < 1e-5 for row in results["rows"])
    assert all(time > 0 for row in results["rows"] for time in row["forward"].values())

    page = loaded(ROOT / "tools" / "make_gpu_page.py").page(REPORT, results)
    assert "stand-in, torch " in page
    assert "1 passed, 1 failed, 1 skipped." in page
    assert "- failed: `tests.slang.test_cuda::test_b`: values differ\n" in page
    assert "- skipped: `tests.slang.test_cuda::test_c`: this machine has no second CUDA device\n" in page
    table = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert [line.split("|")[1].strip() for line in table] == names
    assert all(len(line.split("|")) == 10 for line in table)


def test_ratios_are_of_our_time_to_theirs() -> None:
    page = loaded(ROOT / "tools" / "make_gpu_page.py").page(REPORT, RESULTS)
    assert "| f | 5.0 | 0.50 | 1.25 |  |  |  | 1.0e-07 |" in page
