# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Layers as comprehensions at usual sizes, untuned, against torch's own operators: forward, and with the gradient.

    python -m benchmarks layers [--threads 1 2] [--cases softmax ...]

Every figure is the least of many interleaved runs, as a ratio of torch's time: below 1 is faster than torch. The
results of the last whole run, without arguments, are kept in `benchmarks/results/layers.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.comprehension import SOFTMAX, Case, interleaved
from tracepack.ops.comprehension import define

RESULTS = Path(__file__).parent / "results" / "layers.json"
CASES: dict[str, tuple[str, list[tuple[int, ...]], Callable[..., torch.Tensor]]] = {
    "average pool": (
        "def f(float(B,C,H,W) X) -> (O) { s(b,c,h,w) +=! X(b,c,2*h+kh,2*w+kw) where kh in 0:2, kw in 0:2\n O(b,c,h,w) = s(b,c,h,w) / 4.0 }",
        [(16, 64, 56, 56)], lambda x: F.avg_pool2d(x, 2),
    ),
    "max pool": (
        "def f(float(B,C,H,W) X) -> (O) { O(b,c,h,w) max=! X(b,c,2*h+kh,2*w+kw) where kh in 0:3, kw in 0:3 }",
        [(16, 64, 57, 57)], lambda x: F.max_pool2d(x, 3, 2),
    ),
    "conv, stride 2": (
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) K) -> (O) { O(n,m,h,w) +=! I(n,c,2*h+kh,2*w+kw) * K(m,c,kh,kw) }",
        [(8, 32, 61, 61), (64, 32, 3, 3)], lambda i, k: F.conv2d(i, k, stride=2),
    ),
    "conv, depthwise": (
        "def f(float(N,C,H,W) I, float(C,KH,KW) K) -> (O) { O(n,c,h,w) +=! I(n,c,h+kh,w+kw) * K(c,kh,kw) }",
        [(8, 64, 58, 58), (64, 3, 3)], lambda i, k: F.conv2d(i, k[:, None], groups=64),
    ),
    "conv, transposed": (
        "def f(float(N,C,H,W) I, float(C,M,KH,KW) K) -> (O) { O(n,m,y,x) +=! y >= kh && (y-kh) % 2 == 0 && (y-kh)/2 < H && x >= kw && (x-kw) % 2 == 0 && (x-kw)/2 < W ? I(n,c,(y-kh)/2,(x-kw)/2) * K(c,m,kh,kw) : 0.0 where y in 0:2*H+KH-2, x in 0:2*W+KW-2, n in 0:N, c in 0:C, m in 0:M, kh in 0:KH, kw in 0:KW }",
        [(4, 32, 16, 16), (32, 16, 3, 3)], lambda i, k: F.conv_transpose2d(i, k, stride=2),
    ),
    "wavenet gate": (
        "def f(float(B,C,T) X, float(M,C,K) P, float(M,C,K) Q) -> (O) { a(b,m,t) +=! X(b,c,t+2*k) * P(m,c,k)\n g(b,m,t) +=! X(b,c,t+2*k) * Q(m,c,k)\n O(b,m,t) = tanh(a(b,m,t)) * sigmoid(g(b,m,t)) }",
        [(8, 32, 1000), (32, 32, 2), (32, 32, 2)],
        lambda x, p, q: F.conv1d(x, p, dilation=2).tanh() * F.conv1d(x, q, dilation=2).sigmoid(),
    ),
    "linear + relu": (
        "def f(float(B,K) X, float(M,K) W, float(M) b) -> (O) { O(n,m) +=! X(n,k) * W(m,k)\n O(n,m) = fmax(O(n,m) + b(m), 0.0) }",
        [(128, 512), (256, 512), (256,)], lambda x, w, b: F.linear(x, w, b).relu(),
    ),
    "matmul, batched": (
        "def f(float(B,M,K) X, float(B,K,N) Y) -> (Z) { Z(b,m,n) +=! X(b,m,k) * Y(b,k,n) }",
        [(16, 128, 64), (16, 64, 128)], torch.bmm,
    ),
    "softmax": (SOFTMAX, [(1024, 1024)], lambda x: x.softmax(1)),
    "layer norm": (
        "def f(float(T,C) I, float(C) g, float(C) b) -> (O) { m(t) +=! I(t,c)\n m(t) = m(t) / C\n v(t) +=! (I(t,c) - m(t)) * (I(t,c) - m(t))\n O(t,c) = (I(t,c) - m(t)) * rsqrt(v(t) / C + 0.00001) * g(c) + b(c) }",
        [(1024, 768), (768,), (768,)], lambda i, g, b: F.layer_norm(i, i.shape[1:], g, b),
    ),
    "batch norm": (
        "def f(float(N,C,H,W) I, float(C) g, float(C) b) -> (O) { m(c) +=! I(n,c,h,w)\n m(c) = m(c) / (N*H*W)\n v(c) +=! (I(n,c,h,w) - m(c)) * (I(n,c,h,w) - m(c))\n r(c) = rsqrt(v(c) / (N*H*W) + 0.00001)\n O(n,c,h,w) = (I(n,c,h,w) - m(c)) * r(c) * g(c) + b(c) }",
        [(16, 32, 28, 28), (32,), (32,)], lambda i, g, b: F.batch_norm(i, None, None, g, b, training=True),
    ),
    "cosine similarity": (
        "def f(float(M,N) A, float(M,N) B) -> (O) { ab(m) +=! A(m,n) * B(m,n)\n aa(m) +=! A(m,n) * A(m,n)\n bb(m) +=! B(m,n) * B(m,n)\n O(m) = ab(m) * rsqrt(aa(m)) * rsqrt(bb(m)) }",
        [(2048, 384), (2048, 384)], lambda a, b: F.cosine_similarity(a, b, 1),
    ),
    "kronecker product": (
        "def f(float(A,B) X, float(C,D) Y) -> (O) { O(i,j) = X(i/C, j/D) * Y(i%C, j%D) where i in 0:A*C, j in 0:B*D }",
        [(32, 32), (16, 16)], torch.kron,
    ),
    "scale": ("def f(float(N,M) A, float(M) s) -> (B) { B(i,j) = A(i,j) * s(j) }", [(512, 512), (512,)], torch.mul),
}  # fmt: skip


def row(case: Case) -> dict[str, float]:
    """Torch's milliseconds and our share of them, forward and with the gradient."""
    layer, inputs = define(case.text), case.inputs
    forward = interleaved({"torch": lambda: case.torch(*inputs), "ours": lambda: layer(*inputs)}, 1.0)
    leaves = [x.clone().requires_grad_() for x in inputs]
    seed = torch.randn_like(case.torch(*inputs))

    def step(f: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(f(*leaves), leaves, seed)

    training = interleaved({"torch": step(case.torch), "ours": step(layer)}, 1.5)
    return {
        "torch_ms": 1e3 * forward["torch"],
        "forward": forward["ours"] / forward["torch"],
        "training_torch_ms": 1e3 * training["torch"],
        "training": training["ours"] / training["torch"],
    }


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cases", nargs="*")
    args = parser.parse_args(arguments)
    results: dict[str, Any] = {"torch": torch.__version__}
    print(f"{'layer':20} {'threads':>7} {'torch ms':>9} {'forward':>8} {'torch ms':>9} {'with gradient':>13}")
    for threads in args.threads:
        torch.set_num_threads(threads)
        for name, (text, shapes, reference) in CASES.items():
            if args.cases and name not in args.cases:
                continue
            torch.manual_seed(0)
            found = row(Case(name, text, [torch.randn(s) for s in shapes], reference))
            results[f"{name}/{threads}"] = found
            print(f"{name:20} {threads:7} {found['torch_ms']:9.3f} {found['forward']:8.2f} "
                  f"{found['training_torch_ms']:9.3f} {found['training']:13.2f}", flush=True)  # fmt: skip
    if not arguments:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
