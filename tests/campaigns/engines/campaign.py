"""The operators of torch's own database on each engine, on other numbers than those that the engine was made with.

A search compares an engine with the flat function on examples and on sizes beside them, and new sizes are compared when
they come. What is left are other numbers at the same sizes: there, an engine must answer as torch does, or raise, upon
which the flat function answers.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import tracepack
from tests.campaigns.check import copies
from tests.campaigns.engines.layers import LAYERS, layer_samples
from tests.campaigns.engines.numbers import MOST, filled
from tests.campaigns.journal import ROOT, Journal, Record, found_by
from tests.campaigns.limit import Overdue, limited
from tests.campaigns.samples import UNINITIALISED, Sample, dtypes, entries, samples
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally
from tracepack.ops.engines.catalogue import find
from tracepack.ops.engines.engine import Declined, Task
from tracepack.ops.engines.region import Region, whole
from tracepack.ops.graph.device import CPU

ENGINES = ("onnxruntime", "openvino")
DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool,
)  # fmt: skip
SHARES = 120
MOST_SECONDS = 600.0  # of one operator
SAMPLES = 2  # of each dtype
FILLS = 2 * MOST
# What is near zero or 1e-7 there, and computed by way of 1: `docs/performance.md` says so. Of equal numbers, what
# torch finds 0 is what rounding leaves; quotients by it are checked.
ROUGH = {
    **dict.fromkeys(("erf", "nn.functional.elu", "nn.functional.celu", "nn.functional.selu"), "tiny"),
    **dict.fromkeys(("std", "std_mean", "var", "var_mean", "cross", "linalg.cross", "cov"), "equal"),
}


def run(share: int | None = None, jobs: int = 2, most: int = SAMPLES, fresh: bool = False) -> Tally:
    """The tally of all operators, or of one part."""
    tally = Tally("Operator database, on engines at other numbers", "operators", full=share is None)
    if share is None:
        records = list(Journal(f"engines-{most}", fresh).complete(range(len(names())), found, jobs))
    else:
        records = [record for _, record in found_by(range(share % SHARES, len(names()), SHARES), found, 1)]
    skipped = [record["name"] for record in records if not record["engines"]]
    if skipped:
        tally.notes.append(f"Not counted, since no part of them is for engines: {', '.join(skipped)}.")
    for record in records:
        for engine, (outcome, reason, detail) in record["engines"].items():
            tally.add(f"{record['name']} on {engine}", outcome, reason, detail)
        tally.tried += record["tried"]
        tally.seconds += record["seconds"]
    return tally


def names() -> list[str]:
    """What is tried: the entries of the database, and layers that it lacks."""
    return [*(entry.name for entry in entries()), *LAYERS]


def found(number: int) -> Record:
    """What is found of one operator, by a process of its own, which may die of it; a fork would hang in a runtime."""
    began = _children_seconds()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "found.jsonl")
        command = [sys.executable, "-m", "tests.campaigns.engines", str(number), str(file)]
        try:
            ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, timeout=MOST_SECONDS)
            said = (ended.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
            lost = f"the process ended with {ended.returncode}: {said}" if ended.returncode else ""
        except subprocess.TimeoutExpired:
            lost = f"the process did not end within {MOST_SECONDS:g} s"
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return _record(names()[number], lines, lost, _children_seconds() - began)


def _children_seconds() -> float:
    """The processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _record(name: str, lines: Sequence[Any], lost: str, seconds: float) -> Record:
    made: dict[str, tuple[str, str, str]] = {}
    begun = [line for line in lines if line["outcome"] == "begun"]
    done = [line for line in lines if line["outcome"] != "begun"]
    if lost:
        last = begun[-1] if begun else {"engine": "none", "detail": ""}
        done.append({**last, "outcome": ERROR, "reason": lost})
    gravity = (RIGHT, REFUSED, ERROR, WRONG)
    for line in done:
        before = made.get(line["engine"])
        if before is None or gravity.index(line["outcome"]) > gravity.index(before[0]):
            made[line["engine"]] = (line["outcome"], line["reason"], line["detail"])
    return {"name": name, "engines": made, "lines": done, "tried": len(done), "seconds": seconds}


