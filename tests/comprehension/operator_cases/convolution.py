# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Pooling and convolution."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.comprehension.operator_cases.case import case

# A name for inputs that many cases share.
IMAGE = lambda m: [m.f(2 + m.k, 3, 9 + m.k, 8)]  # noqa: E731
case("avgpool", "def f({t}(B,C,H,W) X) -> (O) {{ s(b,c,h,w) +=! X(b,c,2*h+kh,2*w+kw) where kh in 0:2, kw in 0:2\n"
     " O(b,c,h,w) = s(b,c,h,w) / 4.0 }}", IMAGE, lambda x: F.avg_pool2d(x, 2))  # fmt: skip
case("maxpool", "def f({t}(B,C,H,W) X) -> (O) {{ O(b,c,h,w) max=! X(b,c,2*h+kh,2*w+kw) where kh in 0:3, kw in 0:3 }}",
     IMAGE, lambda x: F.max_pool2d(x, 3, 2))  # fmt: skip
CONV = "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1) -> (O) {{ O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw) }}"
case("conv", CONV, lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4 + m.k, 3, 3, 2)], F.conv2d)
case("conv 1x1", CONV, lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4 + m.k, 3, 1, 1)], F.conv2d)
case("conv bias", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1, {t}(M) B) -> (O) {{\n"
     " O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw)\n O(n,m,h,w) = O(n,m,h,w) + B(m) }}",
     lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4, 3, 3, 3), m.f(4)], F.conv2d)  # fmt: skip
case("conv temporary", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1, {t}(M) B) -> (O) {{\n"
     " tmp(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw)\n O(n,m,h,w) = tmp(n,m,h,w) + B(m) }}",
     lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4, 3, 3, 3), m.f(4)], F.conv2d)  # fmt: skip
case("conv over rows", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1) -> (O) {{ O(n,m,h,w) +=! I(n,c,h+kh,w) * W1(m,c,kh,kw) }}",
     lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4, 3, 3, 2)], lambda i, w: F.conv2d(i, w.sum(-1, keepdim=True)))  # fmt: skip
case("conv repeated", "def f({t}(N,C,H) I, {t}(M,C,K) W1) -> (O) {{ O(n,m,h,r) +=! I(n,c,h+k) * W1(m,c,k) where r in 0:3 }}",
     lambda m: [m.f(2, 3, 8 + m.k), m.f(4, 3, 3)], lambda i, w: F.conv1d(i, w)[..., None].repeat(1, 1, 1, 3))  # fmt: skip
