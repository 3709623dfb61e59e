# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Products of matrices and layers made of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from tests.comprehension.operator_cases.case import Maker, case

case("fc", "def f({t}(B,K) X, {t}(M,K) W, {t}(M) b) -> (O) {{ O(n,m) +=! X(n,k) * W(m,k)\n O(n,m) = O(n,m) + b(m) }}",
     lambda m: [m.f(5 + m.k, 7), m.f(20 + m.k, 7), m.f(20 + m.k)], F.linear)  # fmt: skip
case("fc relu", "def f({t}(B,K) X, {t}(M,K) W, {t}(M) b) -> (O) {{ O(n,m) +=! X(n,k) * W(m,k)\n"
     " O(n,m) = fmax(O(n,m) + b(m), 0.0) }}",
     lambda m: [m.f(5, 7 + m.k), m.f(20, 7 + m.k), m.f(20)], lambda x, w, b: F.linear(x, w, b).relu())  # fmt: skip


def mlp(layers: int) -> tuple[str, Callable[[Maker], list[torch.Tensor]], Callable[..., torch.Tensor]]:
    """An MLP of so many layers."""
    params = ", ".join(f"{{t}}(N{i + 1},N{i}) W{i}, {{t}}(N{i + 1}) B{i}" for i in range(layers))
    body, last = [], "X"
    for i in range(layers):
        out = "O" if i == layers - 1 else f"h{i}"
        body.append(f" {out}(b,m) +=! {last}(b,k) * W{i}(m,k)\n {out}(b,m) = fmax({out}(b,m) + B{i}(m), 0.0)")
        last = out
    text = f"def f({{t}}(B,N0) X, {params}) -> (O) {{{{\n" + "\n".join(body) + "\n}}"

    def inputs(m: Maker) -> list[torch.Tensor]:
        sizes = [6 + m.k, 9, 5, 8, 4][: layers + 1]
        pairs = [(m.f(sizes[i + 1], sizes[i]), m.f(sizes[i + 1])) for i in range(layers)]
        return [m.f(3, sizes[0]), *(t for pair in pairs for t in pair)]

    def reference(x: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        for w, b in zip(parameters[::2], parameters[1::2], strict=True):
            x = F.linear(x, w, b).relu()
        return x

    return text, inputs, reference


for _layers in (1, 2, 3, 4):
    case(f"mlp {_layers}", *mlp(_layers))
case("matmul", "def f({t}(M,K) A, {t}(K,N) B) -> (C) {{ C(m,n) +=! A(m,k) * B(k,n) }}",
     lambda m: [m.f(17, 9 + m.k), m.f(9 + m.k, 35)], torch.mm, dtypes=("float", "double", "float16"))  # fmt: skip
case("matmul transposed", "def f({t}(K,M) A, {t}(N,K) B) -> (C) {{ C(m,n) +=! A(k,m) * B(n,k) }}",
     lambda m: [m.f(9, 17 + m.k), m.f(21, 9)], lambda a, b: a.T @ b.T)  # fmt: skip
case("matmul gradient", "def f({t}(M,K) A, {t}(K,N) B, {t}(M,N) G) -> (dA, dB) {{\n"
     " dA(m,k) +=! G(m,n) * B(k,n)\n dB(k,n) +=! G(m,n) * A(m,k) }}",
     lambda m: [m.f(6, 9), m.f(9, 5 + m.k), m.f(6, 5 + m.k)], lambda a, b, g: [g @ b.T, a.T @ g])  # fmt: skip
case("matmul batched", "def f({t}(B,M,K) X, {t}(B,K,N) Y) -> (Z) {{ Z(b,m,n) +=! X(b,m,k) * Y(b,k,n) }}",
     lambda m: [m.f(3, 6, 9 + m.k), m.f(3, 9 + m.k, 5)], torch.bmm)  # fmt: skip
case("triple hadamard", "def f({t}(N) A, {t}(N) B, {t}(N) C) -> (D) {{ D(i) = A(i) * B(i) * C(i) }}",
     lambda m: [m.f(33 + m.k), m.f(33 + m.k), m.f(33 + m.k)], lambda a, b, c: a * b * c)  # fmt: skip
case("tensordot", "def f({t}(N,C1,C2,H) A, {t}(N,C2,C3,H) B) -> (O) {{ O(n,c1,c3,h) +=! A(n,c1,c2,h) * B(n,c2,c3,h) }}",
     lambda m: [m.f(2, 3, 4, 5 + m.k), m.f(2, 4, 6, 5 + m.k)],
     lambda a, b: torch.einsum("nabh,nbch->nach", a, b))  # fmt: skip
case("kronecker", "def f({t}(A,B) X, {t}(C,D) Y) -> (O) {{ O(i,j) = X(i/C, j/D) * Y(i%C, j%D) where i in 0:A*C, j in 0:B*D }}",
     lambda m: [m.f(3, 4 + m.k), m.f(2, 5)], torch.kron)  # fmt: skip
case("kronecker 3", "def f({t}(A,B) X, {t}(C,D) Y, {t}(K,A,C) Z) -> (O) {{\n"
     " s(k,a,d) +=! Z(k,a,c) * Y(c,d)\n O(k,b,d) +=! s(k,a,d) * X(a,b) }}",
     lambda m: [m.f(3, 4 + m.k), m.f(2, 5), m.f(6, 3, 2)],
     lambda x, y, z: (z.flatten(1) @ torch.kron(x, y)).unflatten(1, (x.shape[1], y.shape[1])))  # fmt: skip
