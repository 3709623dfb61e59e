"""Derivatives of gradients: second and third ones, compiled once, and the ways to differentiate that are refused."""

from unittest.mock import patch

import pytest
import torch
from torch.autograd import forward_ad
from torch.overrides import BaseTorchFunctionMode

from tests.comprehension.operator_cases import CASES, Maker
from tests.comprehension.program.cases import REORDER
from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.run import plan as gradients

DIFFERENTIABLE = [c for c in CASES if c.gradient and "double" in c.dtypes]


# One of each kind of nest is compiled in every run, all of them with the campaigns: eight compilations a case.
COMPILED = {"conv bias", "transposed conv", "softmax", "group norm", "concat", "lookup weighted", "scan", "row max"}


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda c: c.name)
def test_second_derivatives(case):
    _check_second_derivatives(case, "torch")


@pytest.mark.parametrize("case", [c for c in DIFFERENTIABLE if c.name in COMPILED], ids=lambda c: c.name)
def test_compiled_second_derivatives(case):
    _check_second_derivatives(case, "conv")


@pytest.mark.campaign
@pytest.mark.parametrize("case", [c for c in DIFFERENTIABLE if c.name not in COMPILED], ids=lambda c: c.name)
def test_more_compiled_second_derivatives(case):
    _check_second_derivatives(case, "conv")


def _check_second_derivatives(case, options):
    layer = define(case.text.replace("{t}", "double"), constants=case.constants)
    inputs = [x.requires_grad_() if x.is_floating_point() else x for x in case.inputs(Maker(torch.float64, seed=1))]
    torch.autograd.gradgradcheck(lambda *x: layer(*x, options=options), inputs, fast_mode=True)


def test_third_derivatives_and_a_gradient_penalty():
    layer = define("def f(double(N) A, double(N) B) -> (O) { O(i) = A(i) * A(i) * A(i) * sin(B(i)) }")
    a, b = (torch.randn(4, dtype=torch.double, requires_grad=True) for _ in range(2))
    (first,) = torch.autograd.grad(layer(a, b).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), a, create_graph=True)
    torch.testing.assert_close(second, 6 * a * b.sin())
    torch.testing.assert_close(torch.autograd.grad(second.sum(), [a, b]), (6 * b.sin(), 6 * a * b.cos()))
    first.square().sum().backward()
    torch.testing.assert_close(b.grad, 2 * (3 * a.square() * b.sin()) * 3 * a.square() * b.cos())


def test_second_derivatives_of_a_named_backward():
    layer = define(REORDER, training=True, name="convolution", backward="convolution_grad")
    inputs = [torch.randn(s, requires_grad=True) for s in ((1, 2, 4, 5), (3, 2, 2, 2), (3,))]

    def penalty(run) -> torch.Tensor:
        gradients = torch.autograd.grad(run(*inputs).sin().sum(), inputs, create_graph=True)
        return sum(g.square().sum() for g in gradients)

    found = penalty(lambda *x: layer(*x, reorder_function=lambda gradients: [gradients[1]])[1])
    expected = penalty(torch.conv2d)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), rtol=1e-3, atol=1e-4
    )


def test_second_derivatives_of_a_recorded_layer_are_an_error():
    layer = define("def f(double(N) A) -> (O) { O(i) = A(i) * A(i) * A(i) }")
    a = torch.randn(4, dtype=torch.double, requires_grad=True)
    with BaseTorchFunctionMode():  # as the operator of `torch.library`
        (first,) = torch.autograd.grad(layer(a).sum(), a, create_graph=True)
    torch.testing.assert_close(first, 3 * a.square())
    with pytest.raises(errors.DerivativeError, match="second derivatives of 'f' are not available where it was rec"):
        first.sum().backward()


def test_a_gradient_that_is_differentiated_again_is_compiled_once():
    layer = define("def f(float(N) A) -> (O) { O(i) = A(i) * A(i) }")
    a = torch.randn(4, requires_grad=True)
    made = []
    with patch.object(gradients.Plan, "_training_of", autospec=True, side_effect=gradients.Plan._training_of) as make:
        for _ in range(3):
            (first,) = torch.autograd.grad(layer(a).sum(), a, create_graph=True)
            torch.autograd.grad(first.sum(), a)
            made.append(make.call_count)
    assert made == [2, 2, 2]


def test_inputs_may_change_in_place_where_only_a_second_derivative_reads_them():
    layer = define("def f(float(N) A) -> (O) { O(i) = exp(A(i)) }")
    a = torch.randn(5, requires_grad=True)
    b = a * 1
    expected = b.detach().exp()
    y = layer(b)
    with torch.no_grad():
        b.add_(1)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), a, retain_graph=True)[0], expected)
    with pytest.raises(errors.DerivativeError, match="an input was changed in place after the layer read it"):
        torch.autograd.grad(y.sum(), a, create_graph=True)


@pytest.mark.parametrize("options", ["torch", "conv"])
@pytest.mark.parametrize("values", [[[0.0, 2.0, 3.0]], [[0.0, 0.0, 3.0, 4.0]], [[1.0, 2.0, 0.0, 0.0, 0.0]]])
def test_second_derivatives_of_a_product_with_zeros(values, options):
    layer = define("def f(double(N,D) X) -> (O) { O(n) *=! X(n,d) }")
    x = torch.tensor(values, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda q: layer(q, options=options), x)


def test_second_derivatives_of_a_product_onto_contents():
    layer = define("def f(double(N,D) X, double(N) B) -> (O) { O(n) = B(n)\n O(n) *= X(n,d) * X(n,d) }")
    x = torch.tensor([[0.0, 2.0, 3.0], [1.0, 2.0, -1.0]], dtype=torch.double, requires_grad=True)
    b = torch.tensor([2.0, 0.0], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(layer, (x, b))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch.func.jvp uses it itself
def test_other_ways_to_differentiate_are_refused():
    layer = define("def f(float(N) X) -> (O) { O(n) = sin(X(n)) * X(n) }")
    x = torch.randn(4)
    with pytest.raises(errors.DerivativeError, match="'f' has no forward-mode derivative. Use reverse mode"):
        torch.func.jvp(layer, (x,), (torch.ones(4),))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(4))
        with pytest.raises(errors.DerivativeError, match="'f' has no forward-mode derivative"):
            layer(dual)
    with pytest.raises(errors.DerivativeError, match=r"torch.func does not differentiate 'f'. Use torch.autograd.grad"):
        torch.func.grad(lambda q: layer(q).sum())(x)
    torch.testing.assert_close(layer(x), x.sin() * x)