def work(number: int, file: Path) -> None:
    """Writes what is found of one operator as JSON lines, each as soon as it is known."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with file.open("w", buffering=1) as out:
        for line in _lines(number):
            out.write(json.dumps(line) + "\n")


def _lines(number: int) -> Iterator[Record]:
    name = names()[number]
    rough = ROUGH.get(name.removesuffix(".unbiased"), "")
    for sample in _samples(number):
        found = _region(sample)
        if found is None:
            continue
        region, places = found
        task = Task(region, [copies([sample.leaves[place] for place in places])], 1)
        for engine in ENGINES:
            head = {"engine": engine, "detail": sample.label, "reason": ""}
            yield {**head, "outcome": "begun"}
            try:
                with limited():
                    yield {**head, **_held(engine, task, sample, places, rough)}
            except Overdue:
                yield {**head, "outcome": ERROR, "reason": "no answer in time"}


def _samples(number: int) -> Iterator[Sample]:
    """Some of each dtype."""
    if number >= len(entries()):
        yield from layer_samples(names()[number])
        return
    entry = entries()[number]
    if entry.name.split(".")[0] in UNINITIALISED:
        return
    for dtype in dtypes(entry):
        if dtype in DTYPES:
            usable = [sample for sample in samples(entry, dtype) if sample.leaves and sample.leaves[0].numel()]
            yield from usable[:: max(1, -(-len(usable) // SAMPLES))][:SAMPLES]


def _region(sample: Sample) -> tuple[Region, list[int]] | None:
    """The region of all nodes, and which of the leaves are its inputs; None where there is none for engines."""
    try:
        with limited():
            sample.process(*copies(sample.leaves))
            made = tracepack.trace(sample.process, *copies(sample.leaves))
    except (Exception, Overdue):
        return None
    region, inputs = whole(made.graph), [id(value) for value in made.graph.inputs]
    if not isinstance(region, Region) or len(inputs) != len(sample.leaves):
        return None
    return region, [inputs.index(id(value)) for value in region.graph.inputs]


def _held(name: str, task: Task, sample: Sample, places: Sequence[int], rough: str) -> Record:
    """One sample on one engine: made with its numbers, asked with others."""
    engine: Any = find(name)
    try:
        opened = engine.open(engine.make(task), task.region, CPU)
    except (Declined, tracepack.TracepackError) as error:
        return {"outcome": REFUSED, "reason": str(error)[:200]}

    def function(*leaves: torch.Tensor) -> Sequence[torch.Tensor]:
        return opened(*[leaves[place] for place in places])

    said = _differs(function, sample.process, sample.leaves)
    if said is None:
        return {"outcome": REFUSED, "reason": "it leaves its own example to the flat function"}
    if said:
        return {"outcome": REFUSED, "reason": f"a search finds the difference: {said}"}
    generator = torch.Generator().manual_seed(1)
    answers: dict[str, str | None] = {}
    for number in range(FILLS):
        label, data = filled(sample.leaves, number, generator)
        if not rough or rough not in label:
            answers[f"{number} {label}"] = _differs(function, sample.process, data)
    if wrong := [f"{label}: {said}" for label, said in answers.items() if said]:
        return {"outcome": WRONG, "reason": "; ".join(wrong)[:600]}
    if all(said is None for said in answers.values()):
        return {"outcome": REFUSED, "reason": "it leaves all other numbers to the flat function"}
    return {"outcome": RIGHT}


def _differs(function: Callable[..., Any], eager: Callable[..., Any], data: list[torch.Tensor]) -> str | None:
    """How an engine answers otherwise than torch; None where the flat function answers in its place."""
    try:
        got = function(*copies(data))
    except Exception:
        return None
    try:
        with torch.no_grad():
            wanted = eager(*copies(data))
    except Exception as error:
        return f"torch raises {type(error).__name__}: {str(error)[:80]}"
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(wanted) if isinstance(leaf, torch.Tensor)]
    unique = list({id(leaf): leaf for leaf in leaves}.values())
    if len(unique) != len(got):
        return None  # an output is given twice, which no region of one part has
    lost = 1e-6 * min([1e-12, *(_largest(leaf) for leaf in data if leaf.is_floating_point())])
    pairs = zip(unique, got, strict=True)
    return next((said for theirs, mine in pairs if (said := _difference(theirs, mine, lost))), "")


def _largest(values: torch.Tensor) -> float:
    return float(values[values.isfinite()].abs().max()) if values.isfinite().any() else 0.0


def _difference(wanted: torch.Tensor, found: torch.Tensor, lost: float) -> str:
    """How two results differ by more than rounding, and than what differences of small numbers lose of their digits."""
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        return f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
        same = wanted == found
    else:
        exact = {torch.float64: 1e-9, torch.float32: 1e-4}.get(wanted.dtype, 2e-2)
        same = torch.isclose(found, wanted, rtol=exact, atol=lost + exact * min(_largest(wanted), 1e30), equal_nan=True)
    if bool(same.all()):
        return ""
    place = (~same).nonzero()[0].tolist()
    return f"{int((~same).sum())}/{same.numel()} {found[tuple(place)].item()} for {wanted[tuple(place)].item()}"
