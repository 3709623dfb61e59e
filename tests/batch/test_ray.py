"""Batch jobs on a Ray cluster of this machine: the same target as the local engine writes, whatever dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

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

DEADLY = '''
"""An operator in which a row of 5 ends the process, as a fault of native code does."""

import os
import signal
import torch


@torch.library.custom_op("deadly_rows::check", mutates_args=())
def check(x: torch.Tensor) -> torch.Tensor:
    if bool((x[:, 0] == 5).any()):
        os.kill(os.getpid(), signal.SIGKILL)
    return x.clone()


@check.register_fake
def _(x):
    return torch.empty_like(x)
'''
JOB = """
import sys, tracepack
print("ready", flush=True)
tracepack.batch.run(
    sys.argv[1], sys.argv[2], sys.argv[3], batch_size=16, part_rows=64, id="id", engine="ray", address=sys.argv[4])
"""


@pytest.fixture(scope="module")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a package with a deadly operator, which is importable here."""
    folder = tmp_path_factory.mktemp("deadly")
    (folder / "deadly_rows.py").write_text(DEADLY)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def cluster(deadly: Path) -> Iterator[str]:
    """The address of a cluster of two CPUs, whose processes find that package."""
    path = os.pathsep.join(filter(None, [str(deadly), os.environ.get("PYTHONPATH", "")]))
    environment = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    context = ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": environment}
    )  # fmt: skip
    yield context.address_info["address"]
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


def test_ray_writes_what_the_local_engine_writes(cluster: str, scores: Path, source: Path, tmp_path: Path) -> None:
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


def test_a_row_that_ends_its_worker_is_quarantined(cluster: str, deadly: Path, rows: Any, tmp_path: Path) -> None:
    import deadly_rows

    assert str(deadly) in deadly_rows.__file__
    mod = tracepack.trace(lambda x: {"y": torch.ops.deadly_rows.check(x) * 2}, torch.rand(3, 4))
    table = rows(300)
    lists = table["x"].to_pylist()
    for row in (70, 71, 250):
        lists[row][0] = 5.0
    pq.write_table(table.set_column(1, "x", [lists]), tmp_path / "rows.parquet")
    start = time.monotonic()
    done = job(mod, tmp_path / "rows.parquet", tmp_path / "out", engine="ray")
    print(f"quarantined within {time.monotonic() - start:.0f} s")
    assert (done.rows, done.errors) == (297, 3)
    assert [(row["id"], row["error"]) for row in errors(tmp_path / "out")] == [
        (3 * row, "the process that ran the row ended: signal SIGKILL") for row in (70, 71, 250)
    ]
    found = read(tmp_path / "out")
    assert [row["id"] for row in found] == [3 * row for row in range(300) if row not in (70, 71, 250)]
    assert all(row["y"] == [2 * value for value in row["x"]] for row in found)


def test_a_driver_that_is_killed_goes_on(cluster: str, scores: Path, source: Path, tmp_path: Path) -> None:
    job(scores, source, tmp_path / "local")
    arguments = [sys.executable, "-c", JOB, scores, source, tmp_path / "ray", cluster]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list((tmp_path / "ray").glob("part-*"))) < 3:
            time.sleep(0.001)
        process.kill()
    assert len(list((tmp_path / "ray").glob("part-*"))) >= 3
    done = job(scores, source, tmp_path / "ray", engine="ray")
    assert (done.rows, done.errors) == (996, 4)
    assert read(tmp_path / "ray") == read(tmp_path / "local")
    assert errors(tmp_path / "ray") == errors(tmp_path / "local")


def test_more_workers_than_the_cluster_has_place_for_are_refused(
    cluster: str, scores: Path, source: Path, tmp_path: Path
) -> None:
    refused = {"3 workers with a CPU": {"workers": 3}, "1 workers with a CPU and 1 GPUs each": {"num_gpus": 1}}
    for wanted, options in refused.items():
        with pytest.raises(tracepack.BatchError) as caught:
            job(scores, source, tmp_path / "out", engine="ray", **options)
        assert str(caught.value) == (
            f"the cluster has no place for the workers; got 2 CPUs and 0 GPUs; expected {wanted}. "
            "Ask for fewer: workers=…, --workers."
        )


def test_an_error_of_the_source_comes_back_as_it_is(cluster: str, scores: Path, source: Path, tmp_path: Path) -> None:
    path = source / "1.parquet"
    data = bytearray(path.read_bytes())
    data[40:4000] = bytes(3960)
    path.write_bytes(data)
    with pytest.raises(tracepack.BatchError, match=r"1.parquet': cannot read the file; got "):
        job(scores, source, tmp_path / "out", engine="ray")