case("conv strided", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1) -> (O) {{\n"
     " O(n,m,h,w) +=! I(n,c,{sh}*h+kh,{sw}*w+kw) * W1(m,c,kh,kw) }}",
     lambda m: [m.f(2, 3, 11, 10 + m.k), m.f(4, 3, 3, 3)], lambda i, w: F.conv2d(i, w, stride=(3, 2)),
     constants={"sh": 3, "sw": 2})  # fmt: skip
case("conv dilated", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1) -> (O) {{\n"
     " O(n,m,h,w) +=! I(n,c,h+2*kh,w+kw) * W1(m,c,kh,kw) }}",
     lambda m: [m.f(2, 3, 11, 10 + m.k), m.f(4, 3, 3, 3)], lambda i, w: F.conv2d(i, w, dilation=(2, 1)))  # fmt: skip
case("group conv", "def f({t}(N,G,C,H,W) I, {t}(G,F,C,KH,KW) W1, {t}(G,F) B) -> (O) {{\n"
     " O(n,g,f,h,w) +=! I(n,g,c,h+kh,w+kw) * W1(g,f,c,kh,kw)\n O(n,g,f,h,w) = O(n,g,f,h,w) + B(g,f) }}",
     lambda m: [m.f(2, 2, 3, 7, 8 + m.k), m.f(2, 4, 3, 3, 3), m.f(2, 4)],
     lambda i, w, b: F.conv2d(i.flatten(1, 2), w.flatten(0, 1), b.flatten(), groups=2).unflatten(1, (2, 4)))  # fmt: skip
case("group conv strided", "def f({t}(N,G,C,H,W) I, {t}(G,F,C,KH,KW) W1) -> (O) {{\n"
     " O(n,g,f,h,w) +=! I(n,g,c,2*h+kh,2*w+kw) * W1(g,f,c,kh,kw) }}",
     lambda m: [m.f(2, 2, 3, 9, 8 + m.k), m.f(2, 4, 3, 3, 3)],
     lambda i, w: F.conv2d(i.flatten(1, 2), w.flatten(0, 1), stride=2, groups=2).unflatten(1, (2, 4)))  # fmt: skip
case("depthwise conv", "def f({t}(N,C,H,W) I, {t}(C,KH,KW) W1) -> (O) {{ O(n,c,h,w) +=! I(n,c,h+kh,w+kw) * W1(c,kh,kw) }}",
     lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(3, 3, 3)], lambda i, w: F.conv2d(i, w[:, None], groups=3))  # fmt: skip
case("transposed conv", "def f({t}(N,C,H,W) I, {t}(C,M,KH,KW) W1) -> (O) {{\n"
     " O(n,m,y,x) +=! y >= kh && (y-kh) % 2 == 0 && (y-kh)/2 < H && x >= kw && (x-kw) % 2 == 0 && (x-kw)/2 < W ?\n"
     " I(n,c,(y-kh)/2,(x-kw)/2) * W1(c,m,kh,kw) : 0.0 where y in 0:2*H+KH-2, x in 0:2*W+KW-2, n in 0:N, c in 0:C, m in 0:M, kh in 0:KH, kw in 0:KW }}",
     lambda m: [m.f(2, 3, 4, 5 + m.k), m.f(3, 4, 3, 3)], lambda i, w: F.conv_transpose2d(i, w, stride=2))  # fmt: skip
case("masked conv", "def f({t}(N,C,H,W) I, {t}(M,C,KH,KW) W1) -> (O) {{\n"
     " O(n,m,h,w) +=! kh < 1 || (kh == 1 && kw <= 1) ? I(n,c,h+kh,w+kw) * W1(m,c,kh,kw) : 0.0 where h in 0:H-KH+1, w in 0:W-KW+1, c in 0:C, n in 0:N, m in 0:M, kh in 0:KH, kw in 0:KW }}",
     lambda m: [m.f(2, 3, 8, 9 + m.k), m.f(4, 3, 3, 3)],
     lambda i, w: F.conv2d(i, w * torch.tensor([[1, 1, 1], [1, 1, 0], [0, 0, 0]]).to(w)))  # fmt: skip
case("wavenet", "def f({t}(B,C,T) X, {t}(M,C,K) F, {t}(M,C,K) G) -> (O) {{\n"
     " a(b,m,t) +=! X(b,c,t+2*k) * F(m,c,k)\n g(b,m,t) +=! X(b,c,t+2*k) * G(m,c,k)\n"
     " O(b,m,t) = tanh(a(b,m,t)) * sigmoid(g(b,m,t)) }}",
     lambda m: [m.f(2, 3, 17 + m.k), m.f(4, 3, 2), m.f(4, 3, 2)],
     lambda x, f, g: F.conv1d(x, f, dilation=2).tanh() * F.conv1d(x, g, dilation=2).sigmoid())  # fmt: skip
case("mobilenet block", "def f({t}(N,C,H,W) X, {t}(M,C) E, {t}(M,KH,KW) D, {t}(C,M) P) -> (O) {{\n"
     " e(n,m,h,w) +=! X(n,c,h,w) * E(m,c)\n r(n,m,h,w) = fmin(fmax(e(n,m,h,w), 0.0), 6.0)\n"
     " d(n,m,h,w) +=! h+kh >= 1 && h+kh <= H && w+kw >= 1 && w+kw <= W ? r(n,m,h+kh-1,w+kw-1) * D(m,kh,kw) : 0.0"
     " where h in 0:H, w in 0:W, n in 0:N, m in 0:M, kh in 0:KH, kw in 0:KW\n s(n,m,h,w) = fmin(fmax(d(n,m,h,w), 0.0), 6.0)\n"
     " p(n,c,h,w) +=! s(n,m,h,w) * P(c,m)\n O(n,c,h,w) = X(n,c,h,w) + p(n,c,h,w) }}",
     lambda m: [m.f(2, 3, 5, 6 + m.k), m.f(6, 3), m.f(6, 3, 3), m.f(3, 6)],
     lambda x, e, d, p: x + F.conv2d(F.relu6(F.conv2d(F.relu6(F.conv2d(x, e[..., None, None])), d[:, None],
                                     padding=1, groups=6)), p[..., None, None]))  # fmt: skip
