# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Gradients: derived and checked by gradcheck on both emitters, named as on the page, reordered, and free."""

import itertools

import pytest
import torch

from tests.comprehension.program.cases import REORDER
from tracepack.ops.comprehension import ComprehensionModule, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.expr.functions import BUILTINS
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.program.backward import derive
from tracepack.ops.comprehension.program.specialise import specialise

PAGE = """
def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {{
   O(n, m, h, w) +=! I(n, c, {sh} * h + kh, {sw} * w + kw) * W1(m, c, kh, kw)
}}
def convolution_grad(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(N,M,H,W) O_grad) -> (I_grad, W1_grad) {{
   I_grad(n, c, h, w) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * W1(m, c, kh, kw)
   W1_grad(m, c, kh, kw) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * I(n, c, h, w)
}}
"""


def test_the_page():
    layer = define(PAGE, training=True, name="convolution", backward="convolution_grad", constants={"sh": 1, "sw": 1})
    image, weight = torch.randn(4, 4, 9, 8, requires_grad=True), torch.nn.Parameter(torch.randn(16, 4, 1, 1))
    outputs = layer(image, weight)  # a list, as of every layer that is defined to be trained
    assert [tuple(o.shape) for o in outputs] == [(4, 16, 9, 8)]
    outputs[0].sum().backward()
    found = image.grad, weight.grad
    expected = torch.autograd.grad(torch.conv2d(image, weight).sum(), [image, weight])
    torch.testing.assert_close(found, expected)


def test_the_pages_gradient_is_wrong_for_other_kernels_and_says_so():
    layer = define(PAGE, name="convolution", backward="convolution_grad", constants={"sh": 1, "sw": 1})
    image, weight = torch.randn(2, 4, 9, 8, requires_grad=True), torch.randn(3, 4, 3, 3)
    with pytest.raises(errors.ComprehensionError):
        layer(image, weight)


def test_reorder_function():
    layer = define(REORDER, training=True, name="convolution", backward="convolution_grad")
    inputs = [torch.randn(s, requires_grad=True) for s in ((2, 3, 6, 7), (4, 3, 3, 2), (4,))]
    outputs = layer(*inputs, reorder_function=lambda gradients: [gradients[1]])
    seed = torch.randn_like(outputs[1])
    found = torch.autograd.grad(outputs[1], inputs, seed)
    expected = torch.autograd.grad(torch.conv2d(*inputs), inputs, seed)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(errors.DerivativeError, match="Give a reorder_function"):
        layer(*inputs)


ARGUMENTS = {
    "acosh": lambda: torch.rand(5).double() + 1.5, "lgamma": None, "sqrt": "positive", "rsqrt": "positive", "log": "positive",
    "log2": "positive", "log10": "positive", "log1p": "positive", "cbrt": "positive", "pow": "positive",
}  # fmt: skip


def argument(name: str) -> torch.Tensor:
    kind = ARGUMENTS.get(name, "unit")
    if callable(kind):
        return kind()
    return torch.rand(5).double() + 0.5 if kind == "positive" else torch.rand(5).double() * 0.8 + 0.1


@pytest.mark.parametrize("name", sorted(set(BUILTINS) - {"lgamma"}))
def test_functions(name):
    """The value against torch's on both emitters, and the derivative by finite differences."""
    count = BUILTINS[name].arity
    args = ", ".join(f"A{i}(i)" for i in range(count))
    params = ", ".join(f"double(N) A{i}" for i in range(count))
    layer = define(f"def f({params}) -> (O) {{ O(i) = {name}({args}) }}")
    inputs = [(argument(name) * (1 + 0.3 * i)).requires_grad_() for i in range(count)]
    assert torch.autograd.gradcheck(lambda *x: layer(*x, options="torch"), inputs)
    torch.testing.assert_close(layer(*inputs, options="conv"), layer(*inputs, options="torch"), rtol=1e-12, atol=1e-12)


def test_a_function_without_derivative():
    layer = define("def f(double(N) A) -> (O) { O(i) = lgamma(A(i)) }")
    assert torch.allclose(layer(torch.ones(2).double() * 3), torch.lgamma(torch.tensor([3.0, 3.0]).double()))
    with pytest.raises(errors.DerivativeError, match="'lgamma' has no derivative"):
        layer(torch.ones(2, dtype=torch.double, requires_grad=True))


