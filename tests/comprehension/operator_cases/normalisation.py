# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Softmax and normalisation."""

from __future__ import annotations

import torch.nn.functional as F

from tests.comprehension.operator_cases.case import case

SOFTMAX = ("def f({t}(N,D) I) -> (O) {{ top(n) max=! I(n,d)\n e(n,d) = exp(I(n,d) - top(n))\n s(n) +=! e(n,d)\n"
           " O(n,d) = e(n,d) / s(n) }}")  # fmt: skip
case("softmax", SOFTMAX, lambda m: [m.f(5, 37 + m.k)], lambda x: x.softmax(1))
case("softmax outputs", SOFTMAX.replace("-> (O)", "-> (O, top, s)"), lambda m: [m.f(5, 20 + m.k)],
     lambda x: [x.softmax(1), x.amax(1), (x - x.amax(1, True)).exp().sum(1)])  # fmt: skip
case("batch norm", "def f({t}(N,C,H,W) I, {t}(C) g, {t}(C) b) -> (O) {{\n"
     " m(c) +=! I(n,c,h,w)\n m(c) = m(c) / (N*H*W)\n v(c) +=! (I(n,c,h,w) - m(c)) * (I(n,c,h,w) - m(c))\n"
     " r(c) = rsqrt(v(c) / (N*H*W) + 0.00001)\n O(n,c,h,w) = (I(n,c,h,w) - m(c)) * r(c) * g(c) + b(c) }}",
     lambda m: [m.f(3, 4, 5, 6 + m.k), m.f(4), m.f(4)],
     lambda i, g, b: F.batch_norm(i, None, None, g, b, training=True))  # fmt: skip
case("layer norm", "def f({t}(T,C) I, {t}(C) g, {t}(C) b) -> (O) {{\n"
     " m(t) +=! I(t,c)\n m(t) = m(t) / C\n v(t) +=! (I(t,c) - m(t)) * (I(t,c) - m(t))\n"
     " O(t,c) = (I(t,c) - m(t)) * rsqrt(v(t) / C + 0.00001) * g(c) + b(c) }}",
     lambda m: [m.f(6, 19 + m.k), m.f(19 + m.k), m.f(19 + m.k)],
     lambda i, g, b: F.layer_norm(i, i.shape[1:], g, b))  # fmt: skip
case("group norm", "def f({t}(N,G,D,H,W) I, {t}(G,D) g, {t}(G,D) b) -> (O) {{\n"
     " m(n,k) +=! I(n,k,d,h,w)\n v(n,k) +=! I(n,k,d,h,w) * I(n,k,d,h,w)\n"
     " O(n,k,d,h,w) = (I(n,k,d,h,w) - m(n,k) / (D*H*W)) * rsqrt(v(n,k) / (D*H*W)"
     " - m(n,k) / (D*H*W) * m(n,k) / (D*H*W) + 0.00001) * g(k,d) + b(k,d) }}",
     lambda m: [m.f(2, 3, 4, 5, 6 + m.k), m.f(3, 4), m.f(3, 4)],
     lambda i, g, b: F.group_norm(i.flatten(1, 2), 3, g.flatten(), b.flatten()).unflatten(1, (3, 4)))  # fmt: skip
case("moments", "def f({t}(N,K) I) -> (mean, var) {{\n mean(n) +=! I(n,k)\n mean(n) = mean(n) / K\n"
     " var(n) +=! I(n,k) * I(n,k)\n var(n) = var(n) / K - mean(n) * mean(n) }}",
     lambda m: [m.f(5, 21 + m.k)], lambda x: [x.mean(1), x.var(1, correction=0)])  # fmt: skip
case("cosine similarity", "def f({t}(M,N) A, {t}(M,N) B) -> (O) {{ ab(m) +=! A(m,n) * B(m,n)\n aa(m) +=! A(m,n) * A(m,n)\n"
     " bb(m) +=! B(m,n) * B(m,n)\n O(m) = ab(m) * rsqrt(aa(m)) * rsqrt(bb(m)) }}",
     lambda m: [m.f(5, 21 + m.k), m.f(5, 21 + m.k)], lambda a, b: F.cosine_similarity(a, b, 1))  # fmt: skip
