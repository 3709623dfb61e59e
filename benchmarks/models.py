"""Real models after `optimize`, against every runtime that is installed, fed directly: interleaved, in one process.

python -m benchmarks.models [--rows resnet18,mlp] [--threads 1] [--seconds 120] [--compile] [--engines onnxruntime]

Weights are random, since they do not change the time. Ratios are to the best peer of a row: eager, ONNX Runtime and
OpenVINO on an export that torch makes of the model itself, `torch.jit` with `optimize_for_inference`, and with
``--compile`` inductor with freezing and AOTInductor, which take minutes to compile. All are given the same dict of
torch tensors, or of texts; the two runtimes read tensors as arrays, and give arrays, which nobody turns back. Of three
sessions the best counts, of theirs as of ours. First answers and memory are compared with the best peer that has a
file. Rows that are not asked for keep their last results. A row takes the seconds of the search and a minute.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from operator import truediv

import torch

import tracepack
from benchmarks.interleaved import last, save, timed, turns
from benchmarks.runtimes.direct import Way, exported, makers, onnxruntime_direct, openvino_direct, peers
from benchmarks.runtimes.rows import Model, models

LIMIT = 1.02  # of the best peer
SESSIONS = 3  # of ours and of a peer: the same one differs by up to 10 % by where in memory its weights happen to lie
SPREAD = ("onnxruntime", "openvino")  # which have sessions
ROUNDS, MOST_SECONDS = 200, 20.0  # of the measurement of a row
NEW_SIZES, WARM = 30, 20  # sessions whose first call at another size counts, and their calls before it
REST = 0.05  # seconds before a turn with several threads: those of a runtime spin on after a run


def measure(model: Model, threads: int, seconds: float, compiled: bool, engines: list[str] | None) -> dict[str, object]:
    """One row."""
    pipeline = model.pipeline()
    findings = pipeline.optimize([model.inputs], seconds=seconds, engines=engines)
    print(findings, flush=True)
    data = exported(model)
    made = makers(model, data, threads, compiled)
    sessions = [peers(model, made)]
    sessions += [peers(model, {name: made[name] for name in SPREAD}) for _ in range(SESSIONS - 1)]
    ways = {("ours", number): lambda run=run: run(model.inputs) for number, run in enumerate(loaded(pipeline))}
    for number, session in enumerate(sessions):
        for name, way in session.items():
            ways[name, number] = lambda way=way: way(model.inputs)
    rounds = turns(ways, rounds=ROUNDS, seconds=MOST_SECONDS, rest=0.0 if threads == 1 else REST)
    ours = min((rounds.pop(("ours", number)) for number in range(SESSIONS)), key=min)
    place = min(rounds, key=lambda each: min(rounds[each]))
    times: dict[str, float] = {}
    for (name, _), found in rounds.items():
        times[name] = min(*found, times.get(name, float("inf")))
    best = place[0]
    engine = ", ".join(dict.fromkeys(findings.engines.values())) or "aten"
    row: dict[str, object] = {
        "what": model.name, "value": round(min(ours) / times[best], 3), "limit": LIMIT, "unit": "ratio",
        "median": round(statistics.median(map(truediv, ours, rounds[place])), 3), "rounds": len(ours), "best": best,
        "engine": engine, "eager": round(min(ours) / times["eager"], 3), "threads": threads,
        "peers": {name: round(each / times["eager"], 3) for name, each in times.items()},
        "difference": findings.difference,
    }  # fmt: skip
    files = {name: times[name] for name in SPREAD if name in times}
    return row | from_files(pipeline, model, data, threads, min(files, key=files.__getitem__), made[best])


def loaded(pipeline: tracepack.Pipeline) -> list[Way]:
    """The pipeline, and others of its file, each with sessions of its own."""
    file = io.BytesIO()
    pipeline.save(file)
    others = [tracepack.load(file.getvalue(), trust=True) for _ in range(SESSIONS - 1)]
    return [each.run for each in (pipeline, *others)]


def from_files(
    pipeline: tracepack.Pipeline, model: Model, data: bytes, threads: int, peer: str, best: Callable[[], Way]
) -> dict[str, object]:
    """Ratios of the seconds from a file to the first answer, of the memory that stays, and of a new size, to a peer."""
    with tempfile.TemporaryDirectory() as folder:
        mine, other = os.path.join(folder, "a.tpk"), os.path.join(folder, "a.onnx")
        pipeline.save(mine)
        with open(other, "wb") as file:
            file.write(data)
        torch.save((model.inputs, model.tensors(model.inputs)), os.path.join(folder, "inputs"))
        engines = {peer, *(choice.artefact.engine for choice in pipeline.program.engines)}
        files = (("tracepack", mine), (peer, other))
        rounds = [[fresh(way, path, threads, engines) for way, path in files] for _ in range(5)]
        new_size = new_sizes(model, lambda: tracepack.load(mine, trust=True).run, best)
    (start, size), (peer_start, peer_size) = (map(min, zip(*runs, strict=True)) for runs in zip(*rounds, strict=True))
    return {
        "new size": round(new_size, 3), "file peer": peer,
        "first answer": round(start / peer_start, 3), "memory": round(size / peer_size, 3),
        "milliseconds": [round(start * 1e3, 1), round(peer_start * 1e3, 1)],
        "megabytes": [round(size / 1e6, 1), round(peer_size / 1e6, 1)],
    }  # fmt: skip


def new_sizes(model: Model, ours: Callable[[], Way], best: Callable[[], Way]) -> float:
    """The ratio of the first call at another size to the best peer's, of sessions that have run at their own.

    The least of many counts, each of a session of its own, which take turns.
    """
    found: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + MOST_SECONDS
    while len(found[0]) < SESSIONS or (len(found[0]) < NEW_SIZES and time.perf_counter() < until):
        for make, times in zip((ours, best), found, strict=True):
            way = make()
            for _ in range(WARM):
                way(model.inputs)
            times.append(timed(lambda way=way: way(model.other)))
    return min(found[0]) / min(found[1])


FRESH = """
import importlib, os, sys, time, torch, tracepack, tracepack.pipeline.load, tracepack.pipeline.optimizing.engaging
import tracepack.serialization.engine_rows
from benchmarks import models
way, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
for engine in sys.argv[4:]:
    importlib.import_module(f"tracepack.ops.engines.{engine}")
