"""``tracepack run``, ``verify`` and ``bench``: the commands that load a pipeline, and so need torch."""

from __future__ import annotations

import io
import json
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..ops.errors import ArchiveError
from ..pipeline.golden import replay
from ..pipeline.inputs import as_tensor
from ..pipeline.pipeline import Pipeline
from ..pipeline.store import golden_examples, load
from ..serialization.archive import Archive
from . import exits
from .exits import UsageError
from .feeding import build_feed, read_inputs
from .guessing import random_feed
from .report import Block, Facts, Report, Table, Text, seconds_text
from .writing import write_atomically


@dataclass(frozen=True)
class Loading:
    """How a command loads its archive: the options that they share."""

    device: str | None = None
    trust: bool = False
    gpu_ops: str = "gpu"

    def load(self, path: str) -> Pipeline:
        """The pipeline, on the device; a number may be given as text."""
        device: Any = self.device
        if device is not None and device.lstrip("-").isdigit():
            device = int(device)
        return load(path, device, trust=self.trust, gpu_ops=self.gpu_ops)


# -- run -------------------------------------------------------------------------------------------------------


def run(path: str, files: Sequence[str], values: Sequence[str], output: str | None, loading: Loading) -> Report:
    """Runs a pipeline on inputs from files and writes its outputs, or shows them.

    Raises:
        UsageError: a file cannot be read or written; TracepackError: as `load` and `Pipeline.run`.
    """
    given = read_inputs(files, values)
    if output is not None:
        _check_output(output)
    pipeline = loading.load(path)
    result = list(named(pipeline.run(build_feed(pipeline.program.parameters, given))))
    if output is not None:
        write_atomically(output, _encode(output, result))
    rows = [[name, _kind(value), _shape(value), _excerpt(value)] for name, value in result]
    entries = [{"name": n, "dtype": _kind(v), "shape": _sizes(v)} for n, v in result]
    if output is None:
        entries = [{**entry, "value": _plain(value)} for entry, (_, value) in zip(entries, result, strict=True)]
    blocks: list[Block] = [Table("outputs", ["name", "type", "shape", "values"], rows)]
    return Report({"outputs": entries, "written": output}, [*blocks, *([Text(output)] if output else [])])


