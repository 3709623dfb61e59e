"""A batch job over a table, against pyarrow's reading and writing alone plus `mod.run` in a loop.

    python -m benchmarks batch [--rows 10000000] [--ray] [--memory]

The model is small (32 numbers, one hidden layer), so that what the job adds shows. Each way runs in turns, and the
least of three rounds counts; times are of the wall and of the processor.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import tracepack
from benchmarks.interleaved import save

WIDE, PART, BATCH = 32, 1 << 17, 4096
ROUNDS = 3


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ray", action="store_true", help="100 k rows on Ray, too")
    parser.add_argument(
        "--memory", action="store_true", help="the peak of memory at 1 M and 4 M rows, and nothing else"
    )
    options = parser.parse_args(list(arguments))
    folder = Path(tempfile.mkdtemp())
    try:
        if options.memory:
            for count in (1_000_000, 4_000_000):
                print(f"{count:,} rows: a peak of {peak(folder, count):.0f} MB")
            return
        rows = list(local(folder, options.rows))
        rows += on_ray(folder) if options.ray else []
    finally:
        shutil.rmtree(folder)
    for row in rows:
        print(row)
    save("batch", rows)


def table(path: Path, count: int) -> Path:
    generator = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), ("x", pa.list_(pa.float32()))])) as writer:
        for start in range(0, count, PART):
            size = min(PART, count - start)
            flat = pa.array(generator.random(size * WIDE, dtype=np.float32))
            lists = pa.ListArray.from_arrays(pa.array(np.arange(size + 1, dtype=np.int32) * WIDE), flat)
            writer.write_table(pa.table({"id": np.arange(start, start + size), "x": lists}))
    return path


def model(folder: Path) -> Path:
    op = tracepack.script(torch.nn.Sequential(torch.nn.Linear(WIDE, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)))
    mod = tracepack.trace(lambda x: {"scores": op(x).softmax(-1)}, torch.rand(4, WIDE))
    mod.save(folder / "model.tpk")
    return folder / "model.tpk"


def by_hand(file: Path, source: Path, target: Path) -> None:
    """What one writes without tracepack.batch: no check, no bad rows, no resuming."""
    mod = tracepack.load(file)
    writer = None
    with pq.ParquetFile(source) as opened:
        for batch in opened.iter_batches(PART):
            x = torch.from_numpy(batch["x"].flatten().to_numpy().reshape(-1, WIDE).copy())
            found = torch.cat([mod.run({"x": part})["scores"] for part in x.split(BATCH)])
            offsets = pa.array(np.arange(len(x) + 1, dtype=np.int32) * found.shape[1])
            scores = pa.ListArray.from_arrays(offsets, pa.array(found.reshape(-1).numpy()))
            answers = pa.table({"id": batch["id"], "x": batch["x"], "scores": scores})
            writer = writer or pq.ParquetWriter(target, answers.schema)
            writer.write_table(answers)
    assert writer is not None
    writer.close()


def local(folder: Path, count: int) -> list[dict[str, Any]]:
    source, file = table(folder / "rows.parquet", count), model(folder)

    def job() -> None:
        shutil.rmtree(folder / "job", ignore_errors=True)
        tracepack.batch.run(file, source, folder / "job", batch_size=BATCH, part_rows=PART)

    ways: dict[str, Callable[[], None]] = {"by hand": lambda: by_hand(file, source, folder / "hand"), "local": job}
    wall, cpu = turns(ways)
    parts = [pq.read_table(path)["scores"] for path in sorted((folder / "job").glob("part-*"))]
    hand = pq.read_table(folder / "hand")["scores"]
    assert pa.chunked_array([chunk for part in parts for chunk in part.chunks]).equals(hand)
    return [
        {
            "what": f"{count:,} rows of {WIDE} numbers",
            **{f"{name}, s": round(seconds, 2) for name, seconds in wall.items()},
            **{f"{name}, CPU s": round(seconds, 2) for name, seconds in cpu.items()},
            "ratio": round(wall["local"] / wall["by hand"], 3),
            "ratio of CPU": round(cpu["local"] / cpu["by hand"], 3),
            "to reach": 1.15,
        }
    ]


def turns(ways: dict[str, Callable[[], None]]) -> tuple[dict[str, float], dict[str, float]]:
    """The least seconds of the wall and of the processor of each way."""
    wall, cpu = dict.fromkeys(ways, float("inf")), dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            before, spent = time.perf_counter(), time.process_time()
            way()
            wall[name] = min(wall[name], time.perf_counter() - before)
            cpu[name] = min(cpu[name], time.process_time() - spent)
    return wall, cpu


def peak(folder: Path, count: int) -> float:
    """The most megabytes that a process holds whose job has that many rows, with the interpreter and torch."""
    source, file = table(folder / f"{count}.parquet", count), model(folder)
    job = (
        "import resource, sys, tracepack, tracepack.batch;"
        "tracepack.batch.run(*sys.argv[1:], batch_size=4096);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", job, str(file), str(source), str(folder / f"{count} answers")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def on_ray(folder: Path) -> list[dict[str, Any]]:
    """100 k rows on Ray with two CPUs, in turns with local, and a job of ten rows that starts both workers, too."""
    import ray

    file = model(folder)
    few, many = table(folder / "few.parquet", 10), table(folder / "many.parquet", 100_000)
    start = time.perf_counter()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    cluster = time.perf_counter() - start
    least = dict.fromkeys(("ten rows", "all", "local"), float("inf"))
    for _ in range(ROUNDS):
        jobs = ("ten rows", few, 5, "ray"), ("all", many, 8192, "ray"), ("local", many, 8192, "local")
        for name, source, part, engine in jobs:
            target = folder / f"{name} on {engine}"
            start = time.perf_counter()
            tracepack.batch.run(file, source, target, batch_size=BATCH, part_rows=part, engine=engine)
            least[name] = min(least[name], time.perf_counter() - start)
            shutil.rmtree(target)
    ray.shutdown()
    row: dict[str, Any] = {"what": "100 k rows on Ray, s", "cluster": round(cluster, 2)}
    row |= {name: round(seconds, 2) for name, seconds in least.items()}
    return [row | {"to reach": round(least["ten rows"] + 1.3 * least["local"], 2)}]


if __name__ == "__main__":
    main(sys.argv[1:])
