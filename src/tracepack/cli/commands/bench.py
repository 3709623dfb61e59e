"""`tracepack bench`: measures the time that a file takes to load and to run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...pipeline.pipeline import Pipeline
from ..example_feeds import example_feeds
from ..loading import Loading
from ..output_leaves import named, shape_text, type_text
from ..report import Block, Fields, Report, seconds_text


@dataclass(frozen=True)
class Effort:
    """The effort of a measurement.

    Attributes:
        seconds: the time for runs, after the warm-up.
        runs: the number of runs instead of a time, or None.
        threads: the number of torch's threads, or None for torch's choice.
    """

    seconds: float = 1.0
    runs: int | None = None
    threads: int | None = None


MOST_RUNS = 1_000_000


def bench(path: str, loading: Loading, sizes: Mapping[str, int], effort: Effort) -> Report:
    """Measures loading and running, on the golden example inputs, or on random ones where there are none.

    Raises:
        UsageError: no inputs can be made; TracepackError: as `load` and `Pipeline.run`.
    """
    if effort.threads is not None:
        torch.set_num_threads(effort.threads)
    start = time.perf_counter()
    pipeline = loading.load(path)
    loaded = time.perf_counter() - start
    feeds, source = example_feeds(path, pipeline, sizes)
    synchronize = _synchronizer(pipeline)
    first = _timed(pipeline, feeds[0], synchronize)
    times = _measure(pipeline, feeds, effort, synchronize)
    data = {
        "file": path, "inputs": source, "feeds": len(feeds), "threads": torch.get_num_threads(),
        "placement": pipeline.placement, "load_s": loaded, "first_run_s": first, "runs": len(times),
        "min_s": min(times), "median_s": statistics.median(times), "p99_s": sorted(times)[len(times) * 99 // 100],
        "runs_per_s": len(times) / sum(times), "device": loading.device,
    }  # fmt: skip
    return Report(data, _bench_blocks(data, feeds[0]))


def _bench_blocks(data: dict[str, Any], feed: Mapping[str, Any]) -> list[Block]:
    shapes = ", ".join(f"{name} {shape_text(value) or type_text(value)}" for name, value in named(dict(feed)))
    return [
        Fields(
            [
                ("inputs", f"{data['inputs']}: {shapes}"),
                ("threads", str(data["threads"])),
                ("load", seconds_text(data["load_s"])),
                ("first run", seconds_text(data["first_run_s"])),
                (f"{data['runs']} runs", f"min {seconds_text(data['min_s'])}, median {seconds_text(data['median_s'])}, "
                                         f"p99 {seconds_text(data['p99_s'])}"),
                ("throughput", f"{data['runs_per_s']:.4g} runs/s"),
            ]
        )
    ]  # fmt: skip


def _measure(
    pipeline: Pipeline, feeds: Sequence[Mapping[str, Any]], effort: Effort, synchronize: Callable[[], None]
) -> list[float]:
    """Times of single runs, the feeds in turn, after a warm-up of a tenth of the effort and two rounds at least."""
    for _ in range(2):
        for feed in feeds:
            _timed(pipeline, feed, synchronize)
    times: list[float] = []
    end = time.perf_counter() + effort.seconds
    while len(times) < (effort.runs or MOST_RUNS) and (effort.runs or not times or time.perf_counter() < end):
        times.append(_timed(pipeline, feeds[len(times) % len(feeds)], synchronize))
    return times


def _timed(pipeline: Pipeline, feed: Mapping[str, Any], synchronize: Callable[[], None]) -> float:
    start = time.perf_counter()
    pipeline.run(feed)
    synchronize()
    return time.perf_counter() - start


def _synchronizer(pipeline: Pipeline) -> Callable[[], None]:
    """A function that waits for the accelerator, if there is one: its kernels may run after `run` has returned."""
    if all(device == "cpu" for device in pipeline.placement.values()):
        return lambda: None
    return torch.accelerator.synchronize
