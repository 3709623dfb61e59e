"""The samples of batch jobs and workers run as a newcomer runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples" / "batch"


def sample(name: str) -> str:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(SAMPLES / name)], capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_table() -> None:
    pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
    assert sample("table.py").splitlines() == [
        "998 rows, 2 bad rows",
        "  row 10: input 'x': column 'numbers' is null",
        "  row 20: input 'x': column 'numbers' has a list of 2, expected 4",
        "columns: name, numbers, label, score",
        "as the model in this process: True",
        "started again, it computes 0 rows",
    ]


def test_workers() -> None:
    pytest.importorskip("joblib", reason="joblib is not installed")
    pytest.importorskip("dask", reason="dask is not installed")
    names = ("DataLoader", "concurrent.futures", "joblib", "Dask")
    assert sample("workers.py").splitlines() == [f"{name}: equal" for name in names]


@pytest.mark.campaign
def test_spark() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs a Java runtime, and this machine has none")
    assert sample("spark.py").splitlines() == ["Spark: 100 rows, as in this process: True"]


def test_every_sample_is_run_here() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in SAMPLES.glob("*.py") if f'"{path.name}"' not in tests] == []
