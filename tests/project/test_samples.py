"""The samples run as a newcomer runs them, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"

# What each must print: figures that it has compared with the eager model itself before.
EXPECTED = {
    "quickstart.py": ["loaded:", "bytes, placement {'MyCell': 'cpu'}"],
    "semantic_search.py": [
        "(texts: strings) -> f32[?,384]",
        "eager model:",
        "packed pipeline:",
        "threading.Thread.join",  # the answer to "wait until another thread has finished"
        "random.Random.choice",
    ],
    "generate.py": [
        "packed greedy in",
        "packed sampled in",
        "in 6 batches of prompts: all tokens are those of model.gen",
    ],
    "scripted.py": ["cond(", "all 300 answers equal bit for bit"],
}


@pytest.mark.long
# The others trace whole models for half a minute, which is for `make share`; what they show is in tests of its own.
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.campaign] if n != "quickstart.py" else []) for n in EXPECTED]
)
def test_a_sample_runs(name):
    done = subprocess.run(
        [sys.executable, str(SAMPLES / name)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert all(text in done.stdout for text in EXPECTED[name]), done.stdout


def test_every_sample_is_run_by_some_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [path.name for path in SAMPLES.glob("*.py") if path.stem not in tests] == []
