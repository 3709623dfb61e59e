# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Functions of each element, and changes of layout."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.comprehension.operator_cases.case import VECTOR, case

case(
    "relu",
    "def f({t}(N) A) -> (B) {{ B(i) = fmax(A(i), {t}(0)) }}",
    VECTOR,
    torch.relu,
    dtypes=("float", "double", "float16"),
)
case("sigmoid", "def f({t}(N) A) -> (B) {{ B(i) = sigmoid(A(i)) }}", VECTOR, torch.sigmoid)
case("tanh", "def f({t}(N) A) -> (B) {{ B(i) = tanh(A(i)) }}", VECTOR, torch.tanh)
case("cos", "def f({t}(N) A) -> (B) {{ B(i) = cos(A(i)) }}", VECTOR, torch.cos)
case("abs", "def f({t}(N) A) -> (B) {{ B(i) = A(i) < 0 ? -A(i) : A(i) }}", VECTOR, torch.abs)
case("add", "def f({t}(N) A, {t}(N) B) -> (C) {{ C(i) = A(i) + B(i) }}", lambda m: [m.f(41 + m.k), m.f(41 + m.k)],
     torch.add, dtypes=("float", "double", "float16"))  # fmt: skip
case("copy", "def f({t}(N,M) A) -> (B) {{ B(i,j) = A(i,j) }}", lambda m: [m.f(7, 9 + m.k)], torch.clone)
case("scale", "def f({t}(N,M) A, {t} s) -> (B) {{ B(i,j) = A(i,j) * s }}", lambda m: [m.f(7, 9 + m.k), m.f()],
     lambda a, s: a * s)  # fmt: skip
case(
    "cast to int",
    "def f({t}(N) A) -> (B) {{ B(i) = int32(A(i) * 4) }}",
    VECTOR,
    lambda a: (a * 4).to(torch.int32),
    gradient=False,
)
case(
    "cast to double",
    "def f({t}(N) A) -> (B) {{ B(i) = double(A(i)) * 2.0 }}",
    VECTOR,
    lambda a: a.double() * 2,
)
case("concat", "def f({t}(M,N) A, {t}(M,N) B) -> (O) {{ O(n,i,m) = i == 0 ? A(m,n) : B(m,n) where i in 0:2, m in 0:M, n in 0:N }}",
     lambda m: [m.f(5, 7 + m.k), m.f(5, 7 + m.k)], lambda a, b: torch.stack([a.T, b.T], 1))  # fmt: skip
case("concat parts", "def f({t}(N) A, {t}(M) B) -> (O) {{ O(i) = i < N ? A(i) : B(i - N) where i in 0:N+M }}",
     lambda m: [m.f(5), m.f(18 + m.k)], lambda a, b: torch.cat([a, b]))  # fmt: skip
case("transpose", "def f({t}(A,B,C) X) -> (O) {{ O(k,i,j) = X(i,j,k) }}", lambda m: [m.f(3, 4, 17 + m.k)],
     lambda x: x.permute(2, 0, 1))  # fmt: skip
case("padding", "def f({t}(H,W) X) -> (O) {{ O(h,w) = h >= 2 && h < H+2 && w >= 1 && w < W+1 ? X(h-2,w-1) : 0.0"
     " where h in 0:H+4, w in 0:W+2 }}", lambda m: [m.f(4, 17 + m.k)], lambda x: F.pad(x, (1, 1, 2, 2)))  # fmt: skip
case(
    "modulo",
    "def f({t}(N) A) -> (O) {{ O(i) = A(i % N) where i in 0:3*N }}",
    lambda m: [m.f(13 + m.k)],
    lambda a: a.repeat(3),
)
case("shift", "def f({t}(N) A) -> (O) {{ O(i) = A(i + 3) where i in 0:N-3 }}", VECTOR, lambda a: a[3:])
case(
    "stride",
    "def f({t}(N) A) -> (O) {{ O(i) = A(3*i + 1) }}",
    lambda m: [m.f(41 + 3 * m.k)],
    lambda a: a[1::3],
)
case("reverse", "def f({t}(N) A) -> (O) {{ O(i) = A(N - 1 - i) where i in 0:N }}", VECTOR, lambda a: a.flip(0))
case(
    "diagonal",
    "def f({t}(N,N) A) -> (O) {{ O(i) = A(i,i) }}",
    lambda m: [m.f(19 + m.k, 19 + m.k)],
    torch.diagonal,
)
case("rows of two", "def f({t}(N,M) A) -> (O) {{ O(i,j) = A(i,j) - A(i+1,j) }}", lambda m: [m.f(6, 18 + m.k)],
     lambda a: a[:-1] - a[1:])  # fmt: skip