CHECKED = {
    "overlapping views": ("def f(double(N) A, double(K) B) -> (O) { O(i) +=! A(i+2*k) * B(k) }", [(9,), (3,)]),
    "strided": ("def f(double(N) A, double(K) B) -> (O) { O(i) +=! A(3*i+k) * B(k) }", [(11,), (2,)]),
    "diagonal": ("def f(double(N,N) A) -> (O) { O(i) = A(i,i) * A(i,0) }", [(4, 4)]),
    "division": ("def f(double(N) A, double(N) B) -> (O) { O(i) = A(i) / (B(i) * B(i) + 1.0) % 0.7 }", [(5,), (5,)]),
    "max": ("def f(double(N,K,L) A) -> (O) { O(n) max=! A(n,k,l) * A(n,k,0) }", [(3, 4, 2)]),
    "min onto contents": ("def f(double(N,K) A, double(N) B) -> (O) { O(n) = B(n)\n O(n) min= A(n,k) }", [(4, 3), (4,)]),
    "product onto contents": ("def f(double(N,K) A, double(N) B) -> (O) { O(n) = B(n)\n O(n) *= A(n,k) }", [(3, 3), (3,)]),
    "sum onto contents": ("def f(double(N,K) A, double(N) B) -> (O) { O(n) = B(n)\n O(n) += A(n,k) * B(n) }", [(3, 3), (3,)]),
    "part": ("def f(double(N) A) -> (O) { O(i) = A(i) * A(i)\n O(i) = 3.0 * A(i) where i in 1:4 }", [(6,)]),
    "rewritten": ("def f(double(N) A) -> (O) { O(i) = exp(A(i))\n O(i) = O(i) * O(i)\n O(i) = sin(O(i)) }", [(5,)]),
    "read twice": ("def f(double(N) A) -> (O, P) { t(i) = tanh(A(i))\n O(i) = t(i) * A(i)\n P +=! t(i) * t(i) }", [(5,)]),
    "triangle": ("def f(double(N,N) A) -> (O) { O(i) +=! A(i,j) * j where j in i:N }", [(4, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("options", ["torch", "conv"])
@pytest.mark.parametrize("name", CHECKED)
def test_gradcheck(name, options):
    text, shapes = CHECKED[name]
    layer = define(text)
    inputs = [torch.randn(s, dtype=torch.double, requires_grad=True) for s in shapes]
    assert torch.autograd.gradcheck(lambda *x: layer(*x, options=options), inputs)


CONVOLUTION = """def conv({t}(N,C,H,W) I, {t}(M,C,KH,KW) F, {t}(M) B) -> (O) {{
  O(n,m,h,w) +=! I(n,c,{s}*h+kh,{s}*w+kw) * F(m,c,kh,kw)
  O(n,m,h,w) = O(n,m,h,w) + B(m)
}}"""


@pytest.mark.parametrize("shape", [(1, 1, 5, 5, 1, 3, 2), (2, 3, 9, 8, 5, 3, 3), (3, 5, 7, 19, 17, 1, 2)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_convolutions_of_odd_sizes_and_strides(dtype, stride, shape):
    """Generated code's gradients against torch's, for inputs and gradients that are not contiguous."""
    n, c, h, w, m, kh, kw = shape
    kind = getattr(torch, dtype)
    image = torch.randn(n, c, w, h, dtype=kind).transpose(2, 3).requires_grad_()
    weight = torch.randn(c, m, kh, 2 * kw, dtype=kind).transpose(0, 1)[..., ::2].detach().requires_grad_()
    bias = torch.randn(1, dtype=kind).expand(m).detach().requires_grad_()
    layer = define(CONVOLUTION, constants={"t": dtype, "s": stride})
    found, expected = layer(image, weight, bias, options="conv"), torch.conv2d(image, weight, bias, stride)
    tolerance = 1e-4 if dtype == "float" else 1e-10
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    for seed in (torch.ones(1, dtype=kind).expand_as(found), torch.randn(found.mT.shape, dtype=kind).mT):
        torch.testing.assert_close(
            torch.autograd.grad(found, [image, weight, bias], seed, retain_graph=True),
            torch.autograd.grad(expected, [image, weight, bias], seed, retain_graph=True),
            rtol=10 * tolerance, atol=10 * tolerance,
        )  # fmt: skip


@pytest.mark.parametrize("options", ["torch", "conv"])
def test_ties_go_to_the_first(options):
    layer = define("def f(float(N,K) A) -> (O) { O(n) max=! A(n,k) }")
    a = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    (found,) = torch.autograd.grad(layer(a, options=options).sum(), a)
    assert found.tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("options", ["torch", "conv"])
def test_product_with_zeros(options):
    layer = define("def f(double(N,K) A) -> (O) { O(n) *=! A(n,k) }")
    a = torch.randn(3, 4, dtype=torch.double)
    a[1, 2] = a[2, 0] = a[2, 1] = 0
    a.requires_grad_()
    (found,) = torch.autograd.grad(layer(a, options=options).sum(), a)
    torch.testing.assert_close(found, torch.autograd.grad(a.prod(1).sum(), a)[0])


def test_a_gather_becomes_a_scatter_add():
    layer = define("def f(float(V,D) T, int64(N) I) -> (O) { O(i,j) = T(I(i),j) }")
    table, index = torch.randn(5, 3, requires_grad=True), torch.tensor([4, 0, 4, 4])
    for options in ("torch", "conv"):
        (found,) = torch.autograd.grad(layer(table, index, options=options).sum(), table)
        assert found[:, 0].tolist() == [1, 0, 0, 0, 3]


def test_inputs_that_need_no_gradient_cost_none():
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
    program = specialise(check(parse(text)[0]), [(2, 3), (3, 4)])
    both, one = derive(program, frozenset({"A", "B"})), derive(program, frozenset({"A"}))
    assert len(both.program.nests) == 2
    assert len(one.program.nests) == 1
    assert one.saved == ("B",)
    layer = define(text)
    a, b = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4)
    assert layer(a, b).grad_fn is not None
    assert layer(a.detach(), b).grad_fn is None
    with torch.no_grad():
        assert layer(a, b).grad_fn is None


def test_training_needs_a_float_output():
    with pytest.raises(errors.DerivativeError, match="'f' has no float output to train"):
        define("def f(int32(N) A) -> (B) { B(i) = A(i) }", training=True)


def test_integer_outputs_have_no_gradient():
    layer = define("def f(float(N) A) -> (B, C) { B(i) = 2 * A(i)\n C(i) = int32(A(i)) }")
    b, c = layer(torch.ones(3, requires_grad=True))
    assert b.requires_grad
    assert not c.requires_grad


def test_module():
    layer = define(
        "def fc(float(N,K) X, float(M,K) W, float(M) B) -> (O) { O(n,m) +=! X(n,k) * W(m,k)\n O(n,m) = O(n,m) + B(m) }"
    )
    reference = torch.nn.Linear(6, 5)
    module = ComprehensionModule(layer, {"W": reference.weight, "B": reference.bias}, frozen=["B"])
    x = torch.randn(4, 6)
    module(x).square().sum().backward()
    reference(x).square().sum().backward()
    torch.testing.assert_close(module.tc_W.grad, reference.weight.grad, rtol=1e-4, atol=1e-5)
    assert [n for n, _ in module.named_parameters()] == ["tc_W"]
    assert [n for n, _ in module.named_buffers()] == ["tc_B"]
    with pytest.raises(errors.ComprehensionInputError, match="'fc' has no input 'Q'"):
        ComprehensionModule(layer, {"Q": x})


@pytest.mark.parametrize("options", ["torch", "conv", "default"])
def test_gradients_of_clamped_indices_go_where_they_were_read(options):
    text = (
        "def f(double(W) I, double(K) Q) -> (O) { O(x) +=! k < 5 ? I(x-k) * Q(k) : 0.0 where x in 0:W+K-1, k in 0:K }"
    )
    layer = define(text, gather="clamp")
    i, q = (torch.randn(n, dtype=torch.double, requires_grad=True) for n in (9, 3))
    places = (torch.arange(11)[:, None] - torch.arange(3)).clamp(0, 8)
    expected, found = (i[places] * q).sum(1), layer(i, q, options=options)
    torch.testing.assert_close(found, expected)
    seed = torch.randn(11, dtype=torch.double)
    torch.testing.assert_close(torch.autograd.grad(found, [i, q], seed), torch.autograd.grad(expected, [i, q], seed))


def test_a_gradient_leaves_the_callers_indices_alone():
    layer = define("def f(float(H,W) X, int64(L) I) -> (O) { O(l,w) = X(I(l),w) }", gather="clamp")
    x, index = torch.randn(4, 3, requires_grad=True), torch.tensor([0, -1, 2, 9])
    layer(x, index, options="torch").sum().backward()
    assert index.tolist() == [0, -1, 2, 9]
    assert index._version == 0


@pytest.mark.parametrize("options", ["torch", "conv", "default"])
def test_extremes_of_what_is_computed_again_keep_their_gradient(options):
    """A sine that is compiled into another loop may be rounded otherwise, and then equal none of the values."""
    text = "def f(float(N,K) A, float(K) B) -> (O) { O(n) max=! sin(A(n,k)) * B(k) + cos(A(n,k)) }"
    layer, scale = define(text), torch.randn(37)
    a = torch.randn(64, 37, requires_grad=True)
    expected = (a.sin() * scale + a.cos()).amax(1)
    found = layer(a, scale, options=options)
    torch.testing.assert_close(
        torch.autograd.grad(found.sum(), a), torch.autograd.grad(expected.sum(), a), rtol=1e-4, atol=1e-4
    )


def test_gradients_of_every_kind_one_after_the_other() -> None:
    """The first plain gradient opens a short way, which the others must not take."""
    layer = define("def f(float(N,M) A, float(M) B) -> (O, P) { O(n,m) = A(n,m) * B(m)  P(n,m) = A(n,m) * A(n,m) }")
    a, b = torch.randn(4, 6, requires_grad=True), torch.randn(6, requires_grad=True)
    plain = torch.randn(4, 6)
    kinds = {
        "plain": plain,
        "expanded": torch.tensor(2.0).expand(4, 6),
        "transposed": torch.randn(6, 4).t(),
        "with gaps": torch.randn(4, 12)[:, ::2],
        "negated": torch._neg_view(plain),
    }
    for first, second in itertools.product(kinds.values(), repeat=2):
        seeds = (first, second)
        found = torch.autograd.grad(layer(a, b), (a, b), seeds)
        torch.testing.assert_close(found, torch.autograd.grad((a * b, a * a), (a, b), seeds), rtol=1e-4, atol=1e-4)
        (only,) = torch.autograd.grad(layer(a, b)[1], a, second)
        torch.testing.assert_close(only, 2 * a * second, rtol=1e-4, atol=1e-4)
    (once,) = torch.autograd.grad(layer(a, b)[1], a, plain, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), a)
    torch.testing.assert_close(twice, 2 * plain, rtol=1e-4, atol=1e-4)
    with pytest.raises(errors.DerivativeError, match="gradients of layers are not taken several at once"):
        torch.autograd.grad(layer(a, b)[1], a, torch.randn(3, 4, 6), is_grads_batched=True)


@pytest.mark.parametrize("kind", ["expanded", "transposed", "with gaps", "negated", "zero"])
def test_a_gradient_that_is_not_plain_comes_first_and_again(kind: str) -> None:
    """The short way is for gradients like the first one: here that one cannot be read as it is."""
    layer = define("def f(float(N,M) A) -> (O) { O(n,m) = A(n,m) * A(n,m) }")
    a = torch.randn(40, 60, requires_grad=True)
    for _ in range(3):
        seed: torch.Tensor = {
            "expanded": torch.tensor(2.0).expand(40, 60),
            "transposed": torch.randn(60, 40).t(),
            "with gaps": torch.randn(40, 120)[:, ::2],
            "negated": torch._neg_view(torch.randn(40, 60)),
            "zero": torch._efficientzerotensor((40, 60)),
        }[kind]
        torch.testing.assert_close(torch.autograd.grad(layer(a), a, seed)[0], 2 * a * seed, rtol=1e-4, atol=1e-4)
