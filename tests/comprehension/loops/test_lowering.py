# ruff: noqa: E501 - texts of comprehensions read better on one line
"""What becomes of a program before code is written for it: nests that divide, that follow each other, that add."""

import itertools
from operator import add, floordiv, ge, lt, mod, mul, ne, sub

import pytest
import torch
import torch.nn.functional as F

from tests.comprehension import random_programs
from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr.ir import Const, Load, Op, integer, op, var, walk
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.loops.fusion import groups
from tracepack.ops.comprehension.loops.lower import lower
from tracepack.ops.comprehension.program.backward import derive
from tracepack.ops.comprehension.program.folding import simplified
from tracepack.ops.comprehension.program.specialise import specialise

CONV = "def f(float(N,C,H,W) I, float(M,C,KH,KW) K) -> (O) {{ O(n,m,h,w) +=! I(n, c, {s}*h + {d}*kh, {s}*w + {d}*kw) * K(m,c,kh,kw) }}"
SOFTMAX = "def f(float(N,D) I) -> (O) { t(n) max=! I(n,d)\n e(n,d) = exp(I(n,d) - t(n))\n s(n) +=! e(n,d)\n O(n,d) = e(n,d) / s(n) }"
LAYER_NORM = """def f(float(T,C) I, float(C) g, float(C) b) -> (O) {
  m(t) +=! I(t,c)
  m(t) = m(t) / C
  v(t) +=! (I(t,c) - m(t)) * (I(t,c) - m(t))
  O(t,c) = (I(t,c) - m(t)) * rsqrt(v(t) / C + 0.00001) * g(c) + b(c) }"""


def program(text: str, *shapes: tuple[int, ...]):
    return specialise(check(parse(text)[0]), list(shapes))


def gradient(text: str, *shapes: tuple[int, ...]):
    forward = program(text, *shapes)
    return derive(forward, frozenset(forward.inputs)).program


def divisions(nests) -> list[Op]:
    found = (n for nest in nests for e in nest.expressions() for n in walk(e))
    return [n for n in found if isinstance(n, Op) and n.name in ("/", "%") and n.dtype.is_integral]


def test_the_gradient_of_a_strided_convolution_is_one_nest_for_each_remainder():
    nests = lower(gradient(CONV.format(s=2, d=1), (2, 3, 11, 11), (4, 3, 3, 3)))
    image = [n for n in nests if n.target.startswith("d_I")]
    assert [tuple(n.extents[a] for a in ("kh", "kw") if a in n.extents) for n in image] == [(2, 2), (2,), (2,), ()]
    assert not divisions(nests)
    places = [36 * 4, 30 * 2, 30 * 2, 25]  # of each remainder, times the values of the kernel that it meets
    assert [n.iterations for n in image] == [2 * 3 * 4 * p for p in places]


def test_a_remainder_that_no_value_of_the_kernel_has_is_zero():
    nests = lower(gradient(CONV.format(s=3, d=1), (1, 1, 9, 9), (1, 1, 1, 2)))
    image = [n for n in nests if n.target.startswith("d_I")]
    assert len(image) == 9
    assert sum(n.value == Const(n.value.dtype, 0.0) for n in image) == 7