def named(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a result with names: a dict's keys, ``out`` and positions elsewhere.

    Example:
        >>> [n for n, _ in named({"probs": 1, "state": (2, 3)})], [n for n, _ in named(1)]
        (['probs', 'state[0]', 'state[1]'], ['out'])
    """
    if isinstance(tree, Mapping):
        for key, item in tree.items():
            yield from named(item, f"{name}[{key!r}]" if name or not isinstance(key, str) else key)
    elif isinstance(tree, tuple | list) and not (tree and all(isinstance(item, str) for item in tree)):
        for index, item in enumerate(tree):
            yield from named(item, f"{name or 'out'}[{index}]")
    else:
        yield name or "out", as_tensor(tree) if isinstance(tree, np.ndarray | np.generic) else tree


_OUTPUTS = (".npz", ".npy", ".json")


def _check_output(path: str) -> None:
    if os.path.splitext(path)[1].lower() not in _OUTPUTS:
        raise UsageError("not a kind of file for outputs", where=repr(path), expected=".npz, .npy or .json")


def _encode(path: str, result: Sequence[tuple[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    kind = os.path.splitext(path)[1].lower()
    if kind == ".json":
        return (json.dumps({name: _plain(value) for name, value in result}, ensure_ascii=False) + "\n").encode()
    if kind == ".npz":
        arrays: dict[str, Any] = {name: _array(value) for name, value in result}
        np.savez(buffer, **arrays)
    elif len(result) == 1:
        np.save(buffer, _array(result[0][1]), allow_pickle=False)
    else:
        raise UsageError(f"a .npy file holds one output; this pipeline has {len(result)}", fix="Write a .npz file.")
    return buffer.getvalue()


def _array(value: Any) -> np.ndarray[Any, Any]:
    """A leaf as an array; dtypes that numpy lacks are widened to float32, which loses nothing."""
    if isinstance(value, torch.Tensor):
        value = value.cpu().resolve_conj().resolve_neg()
        name = str(value.dtype).removeprefix("torch.")
        wide = not hasattr(np, "bool_" if name == "bool" else name)
        array: np.ndarray[Any, Any] = (value.float() if wide else value).numpy()
        return array
    return np.asarray(value)


def _plain(value: Any) -> Any:
    """A leaf for JSON; NaN and infinities as JavaScript names them, complex numbers as pairs."""
    if isinstance(value, torch.Tensor):
        value = torch.view_as_real(value) if value.is_complex() else value
        return value.tolist()
    return [value.real, value.imag] if isinstance(value, complex) else value


def _kind(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__


def _sizes(value: Any) -> list[int] | None:
    return list(value.shape) if isinstance(value, torch.Tensor) else None


def _shape(value: Any) -> str:
    return "x".join(map(str, value.shape)) if isinstance(value, torch.Tensor) else ""


def _excerpt(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    flat = value.detach().cpu().reshape(-1)
    shown = [f"{v:.5g}" if isinstance(v, float) else str(v) for v in flat[:4].tolist()]
    return ", ".join(shown) + (", …" if flat.numel() > 4 else "")


# -- verify ----------------------------------------------------------------------------------------------------


def verify(path: str, loading: Loading, *, hashes_only: bool) -> Report:
    """Checks every hash of an archive, then replays its golden examples.

    Raises:
        TracepackError: as `load`. What the checks find is in the report, not an error.
    """
    archive = Archive(path)
    archive.check_listing()
    altered = [name for name in archive.names() if not _intact(archive, name)]
    members = [{"name": name, "intact": name not in altered} for name in archive.names()]
    data: dict[str, Any] = {"file": path, "members": members, "examples": 0, "outputs": [], "passed": not altered}
    count = len(members) - len(altered)
    blocks: list[Block] = [Text(f"{path}: {count} of {len(members)} members have the sha256 of the manifest")]
    blocks += [Text(f"altered: {name}") for name in altered]
    if not altered and not hashes_only:
        _replay(archive, loading.load(path), data, blocks)
    return Report(data, blocks, exits.OK if data["passed"] else exits.FAILED)


def _intact(archive: Archive, name: str) -> bool:
    try:
        archive.check(name)
    except ArchiveError:
        return False
    return True


def _replay(archive: Archive, pipeline: Pipeline, data: dict[str, Any], blocks: list[Block]) -> None:
    examples = golden_examples(archive)
    if not examples:
        blocks.append(Text("no golden examples: save them with save(path, examples=[...])"))
        return
    report = replay(pipeline, examples)
    names = {o.name: _plain_output(o.name) for o in report.outputs}
    outputs = [
        {"name": names[o.name], "largest_difference": o.largest, "bit_equal": o.equal, "passed": o.passed}
        for o in report.outputs
    ]
    data |= {"examples": report.examples, "outputs": outputs, "passed": report.passed}
    rows = [
        [names[o.name], f"{o.largest:.3g}", "bit-equal" if o.equal else "within tolerance" if o.passed else "DIFFERS"]
        for o in report.outputs
    ]
    count = f"{report.examples} golden example{'s' if report.examples != 1 else ''}"
    blocks.append(Table(count, ["output", "largest difference>", "verdict"], rows))


def _plain_output(name: str) -> str:
    """A golden output's name as `run` gives it: ``out['probs']`` is ``probs``."""
    return re.sub(r"^out\['(.*?)'\]", r"\1", name)


# -- bench -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        seconds: of runs, after the warm-up.
        runs: a number of runs instead, or None.
        threads: of torch, or None for its own choice.
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
    feeds, source = _feeds(path, pipeline, sizes)
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
    shapes = ", ".join(f"{name} {_shape(value) or _kind(value)}" for name, value in named(dict(feed)))
    return [
        Facts(
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
    """Waits for the accelerator, where one takes part: its kernels run on after `run` has returned."""
    if all(device == "cpu" for device in pipeline.placement.values()):
        return lambda: None
    return torch.accelerator.synchronize


def _feeds(path: str, pipeline: Pipeline, sizes: Mapping[str, int]) -> tuple[list[Mapping[str, Any]], str]:
    examples = [] if sizes else golden_examples(Archive(path))
    if examples:
        return [feed for feed, _ in examples], "golden examples"
    return [random_feed(pipeline, sizes)], "random"
