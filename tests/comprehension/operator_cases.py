# ruff: noqa: E501 - texts of comprehensions read better on one line
"""One table of cases for every test of layers: the operators of the peer's own test-suite, with torch's reference.

Each case is a text with `{t}` for the float type, what makes its inputs from a generator and a type, and the
formula in torch. The texts are ours; the names say which of the peer's operators they stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Case:
    """One operator."""

    name: str
    text: str
    inputs: Callable[[Maker], list[torch.Tensor]]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = ("float", "double")
    constants: dict[str, object] = field(default_factory=dict)
    gradient: bool = True


class Maker:
    """Makes inputs; `k` grows the sizes."""

    def __init__(self, dtype: torch.dtype, k: int = 0, seed: int = 0) -> None:
        self.dtype, self.k = dtype, k
        self.random = torch.Generator().manual_seed(seed)

    def f(self, *shape: int) -> torch.Tensor:
        """Normal values, rounded a little so that half precision can hold them."""
        return torch.randn(shape, generator=self.random, dtype=torch.float64).to(self.dtype)

    def positive(self, *shape: int) -> torch.Tensor:
        """Values in 0.5..1.5."""
        return (torch.rand(shape, generator=self.random, dtype=torch.float64) + 0.5).to(self.dtype)

    def i(self, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Integers below `high`."""
        return torch.randint(0, high, shape, generator=self.random).to(dtype)

    def b(self, *shape: int) -> torch.Tensor:
        """Booleans."""
        return torch.rand(shape, generator=self.random) > 0.5


CASES: list[Case] = []


def case(
    name: str,
    text: str,
    inputs: Callable[[Maker], list[torch.Tensor]],
    reference: Callable[..., Any],
    **more: Any,
) -> None:
    """Adds one to the table."""
    CASES.append(Case(name, text, inputs, reference, **more))


# -- pooling and convolution ---------------------------------------------------------------------------------

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

# -- linear -------------------------------------------------------------------------------------------------

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

# -- normalisation --------------------------------------------------------------------------------------------

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

# -- element by element and layout ------------------------------------------------------------------------------

# A name for inputs that many cases share.
VECTOR = lambda m: [m.f(41 + m.k)]  # noqa: E731
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

# -- gathers ----------------------------------------------------------------------------------------------------

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

# -- the language -----------------------------------------------------------------------------------------------

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