@pytest.mark.parametrize(
    ("stride", "dilation", "kernel"),
    [(2, 1, (1, 1)), (2, 1, (2, 3)), (2, 2, (3, 2)), (2, 3, (5, 4)), (3, 1, (5, 4)), (3, 2, (2, 3)), (4, 2, (3, 3))],
)
@pytest.mark.parametrize("extra", [0, 1])
def test_gradients_of_strided_and_dilated_convolutions(stride, dilation, kernel, extra):
    layer = define(CONV, constants={"s": stride, "d": dilation})
    smallest = [dilation * (k - 1) + 1 for k in kernel]
    sizes = [smallest[0] + 2 * stride + extra, smallest[1] + 3 * extra]
    inputs = [torch.randn(2, 3, *sizes, requires_grad=True), torch.randn(4, 3, *kernel, requires_grad=True)]
    expected = F.conv2d(*inputs, stride=stride, dilation=dilation)
    seed = torch.randn_like(expected)
    torch.testing.assert_close(layer(*inputs), expected, rtol=1e-4, atol=1e-5)
    found = torch.autograd.grad(layer(*inputs), inputs, seed)
    torch.testing.assert_close(found, torch.autograd.grad(expected, inputs, seed), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extent", [1, 2, 3, 5, 12])
def test_transposed_convolutions_of_every_remainder(extent):
    text = """def f(float(N,C,W) I, float(C,M,K) Q) -> (O) {
      O(n,m,x) +=! x >= k && (x-k) % 3 == 0 && (x-k)/3 < W ? I(n, c, (x-k)/3) * Q(c,m,k) : 0.0
        where x in 0:3*W+K-3, n in 0:N, c in 0:C, m in 0:M, k in 0:K }"""
    for kernel in (2, 4):
        inputs = [torch.randn(2, 3, extent, requires_grad=True), torch.randn(3, 4, kernel, requires_grad=True)]
        found, expected = define(text)(*inputs), F.conv_transpose1d(*inputs, stride=3)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        seed = torch.randn_like(found)
        torch.testing.assert_close(
            torch.autograd.grad(found, inputs, seed), torch.autograd.grad(expected, inputs, seed), rtol=1e-4, atol=1e-5
        )


def test_a_check_goes_where_the_conditions_prove_it():
    text = "def f(float(W) I, float(K) Q) -> (O) { O(x) +=! x >= k && (x-k) % 2 == 0 && (x-k)/2 < W ? I((x-k)/2) * Q(k) : 0.0 where x in 0:2*W+K-2, k in 0:K }"
    loads = [n for nest in lower(program(text, (5,), (3,))) for n in walk(nest.value) if isinstance(n, Load)]
    assert loads
    assert all(not load.dynamic for load in loads)


def test_an_axis_that_is_only_divided_becomes_two():
    text = (
        "def f(float(A,B) X, float(C,D) Y) -> (O) { O(i,j) = X(i/C, j/D) * Y(i%C, j%D) where i in 0:A*C, j in 0:B*D }"
    )
    (nest,) = lower(program(text, (3, 4), (2, 5)))
    assert nest.left == (("2by_i", 3), ("i", 2), ("5by_j", 4), ("j", 5))
    assert not divisions([nest])
    assert not divisions(lower(gradient(text, (3, 4), (2, 5))))


def test_an_axis_that_is_divided_in_two_ways_stays():
    text = "def f(float(A) X, float(B) Y) -> (O) { O(i) = X(i/2) * Y(i/3) where i in 0:12 }"
    (nest,) = lower(program(text, (6,), (4,)))
    assert nest.left == (("i", 12),)
    x, y = torch.randn(6), torch.randn(4)
    assert torch.equal(define(text)(x, y), x.repeat_interleave(2) * y.repeat_interleave(3))


@pytest.mark.parametrize("text", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
def test_the_gradient_of_a_normalisation_goes_row_by_row(text):
    shapes = [(64, 96)] if text is SOFTMAX else [(64, 96), (96,), (96,)]
    rows = [g for g in groups(gradient(text, *shapes), True) if g.shared]
    assert [g.shared for g in rows] == [(("0row", 64),)]
    assert {"d_I", "d_I#2"} & {n.target for n in rows[0].nests}
    assert not any(n.base for n in rows[0].nests)


def test_a_nest_that_stands_between_others_is_passed_only_where_they_do_not_need_it():
    text = "def f(float(N,D) A) -> (X, C, Z) { X(n) +=! A(n,d)\n C(d) +=! A(n,d) * X(n)\n Z(n) +=! A(n,d) * C(d) }"
    a = torch.randn(300, 200, dtype=torch.float64).float()
    x, c, z = define(text)(a)
    torch.testing.assert_close(x, a.sum(1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(c, a.T @ a.sum(1), rtol=1e-3, atol=1e-2)
    torch.testing.assert_close(z, a @ (a.T @ a.sum(1)), rtol=1e-3, atol=1e-1)


def test_columns_are_not_summed_row_by_row():
    found = groups(
        program(
            "def f(float(N,D) A, float(N,D) B) -> (X, Y) { X(d) +=! A(n,d)\n Y(d) +=! B(n,d) }", (300, 200), (300, 200)
        ),
        True,
    )
    assert [g.shared for g in found] == [(), ()]


def test_sums_onto_contents_and_their_epilogue():
    text = "def f(float(N,D) A) -> (X, Y) { X(n) += A(n,d)\n Y(n) = X(n) * 2.0 }"
    a, x = torch.randn(5, 37), torch.randn(5)
    y = torch.empty(5)
    expected = x + a.sum(1)
    define(text)(a, outputs=[x, y])
    torch.testing.assert_close((x, y), (expected, 2 * expected), rtol=1e-5, atol=1e-5)


def test_simplified_says_only_what_holds_for_every_value():
    i, k = var("i"), var("k")
    box = {"i": (0, 9), "k": (0, 2)}
    for e in (
        op("/", op("+", op("*", integer(3), i), k), integer(3)),
        op("%", op("+", op("*", integer(3), i), k), integer(3)),
        op("/", op("-", i, k), integer(2)),
        op("%", op("-", op("*", integer(4), i), integer(2)), integer(4)),
        op("<", op("-", i, k), integer(10)),
        op(">=", op("-", i, k), integer(0)),
        op("!=", op("%", i, integer(3)), integer(3)),
    ):
        found = simplified(e, box)
        for a, b in itertools.product(range(10), range(3)):
            assert evaluated(found, {"i": a, "k": b}) == evaluated(e, {"i": a, "k": b}), (e, a, b)


def test_what_wraps_is_not_simplified():
    big = op("*", var("i"), integer(2_000_000_000))
    assert simplified(op(">", big, integer(-1)), {"i": (0, 9)}).dtype.is_bool
    assert not isinstance(simplified(op(">", big, integer(-1)), {"i": (0, 9)}), Const)


@pytest.mark.parametrize(
    "condition",
    ["uint32(i) - uint32(10) > uint32(3)", "-uint32(i) <= uint32(0)", "i * 2000000000 + int64(i) < int64(i)",
     "uint8(i) + uint8(250) > uint8(3)"],
)  # fmt: skip
def test_integers_that_wrap_are_compared_as_they_wrap(condition):
    layer = define(f"def f(float(N) A) -> (O) {{ O(i) = {condition} ? A(i) : 0.0 where i in 0:N }}")
    a = torch.randn(40)
    assert torch.equal(layer(a), layer(a, options="torch"))


def test_remainders_of_what_wraps():
    layer = define(
        "def f(float(N) A, float(K) B) -> (O) { O(i) +=! (i + k * 2000000000) % 3 == 0 ? A(i) * B(k) : 0.0 where i in 0:N, k in 0:K }"
    )
    inputs = [torch.randn(9), torch.randn(4)]
    torch.testing.assert_close(layer(*inputs), layer(*inputs, options="torch"))


def test_threads_never_meet_in_what_an_index_chooses():
    text = "def f(float(N,D) X, float(H) Y, int64(M) I) -> (O) { O(i,d) = X(I(i),d) * Y(i/2) where i in 0:M }"
    count = 40_000
    x, y = torch.randn(2, 16, requires_grad=True), torch.ones(count // 2)
    out = define(text)(x, y, torch.zeros(count, dtype=torch.int64))
    (found,) = torch.autograd.grad(out, x, torch.ones_like(out))
    assert found[0].tolist() == [count] * 16


def evaluated(e, values: dict[str, int]):
    """The value of an integer expression by Python's own arithmetic, whose division floors as well."""
    if isinstance(e, Const):
        return e.value
    if not isinstance(e, Op):
        return values[e.name]
    python = {"+": add, "-": sub, "*": mul, "/": floordiv, "%": mod, "<": lt, ">=": ge, "!=": ne}
    return python[e.name](*(evaluated(x, values) for x in e.args))


@pytest.mark.parametrize(
    "name", ["d_O", "at_O", "zeros_O", "row0", "_0", "p0", "x_n", "work", "status", "t1", "g0n0a0"]
)
def test_no_name_of_a_text_meets_one_of_ours(name):
    text = f"""def f(float(A,B,C) {name}) -> (O) {{
      O(n,{name}1) max=! {name}(n,{name}1,{name}2)
    }}"""
    x = torch.randn(6, 5, 40, requires_grad=True)
    seed = torch.randn(6, 5)
    found = torch.autograd.grad(define(text)(x), x, seed)
    torch.testing.assert_close(found, torch.autograd.grad(x.amax(2), x, seed))
    scaled = f"def f(float(N) {name}, float(N) A) -> (O) {{ O({name}i) = {name}({name}i) * A({name}i) }}"
    pair = [torch.randn(7, requires_grad=True), torch.randn(7, requires_grad=True)]
    found = torch.autograd.grad(define(scaled)(*pair), pair, torch.ones(7))
    torch.testing.assert_close(found, (pair[1], pair[0]))


def test_axes_may_have_the_names_of_rows_and_parts():
    softmax = define(SOFTMAX.replace("d)", "row0)"))
    x = torch.randn(40, 50)
    torch.testing.assert_close(softmax(x), x.softmax(1))
    text = "def f(float(A,B) X) -> (O) { O(i,i_by_2) = X(i/2,i_by_2) * (i%2) where i in 0:2*A }"
    x = torch.randn(4, 5)
    torch.testing.assert_close(define(text)(x), x.repeat_interleave(2, 0) * torch.tensor([0.0, 1.0] * 4)[:, None])
    text = "def f(float(N,C,H) I, float(M,C,K) Q) -> (O) { O(_2,_1,_0) +=! I(_2,c,2*_0+k) * Q(_1,c,k) }"
    inputs = [torch.randn(2, 3, 9, requires_grad=True), torch.randn(4, 3, 3, requires_grad=True)]
    seed = torch.randn(2, 4, 4)
    found = torch.autograd.grad(define(text)(*inputs), inputs, seed)
    expected = torch.autograd.grad(F.conv1d(*inputs, stride=2), inputs, seed)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(16))
def test_random_indices(seed):
    """Generated code against torch's operators, which read every index as it is written; seed by seed the same."""
    made = random_programs.indexed(seed)
    layer, results = define(made.text), {}
    for options in ("torch", "naive", "default"):
        inputs = [x.clone().requires_grad_() for x in made.inputs]
        found = layer(*inputs, options=options)
        outputs = found if isinstance(found, list) else [found]
        seeds = [torch.randint(-2, 3, o.shape, generator=torch.Generator().manual_seed(1)).float() for o in outputs]
        results[options] = [*(o.detach() for o in outputs), *torch.autograd.grad(outputs, inputs, seeds)]
    for options in ("naive", "default"):
        torch.testing.assert_close(
            results[options], results["torch"], rtol=0, atol=0, msg=lambda m: f"{m}\n{made.text}"
        )


def test_a_scatter_along_an_axis_that_is_divided():
    """Both parts of the axis may meet in one element: neither is shared among threads or run side by side."""
    text = """def f(float(6,5) A, float(4) B) -> (O) {
      O(j) +=! (l-j-2)/2 >= 0 && (l-j-2)/2 < 4 ? A((j+1)/4, l%3) * B((l-j-2)/2) : 0.0 where j in 0:8, l in 0:33 }"""
    inputs = [torch.randint(-4, 5, s).float().requires_grad_() for s in ((6, 5), (4,))]
    layer, seed = define(text), torch.arange(8.0)
    found = torch.autograd.grad(layer(*inputs), inputs, seed)
    torch.testing.assert_close(found, torch.autograd.grad(layer(*inputs, options="torch"), inputs, seed))


def test_a_remainder_in_one_of_two_conditions_proves_nothing():
    text = """def f(float(W) I, float(K) Q, float(X) B) -> (O) {
      O(x) +=! x >= k && (x-k)/2 < W && ((x-k) % 2 == 0 || B(x) > 0.0) ? I((x-k)/2) * Q(k) : 0.0
        where x in 0:2*W+K-2, k in 0:K }"""
    inputs = [torch.randn(n, requires_grad=True) for n in (9, 3, 19)]
    seed = torch.randn(19)
    found, expected = (
        torch.autograd.grad(define(text)(*inputs, options=options), inputs[:2], seed)
        for options in ("default", "torch")
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    text = "def f(float(W) I) -> (O) { O(x) = x % 2 == 0 || x > 5 ? I(x/2) : 0.0 where x in 0:2*W }"
    x = torch.randn(9, requires_grad=True)
    places = torch.arange(18)
    expected = torch.where((places % 2 == 0) | (places > 5), x.repeat_interleave(2), 0.0)
    torch.testing.assert_close(define(text)(x), expected)
    seed = torch.randn(18)
    torch.testing.assert_close(torch.autograd.grad(define(text)(x), x, seed), torch.autograd.grad(expected, x, seed))
