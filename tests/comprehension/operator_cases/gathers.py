# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Look-ups by an index."""

from __future__ import annotations

import torch

from tests.comprehension.operator_cases.case import case

case("indexing", "def f({t}(H,W) X, int32(L) I) -> (O) {{ O(l,w) = X(I(l),w) }}",
     lambda m: [m.f(9, 17 + m.k), m.i(9, 5, dtype=torch.int32)], lambda x, i: x[i.long()])  # fmt: skip
case("lookup", "def f({t}(V,D) T, int64(B,L) I) -> (O) {{ O(b,d) +=! T(I(b,l),d) }}",
     lambda m: [m.f(11, 17 + m.k), m.i(11, 4, 3)], lambda t, i: t[i].sum(1))  # fmt: skip
case("lookup two", "def f({t}(V,D) T, int64(B,L) I, {t}(U,D) S, int64(B,K) J) -> (O, P) {{\n"
     " O(b,d) +=! T(I(b,l),d)\n P(b,d) +=! S(J(b,l),d) }}",
     lambda m: [m.f(11, 17 + m.k), m.i(11, 4, 3), m.f(7, 17 + m.k), m.i(7, 4, 2)],
     lambda t, i, s, j: [t[i].sum(1), s[j].sum(1)])  # fmt: skip
case("lookup weighted", "def f({t}(V,D) T, int64(B,L) I, {t}(B,L) w) -> (O) {{ O(b,d) +=! T(I(b,l),d) * w(b,l) }}",
     lambda m: [m.f(11, 17 + m.k), m.i(11, 4, 3), m.f(4, 3)], lambda t, i, w: (t[i] * w[..., None]).sum(1))  # fmt: skip
case("lookup fc", "def f({t}(V,D) T, int64(B,L) I, {t}(M,D) W) -> (O) {{ e(b,d) +=! T(I(b,l),d)\n O(b,m) +=! e(b,d) * W(m,d) }}",
     lambda m: [m.f(11, 17 + m.k), m.i(11, 4, 3), m.f(5, 17 + m.k)], lambda t, i, w: t[i].sum(1) @ w.T)  # fmt: skip
case("argmin", "def f({t}(N,K) A) -> (O) {{ low(n) min=! A(n,k)\n O(n) min=! A(n,k) == low(n) ? k : K }}",
     lambda m: [m.f(6, 19 + m.k)], lambda a: a.argmin(1).to(torch.int32), gradient=False)  # fmt: skip
case("argmin nearest", "def f({t}(N,D) X, {t}(K,D) C) -> (O) {{ d(n,k) +=! (X(n,i) - C(k,i)) * (X(n,i) - C(k,i))\n"
     " low(n) min=! d(n,k)\n O(n) min=! d(n,k) == low(n) ? k : K }}",
     lambda m: [m.f(6, 4 + m.k), m.f(19, 4 + m.k)],
     lambda x, c: (x[:, None] - c).square().sum(2).argmin(1).to(torch.int32), gradient=False)  # fmt: skip
