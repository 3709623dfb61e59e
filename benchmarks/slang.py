"""Slang functions against torch eager, torch.compile and SlangPy's own functional API: ratios, on one thread.

All sides run in one process, turn by turn, and the smallest time of many rounds counts, so that what else the
machine does falls on all of them alike. Run it with: python benchmarks/slang.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tracepack.ops import slang

SOURCE = """
[Differentiable]
float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }

[Differentiable]
float twelve(float x) {
    float y = exp(-x * x) * sin(x) + cos(x) * x;
    return tanh(y) + sqrt(x * x + 1) + log(1 + x * x);
}

[Differentiable]
float arithmetic(float x) {
    float y = x * x + 0.5 * x - 1.0;
    float z = y * x - y * 0.25 + 2.0;
    return z * z + y * z - x * 3.0;
}
"""
Runs = dict[str, Callable[[], object]]


def polynomial(x: torch.Tensor) -> torch.Tensor:
    return 2 * x * x + 8 * x - 1


def twelve(x: torch.Tensor) -> torch.Tensor:
    y = torch.exp(-x * x) * torch.sin(x) + torch.cos(x) * x
    return torch.tanh(y) + torch.sqrt(x * x + 1) + torch.log(1 + x * x)


def arithmetic(x: torch.Tensor) -> torch.Tensor:
    y = x * x + 0.5 * x - 1.0
    z = y * x - y * 0.25 + 2.0
    return z * z + y * z - x * 3.0


def smallest(runs: Runs, rounds: int, repeats: int) -> dict[str, float]:
    """The smallest time of each side in microseconds, taken in turns."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return {name: seconds * 1e6 for name, seconds in best.items()}


def both_ways(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Callable[[], object]:
    """Forward and backward, with a gradient of ones."""
    ones = torch.ones_like(x)
    return lambda: torch.autograd.grad(function(x), x, ones)


def eager_and_compiled(module: slang.SlangModule) -> dict[str, dict[str, float]]:
    """Each function at both sizes, forward and forward with backward."""
    ours = {
        "polynomial": (lambda x: module.polynomial(a=2, b=8, c=-1, x=x), polynomial),
        "12 functions": (module.twelve, twelve),
        "12 operations": (module.arithmetic, arithmetic),
    }
    table = {}
    for name, (slang_function, formula) in ours.items():
        compiled = torch.compile(formula, dynamic=False)
        for size, rounds, repeats in ((4, 40, 500), (1 << 20, 30, 3)):
            x = torch.randn(size)
            runs: Runs = {
                "slang": lambda f=slang_function, x=x: f(x),
                "eager": lambda f=formula, x=x: f(x),
                "compile": lambda f=compiled, x=x: f(x),
            }
            table[f"{name}, {size}, forward"] = smallest(runs, rounds, repeats)
            y = torch.randn(size, requires_grad=True)
            runs = {
                "slang": both_ways(slang_function, y),
                "eager": both_ways(formula, y),
                "compile": both_ways(compiled, y),
            }
            table[f"{name}, {size}, forward and backward"] = smallest(runs, rounds, max(repeats // 3, 1))
    return table


def broadcast(module: slang.SlangModule) -> dict[str, dict[str, float]]:
    """A row of coefficients for each of 1024 rows, which nobody should copy 1024 times."""
    a, b, c, x = (torch.randn(size) for size in ((1024,), (1024,), (1024,), (1024, 1024)))

    def formula(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return a * x * x + b * x + c

    compiled = torch.compile(formula, dynamic=False)
    runs: Runs = {
        "slang": lambda: module.polynomial(a, b, c, x),
        "eager": lambda: formula(a, b, c, x),
        "compile": lambda: compiled(a, b, c, x),
    }
    return {"polynomial with rows of coefficients, 1048576, forward": smallest(runs, 30, 3)}


def against_slangpy(module: slang.SlangModule) -> dict[str, float]:
    """One million elements through SlangPy's functional API on its CPU device."""
    import slangpy as spy

    device = slang.create_device("cpu")
    numbers = np.random.default_rng(0).standard_normal(1 << 20, dtype=np.float32)
    x, filled = spy.Tensor.from_numpy(device, numbers), spy.Tensor.empty(device, (1 << 20,), float)
    tensor = torch.from_numpy(numbers)
    return smallest(
        {
            "slang": lambda: module.polynomial(a=2, b=8, c=-1, x=tensor),
            "slangpy": lambda: module.polynomial(a=2, b=8, c=-1, x=x, _result=filled),
        },
        8,
        2,
    )


_START = """
import sys, time, torch
torch.set_num_threads(1)
x = torch.ones(4)
start = time.perf_counter()
from tracepack.ops.slang import load
imported = time.perf_counter()
load(open(sys.argv[1]).read()).polynomial(a=2, b=8, c=-1, x=x)
print(imported - start, time.perf_counter() - imported)
"""


def starting() -> dict[str, float]:
    """Milliseconds from nothing to the first result, with an empty cache and with a full one."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "source.slang")
        path.write_text(SOURCE)
        environment = {**os.environ, "TRACEPACK_CACHE": directory}
        found = {}
        for name, times in (("cold", 1), ("warm", 7)):
            runs = [
                subprocess.run(
                    [sys.executable, "-c", _START, str(path)],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                for _ in range(times)
            ]
            found[name] = 1e3 * min(float(run[1]) for run in runs)
            found[f"{name} import"] = 1e3 * min(float(run[0]) for run in runs)
        return found


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = slang.load(SOURCE)
    table = {**eager_and_compiled(module), **broadcast(module)}
    print(f"{'':56}{'slang us':>10}{'eager us':>10}{'compile us':>11}{'/eager':>8}{'/compile':>9}")
    for name, row in table.items():
        ratios = row["slang"] / row["eager"], row["slang"] / row["compile"]
        print(
            f"{name:56}{row['slang']:10.1f}{row['eager']:10.1f}{row['compile']:11.1f}{ratios[0]:8.2f}{ratios[1]:9.2f}"
        )
    slangpy = against_slangpy(module)
    print(f"SlangPy's functional API, polynomial at 1 M: {slangpy['slangpy'] / slangpy['slang']:.0f} times as long")
    start = starting()
    print(
        f"first result: cold {start['cold']:.0f} ms, warm {start['warm']:.1f} ms (import {start['warm import']:.0f} ms)"
    )
    results = {"torch": torch.__version__, "microseconds": table, "slangpy": slangpy, "start_ms": start}
    path = Path(__file__).parent / "results" / "slang.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
