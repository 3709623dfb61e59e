"""Batch jobs on a Ray cluster of this machine: the same target as the local engine writes, whatever dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracepack

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra 'batch' is not installed")
pytest.importorskip("ray.data", reason="the extra 'ray' is not installed")

from tests.batch.checks import errors, read  # noqa: E402 - after the skips

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.usefixtures("jobs"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]

DEADLY = """
import os, signal
from tracepack.batch.rows import compute

run = compute.Work.run

def deadly(self, values, begin, end):
    if bool((values[0][1][begin:end, 0] == 5).any()):
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, values, begin, end)

compute.Work.run = deadly
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two CPUs; every process that is started on it has rows that end it."""
    folder = tmp_path_factory.mktemp("deadly")
    (folder / "deadly_rows.py").write_text(DEADLY)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    environment = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    ray.init(
        runtime_env={"env_vars": environment},
    )
    yield
    ray.shutdown()


def job(scores: Path, source: Path, target: Path, **options: Any) -> Any:
    return tracepack.batch.run(scores, source, target, batch_size=16, part_rows=64, id="id", **options)


@pytest.fixture
def source(rows: Any, tmp_path: Path) -> Path:
    """Two files with bad rows."""
    for index in range(2):
        table = rows(500, seed=index)
        lists = table["x"].to_pylist()
        lists[3], lists[100][2] = None, 101.0
        path = tmp_path / "in" / f"{index}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table.set_column(1, "x", [lists]), path, row_group_size=300)
    return tmp_path / "in"


def test_ray_writes_what_the_local_engine_writes(cluster: None, scores: Path, source: Path, tmp_path: Path) -> None:
    seen: list[Any] = []
    here = job(scores, source, tmp_path / "local")
    there = job(scores, source, tmp_path / "ray", engine="ray", progress=lambda *told: seen.append(told))
    assert (there.rows, there.errors, there.computed) == (here.rows, here.errors, here.computed) == (996, 4, 1000)
    assert read(tmp_path / "ray") == read(tmp_path / "local")
    assert errors(tmp_path / "ray") == errors(tmp_path / "local")
    assert seen[-1] == (1000, 1000, 4)
    assert job(scores, source, tmp_path / "ray", engine="ray").computed == 0
    part = sorted((tmp_path / "ray").glob("part-*"))[5]
    part.unlink()
    assert job(scores, source, tmp_path / "ray", engine="ray").computed == 64
    assert read(tmp_path / "ray") == read(tmp_path / "local")
