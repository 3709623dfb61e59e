"""The seven cases of tensor comprehensions against torch's own operator and torch.compile of the same formula.

    python -m benchmarks comprehension [--seconds 60] [--threads 1 2] [--cases conv1x1 ...] [--no-compile]

Every figure is the least of many interleaved runs, as a ratio of torch's time: below 1 is faster than torch. The
results of the last whole run, without arguments, are kept in `benchmarks/results/comprehension.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from tracepack.ops.comprehension import Layer, Options, define
from tracepack.ops.kernels.cpu import target
from tracepack.ops.kernels.toolchain import compiler_version

RESULTS = Path(__file__).parent / "results" / "comprehension.json"
CONV = """def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {
  O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw)
}"""
MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
ROWMAX = "def rowmax(float(M,K) A) -> (C) { C(m) max=! A(m,k) }"
SOFTMAX = """def softmax(float(N,D) I) -> (O) {
  top(n) max=! I(n,d)
  e(n,d) = exp(I(n,d) - top(n))
  s(n) +=! e(n,d)
  O(n,d) = e(n,d) / s(n)
}"""
LOOKUP = "def lookup(float(V,D) T, int64(N,K) I) -> (O) { O(i,j) +=! T(I(i,k),j) }"


@dataclass
class Case:
    """One row: the text, its inputs, and torch's own operator."""

    name: str
    text: str
    inputs: list[torch.Tensor]
    torch: Callable[..., torch.Tensor]


def cases() -> list[Case]:
    torch.manual_seed(0)
    image = torch.randn(32, 4, 56, 56)
    return [
        Case("conv1x1", CONV, [image, torch.randn(16, 4, 1, 1)], F.conv2d),
        Case("conv3x3", CONV, [image, torch.randn(16, 4, 3, 3)], F.conv2d),
        Case("conv3x3-64", CONV, [torch.randn(8, 64, 28, 28), torch.randn(64, 64, 3, 3)], F.conv2d),
        Case("matmul512", MATMUL, [torch.randn(512, 512), torch.randn(512, 512)], torch.mm),
        Case("rowmax", ROWMAX, [torch.randn(4096, 1024)], lambda a: a.amax(1)),
        Case("softmax", SOFTMAX, [torch.randn(1024, 1024)], lambda a: a.softmax(1)),
        Case(
            "lookup-sum", LOOKUP, [torch.randn(10000, 64), torch.randint(0, 10000, (512, 32))],
            lambda t, i: F.embedding_bag(i, t, mode="sum"),
        ),
    ]  # fmt: skip


def interleaved(functions: dict[str, Callable[[], Any]], seconds: float = 2.0) -> dict[str, float]:
    """The least time of each function, run in turns so that noise meets all of them."""
    best = dict.fromkeys(functions, float("inf"))
    for f in functions.values():
        f()
        f()
    end = time.monotonic() + seconds
    rounds = 0
    while rounds < 10 or (time.monotonic() < end and rounds < 3000):
        for name, f in functions.items():
            start = time.perf_counter()
            f()
            best[name] = min(best[name], time.perf_counter() - start)
        rounds += 1
    return best


def tuned(case: Case, seconds: float, **more: Any) -> tuple[Layer, Any, float]:
    layer = define(case.text)
    start = time.monotonic()
    options = layer.autotune(
        *case.inputs, seconds=seconds, generations=6, pop_size=24, threads=2, progress=False, **more
    )
    return layer, options, time.monotonic() - start


