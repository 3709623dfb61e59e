# ruff: noqa: E501 - texts of comprehensions read better on one line
"""What the language itself offers: parts, constants, conditions."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.comprehension.operator_cases.case import VECTOR, case

case(
    "scan",
    "def f({t}(N) A) -> (O) {{ O(i) +=! A(j) where i in 0:N, j in 0:i+1 }}",
    VECTOR,
    lambda a: a.cumsum(0),
)
case("scalar reduction", "def f({t}(N,M) A) -> (O) {{ O +=! A(i,j) }}", lambda m: [m.f(7, 30 + m.k)], torch.sum)
case("exists and let", "def f({t}(N) A, {t}(M) B) -> (O) {{ O(i) +=! x * B(k) where x = A(i+k), exists A(i+k) }}",
     lambda m: [m.f(31 + m.k), m.f(3)], lambda a, b: F.conv1d(a[None, None], b[None, None])[0, 0])  # fmt: skip
case("bool operators", "def f(bool(N) A, bool(N) B) -> (O) {{ O(i) = A(i) && !B(i) || (A(i) != B(i) && i % 2 == 0) }}",
     lambda m: [m.b(37 + m.k), m.b(37 + m.k)],
     lambda a, b: a & ~b | ((a != b) & (torch.arange(len(a)) % 2 == 0)), dtypes=("float",), gradient=False)  # fmt: skip
case(
    "product",
    "def f({t}(N,K) A) -> (O) {{ O(n) *=! A(n,k) }}",
    lambda m: [m.positive(5, 6 + m.k)],
    lambda a: a.prod(1),
)
case("row max", "def f({t}(N,K) A) -> (O) {{ O(n) max=! A(n,k) }}", lambda m: [m.f(5, 35 + m.k)], lambda a: a.amax(1),
     dtypes=("float", "double", "float16"))  # fmt: skip
case("int arithmetic", "def f(int32(N) A, int32(N) B) -> (Q, R, S) {{ Q(i) = A(i) / B(i)\n R(i) = A(i) % B(i)\n"
     " S(i) = min(A(i), B(i)) * 3 - abs(A(i)) }}",
     lambda m: [m.i(41, 37 + m.k, dtype=torch.int32) - 20, m.i(2, 37 + m.k, dtype=torch.int32) * 14 - 7],
     lambda a, b: [torch.div(a, b, rounding_mode="floor"), a % b, torch.minimum(a, b) * 3 - a.abs()],
     dtypes=("float",), gradient=False)  # fmt: skip
case("int sums", "def f(int64(N,K) A, uint8(N,K) B) -> (O, P) {{ O(n) +=! A(n,k)\n P(n) max=! B(n,k) }}",
     lambda m: [m.i(1 << 40, 5, 19 + m.k), m.i(255, 5, 19 + m.k, dtype=torch.uint8)],
     lambda a, b: [a.sum(1), b.amax(1)], dtypes=("float",), gradient=False)  # fmt: skip
case("rewritten part", "def f({t}(N) A) -> (O) {{ O(i) = A(i)\n O(i) = 2.0 * A(i) where i in 2:7\n O(i) += A(i) }}", VECTOR,
     lambda a: 2 * a + torch.cat([a[:2] * 0, a[2:7], a[7:] * 0]))  # fmt: skip