torch.set_num_threads(threads)
feed, tensors = torch.load(os.path.join(os.path.dirname(path), "inputs"), weights_only=True)
def memory():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS"))) * 1024
before, start = memory(), time.perf_counter()
if way == "tracepack":
    kept = tracepack.load(path, trust=True)
    kept.run(feed)
else:
    kept = models.PEERS[way](path, threads)
    kept(tensors)
print(time.perf_counter() - start, memory() - before)
"""


def fresh(way: str, path: str, threads: int, engines: Iterable[str]) -> tuple[float, float]:
    """Seconds to the first answer, and bytes that stay in memory after it, in a process with the runtimes of the row.

    With no others: OpenVINO's import forks the process, and each page of memory that is written to after that costs.
    """
    given = [sys.executable, "-c", FRESH, way, path, str(threads), *engines]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ended = subprocess.run(given, capture_output=True, text=True, check=True, env=environment)
    seconds, size = ended.stdout.split()[-2:]
    return float(seconds), float(size)


PEERS = {"onnxruntime": onnxruntime_direct, "openvino": openvino_direct}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--engines", default="")
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(options.threads)
    engines = options.engines.split(",") if options.engines else None
    file = f"models-{options.threads}"
    rows = {str(row["what"]): row for row in last(file)}
    for name, make in models().items():
        if options.rows and not any(name.startswith(wanted) for wanted in options.rows.split(",")):
            continue
        print(name, flush=True)
        rows[name] = measure(make(), options.threads, options.seconds, options.compile, engines)
        print(f"  {rows[name]}", flush=True)
        save(file, [rows[each] for each in models() if each in rows])


if __name__ == "__main__":
    main(sys.argv[1:])