def forward_row(case: Case, seconds: float, compiled: bool) -> dict[str, Any]:
    """Torch, torch.compile, the torch emitter, the analysis's choice, and the tuned one."""
    layer, options, took = tuned(case, seconds)
    default, reference = define(case.text), define(case.text)
    reference.set_tuned([tuple(x.shape) for x in case.inputs], [_TORCH])
    functions: dict[str, Callable[[], Any]] = {
        "torch": lambda: case.torch(*case.inputs),
        "torch emitter": lambda: reference(*case.inputs),
        "analysis": lambda: default(*case.inputs),
        "tuned": lambda: layer(*case.inputs),
    }
    if compiled:
        f = torch.compile(case.torch)
        functions["torch.compile"] = lambda: f(*case.inputs)
    found = interleaved(functions)
    row: dict[str, Any] = {"torch_ms": 1e3 * found["torch"], "tuning_s": took}
    row |= {name: found[name] / found["torch"] for name in functions if name != "torch"}
    row["emitter"] = "torch" if options.preset == "torch" else "C++"
    return row


_TORCH = Options("torch")


def training_row(case: Case, seconds: float) -> dict[str, Any]:
    """Forward and backward together, on the sum of the output."""
    inputs = [x.clone().requires_grad_() for x in case.inputs]
    layer, _, took = tuned(Case(case.name, case.text, inputs, case.torch), seconds, training=True)
    plain = define(case.text)
    seed = torch.ones_like(case.torch(*case.inputs))

    def step(f: Callable[..., torch.Tensor]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(f(*inputs), inputs, seed)

    found = interleaved({"torch": step(case.torch), "analysis": step(plain), "tuned": step(layer)})
    ratios = {n: found[n] / found["torch"] for n in ("analysis", "tuned")}
    return {"torch_ms": 1e3 * found["torch"], "tuning_s": took, **ratios}


def call_cost() -> dict[str, float]:
    """Microseconds of a call whose kernel does next to nothing, of its compiled function alone, and of torch.add."""
    layer = define("def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }")
    a, b = torch.randn(8), torch.randn(8)
    layer(a, b)
    run = layer.plan([a, b]).forward
    out = torch.empty(8)
    pointers = [a.data_ptr(), b.data_ptr(), out.data_ptr(), 0]
    entry = run._entry  # type: ignore[attr-defined]  # mypy does not know the attribute, which is set dynamically

    def many(f: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: [f() for _ in range(200)]

    found = interleaved(
        {
            "call": many(lambda: layer(a, b)),
            "kernel": many(lambda: entry(*pointers)),
            "torch.add": many(lambda: torch.add(a, b)),
        }
    )
    micros = {n: 1e6 * t / 200 for n, t in found.items()}
    return {**micros, "over the kernel": micros["call"] - micros["kernel"]}


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cases", nargs="*")
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args(arguments)
    results: dict[str, Any] = {
        "target": target().name,
        "compiler": compiler_version(),
        "torch": torch.__version__,
    }
    print(f"{'case':12} {'threads':>7} {'torch ms':>9} {'compile':>8} {'torch em.':>9} {'analysis':>8} {'tuned':>6}")
    for threads in args.threads:
        torch.set_num_threads(threads)
        for case in cases():
            if args.cases and case.name not in args.cases:
                continue
            row = forward_row(case, args.seconds, not args.no_compile)
            results[f"{case.name}/{threads}"] = row
            print(f"{case.name:12} {threads:7} {row['torch_ms']:9.3f} {row.get('torch.compile', float('nan')):8.2f} "
                  f"{row['torch emitter']:9.2f} {row['analysis']:8.2f} {row['tuned']:6.2f}  "
                  f"{row['tuning_s']:.0f} s, {row['emitter']}", flush=True)  # fmt: skip
        if not args.cases or "conv1x1" in args.cases:
            row = training_row(cases()[0], args.seconds / 2)
            results[f"conv1x1 forward+backward/{threads}"] = row
            print(f"{'  fwd+bwd':12} {threads:7} {row['torch_ms']:9.3f} {'':8} {'':9} {row['analysis']:8.2f} "
                  f"{row['tuned']:6.2f}  {row['tuning_s']:.0f} s", flush=True)  # fmt: skip
    torch.set_num_threads(1)
    results["call_us"] = call_cost()
    print("a call, in us:", ", ".join(f"{n} {v:.2f}" for n, v in results["call_us"].items()))
    if not arguments:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
