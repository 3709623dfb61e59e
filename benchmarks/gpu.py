"""Slang functions, comprehensions and a packed cell on CUDA, against torch's own operators and torch.compile.

    python -m benchmarks gpu [--cases softmax ...] [--no-compile] [--seconds 1]

Every figure is the least of many interleaved runs, each waited for. `tools/gpu_check.sh` writes the results of a whole
run, `benchmarks/results/gpu.json`, to `docs/gpu.md`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import tracepack
from benchmarks import comprehension, layers, slang
from benchmarks.core import MyCell

RESULTS = Path(__file__).parent / "results" / "gpu.json"
Run = Callable[..., Any]
MANY = 1 << 20


@dataclass
class Case:
    """One row: our function and torch's, on the same inputs."""

    name: str
    ours: Run
    torch: Run
    inputs: list[torch.Tensor]
    trains: bool = True


def cases() -> Iterator[Case]:
    """Every case of this benchmark, made when it is asked for."""
    module = tracepack.slang.load(slang.SOURCE)
    functions = {
        "polynomial": (lambda x: module.polynomial(a=2, b=8, c=-1, x=x), slang.polynomial),
        "12 functions": (module.twelve, slang.twelve),
        "12 operations": (module.arithmetic, slang.arithmetic),
    }
    for name, (ours, formula) in functions.items():
        for size in (4, MANY, 16 * MANY):
            yield Case(f"slang: {name}, {size}", ours, formula, [torch.randn(size, device="cuda")])
    for given in comprehension.cases():
        layer = tracepack.comprehension.define(given.text)
        yield Case(f"comprehension: {given.name}", layer, given.torch, [x.cuda() for x in given.inputs])
    for name, (text, shapes, reference) in layers.CASES.items():
        layer = tracepack.comprehension.define(text)
        yield Case(f"layer: {name}", layer, reference, [torch.randn(shape, device="cuda") for shape in shapes])
    yield packed_cell()


def packed_cell() -> Case:
    """The cell of the first page, saved and loaded for the card."""
    model, x, h = MyCell().eval().cuda(), torch.rand(3, 4, device="cuda"), torch.rand(3, 4, device="cuda")
    op = tracepack.script(model, device=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cell.tpk"
        tracepack.trace(lambda x, h: op(x, h), x, h).save(path)
        loaded = tracepack.load(path, device=0)

    def eager(x: torch.Tensor, h: torch.Tensor) -> Any:
        with torch.inference_mode():
            return model(x, h)

    return Case("packed cell", lambda x, h: loaded.run({"x": x, "h": h}), eager, [x, h], trains=False)


def first(result: Any) -> torch.Tensor:
    """The first tensor of a result."""
    return result if isinstance(result, torch.Tensor) else result[0]


def waiting(run: Run) -> Run:
    """The run, until the card is done."""

    def whole() -> None:
        run()
        torch.cuda.synchronize()

    return whole


def trained(run: Run, inputs: Sequence[torch.Tensor], seed: torch.Tensor) -> Run:
    """The run and its gradient for every float input."""
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    wanted = [x for x in leaves if x.requires_grad]
    return lambda: torch.autograd.grad(first(run(*leaves)), wanted, seed)


def row(case: Case, compiled: bool, seconds: float) -> dict[str, Any]:
    """One case's times in microseconds and the largest difference of its result, relative to torch's largest value."""
    expected, found = first(case.torch(*case.inputs)), first(case.ours(*case.inputs))
    error = float((found - expected).abs().max() / expected.abs().max())
    sides = {"ours": case.ours, "torch": case.torch}
    if compiled:
        sides["compile"] = torch.compile(case.torch, dynamic=False)
    times = {"forward": {name: waiting(lambda f=f: f(*case.inputs)) for name, f in sides.items()}}
    if case.trains:
        seed = torch.ones_like(expected)
        times["with gradient"] = {name: waiting(trained(f, case.inputs, seed)) for name, f in sides.items()}
    measured = {way: comprehension.interleaved(runs, seconds) for way, runs in times.items()}
    in_us = {way: {name: 1e6 * value for name, value in found.items()} for way, found in measured.items()}
    return {"case": case.name, "error": error, **in_us}


def main(arguments: Sequence[str] = ()) -> None:
    """Times the named cases, or all of them; a whole run is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", help="parts of the names of cases")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case and way")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(list(arguments))
    if not torch.cuda.is_available():
        print("this machine has no CUDA device: nothing to time")
        return
    torch.manual_seed(0)
    rows = []
    for case in cases():
        if args.cases and not any(part in case.name for part in args.cases):
            continue
        rows.append(row(case, not args.no_compile, args.seconds))
        print(json.dumps(rows[-1]), flush=True)
    if not args.cases or args.results != RESULTS:
        device = {"card": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}
        args.results.write_text(json.dumps({**device, "rows": rows}, indent=1) + "\n")
