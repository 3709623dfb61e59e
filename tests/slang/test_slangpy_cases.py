"""What SlangPy users rely on, after its installed test-suite, in our own words; `docs/slang.md` lists the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tracepack.ops import slang

SOURCE = """
import "slangpy";

[Differentiable] float relu(float x) { return max(x, 0.0f); }
[Differentiable] float leaky(float x) { return x > 0 ? x : 0.01f * x; }
[Differentiable] float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
[Differentiable] float tangent(float x) { return tanh(x); }
[Differentiable] float silu(float x) { return x / (1.0f + exp(-x)); }
[Differentiable] float softplus(float x) { return log(1.0f + exp(x)); }
[Differentiable] float elu(float x) { return x > 0 ? x : exp(x) - 1.0f; }
[Differentiable] float gaussian(float x) { return exp(-x * x); }
[Differentiable] float power(float x, float y) { return pow(x, y); }
[Differentiable] float squared_error(float guess, float truth) { float d = guess - truth; return d * d; }

[Differentiable] float add(float a, float b) { return a + b; }
[Differentiable] float3 add_vectors(float3 a, float3 b) { return a + b; }
[Differentiable] vector<float, N> add_generic<let N : int>(vector<float, N> a, vector<float, N> b) { return a + b; }
[Differentiable] float[5] add_arrays(float[5] a, float[5] b) {
    float[5] r;
    for (int i = 0; i < 5; i++) r[i] = a[i] + b[i];
    return r;
}
[Differentiable] void add_out(float a, float b, out float result) { result = a + b; }
[Differentiable] void add_vectors_out(float3 a, float3 b, out float3 result) { result = a + b; }
[Differentiable] float3 polynomial_vectors(float a, float b, float c, float3 x) {
    return x * a * x + x * b + float3(c);
}
[Differentiable] float2 bezier(float2 p0, float2 p1, float2 p2, float t) {
    float s = 1.0f - t;
    return p0 * (s * s) + p1 * (2.0f * s * t) + p2 * (t * t);
}
void copy(Tensor<float, 1> input, RWTensor<float, 1> output) {
    for (uint i = 0; i < input.shape[0]; i++) output[i] = input[i];
}
void sum_all(ITensor<float, 2> a, ITensor<float, 2> b, IWTensor<float, 2> result) {
    for (uint i = 0; i < a.shape[0]; i++)
        for (uint j = 0; j < a.shape[1]; j++)
            result[i, j] = a[i, j] + b[i, j];
}
[Differentiable] float doubled_at(int i, DiffTensor<float, 1> x) { return 2 * x[i]; }
[Differentiable] float squared_at(int i, IDiffTensor<float, 1> x) { return x[i] * x[i]; }
"""

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu,
    "leaky": lambda x: torch.nn.functional.leaky_relu(x, 0.01),
    "sigmoid": torch.sigmoid,
    "tangent": torch.tanh,
    "silu": torch.nn.functional.silu,
    "softplus": torch.nn.functional.softplus,
    "elu": torch.nn.functional.elu,
    "gaussian": lambda x: torch.exp(-x * x),
}


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(module: slang.SlangModule, name: str) -> None:
    x = torch.linspace(-4, 4, 100).requires_grad_()  # without 0, where relu has no derivative
    found, expected = module[name](x), ACTIVATIONS[name](x)
    # glibc's vector functions are within 4 units in the last place
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=1e-6)
    gradients = (torch.autograd.grad(y.sum(), x)[0] for y in (found, expected))
    torch.testing.assert_close(*gradients, rtol=5e-6, atol=2e-6)


def test_power_and_loss(module: slang.SlangModule) -> None:
    x, y = torch.rand(20) + 0.5, torch.randn(20)
    x.requires_grad_()
    y.requires_grad_()
    for found, expected in (
        (module.power(x, y), x**y),
        (module.squared_error(x, y).mean(), torch.nn.functional.mse_loss(x, y)),
    ):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        pairs = (torch.autograd.grad(each.sum(), (x, y)) for each in (found, expected))
        torch.testing.assert_close(*pairs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("extra", [(), (4,), (2, 4), (3, 1, 4)])
@pytest.mark.parametrize("name", ["add", "add_vectors", "add_generic", "add_arrays"])
def test_additions_of_every_type_and_rank(module: slang.SlangModule, name: str, extra: tuple[int, ...]) -> None:
    own = {"add": (), "add_arrays": (5,)}.get(name, (3,))
    a, b = (torch.randn((*extra, *own), requires_grad=True) for _ in range(2))
    found = module[name](a, b)
    torch.testing.assert_close(found, a + b)
    weight = torch.randn(found.shape)
    torch.testing.assert_close(torch.autograd.grad((found * weight).sum(), (a, b)), (weight, weight))


@pytest.mark.parametrize(("name", "own"), [("add_out", ()), ("add_vectors_out", (3,))])
def test_out_parameters_filled_in_place_carry_gradients(
    module: slang.SlangModule, name: str, own: tuple[int, ...]
) -> None:
    a, b = torch.randn(4, *own, requires_grad=True), torch.randn(4, *own)
    result = torch.empty(4, *own)
    module[name](a, b, result)
    torch.testing.assert_close(result, a + b)
    result.sum().backward()
    assert torch.equal(a.grad, torch.ones_like(a))


def test_scalars_with_vectors(module: slang.SlangModule) -> None:
    a, x = torch.tensor(2.0, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    found, expected = module.polynomial_vectors(a, 8, -1, x), a * x * x + 8 * x - 1
    torch.testing.assert_close(found, expected)
    pairs = (torch.autograd.grad(each.sum(), (a, x)) for each in (found, expected))
    torch.testing.assert_close(*pairs)


@pytest.mark.parametrize(
    "cut",
    [lambda t: t[2:], lambda t: t[::2], lambda t: t[:, 1], lambda t: t.t(), lambda t: t[..., None, :], lambda t: t[1]],
)
def test_slices_and_transposes(module: slang.SlangModule, cut: Callable[[torch.Tensor], torch.Tensor]) -> None:
    base = torch.randn(6, 4, requires_grad=True)
    found = torch.autograd.grad(module.gaussian(cut(base)).sum(), base)
    torch.testing.assert_close(
        found, torch.autograd.grad(torch.exp(-(cut(base) ** 2)).sum(), base), rtol=1e-5, atol=1e-6
    )


def test_interleaved_with_torch(module: slang.SlangModule) -> None:
    x = torch.randn(8, requires_grad=True)
    found = module.gaussian(torch.sin(module.sigmoid(x)) * module.tangent(x)).cumsum(0)
    expected = torch.exp(-((torch.sin(torch.sigmoid(x)) * torch.tanh(x)) ** 2)).cumsum(0)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    pairs = (torch.autograd.grad(each.sum(), x) for each in (found, expected))
    torch.testing.assert_close(*pairs, rtol=1e-5, atol=1e-5)


def test_retain_graph_gives_the_same_twice(module: slang.SlangModule) -> None:
    x = torch.randn(5, requires_grad=True)
    y = module.gaussian(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    torch.testing.assert_close(x.grad, 2 * first)


def test_whole_tensors(module: slang.SlangModule) -> None:
    source, target = torch.randn(7), torch.zeros(7)
    assert module.copy(source, target) is None
    assert torch.equal(source, target)
    a, b, result = torch.randn(2, 3, 4), torch.randn(3, 4), torch.empty(2, 3, 4)
    module.sum_all(a, b, result)
    torch.testing.assert_close(result, a + b)


def test_tensor_parameters_with_and_without_gradients(module: slang.SlangModule) -> None:
    index = slang.grid((3,))
    for name, slope in (("doubled_at", lambda x: torch.full((3,), 2.0)), ("squared_at", lambda x: 2 * x)):
        x = torch.randn(3)
        plain = module[name](index, x)
        assert not plain.requires_grad
        leaf = x.clone().requires_grad_()
        module[name](index, leaf).sum().backward()
        torch.testing.assert_close(leaf.grad, slope(x))


def test_empty_tensors(module: slang.SlangModule) -> None:
    x = torch.empty(0, 3, requires_grad=True)
    found = module.add_vectors(x, torch.ones(3))
    assert found.shape == (0, 3)
    found.sum().backward()
    assert x.grad.shape == (0, 3)
    one = torch.ones(3, requires_grad=True)
    module.add_vectors(x.detach(), one).sum().backward()
    assert one.grad.tolist() == [0.0, 0.0, 0.0]


def test_parameters_of_a_module(module: slang.SlangModule) -> None:
    weight = torch.nn.Parameter(torch.randn(4))
    found = module.gaussian(weight)
    found.sum().backward()
    torch.testing.assert_close(weight.grad, (-2 * weight * torch.exp(-weight * weight)).detach(), rtol=1e-5, atol=1e-6)


def test_fitting_a_curve(module: slang.SlangModule) -> None:
    torch.manual_seed(0)
    truth = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
    t = torch.linspace(0, 1, 32)
    target = module.bezier(*truth, t)
    points = torch.nn.Parameter(torch.randn(3, 2))
    optimizer = torch.optim.Adam([points], lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        module.squared_error(module.bezier(*points, t), target).mean().backward()
        optimizer.step()
    torch.testing.assert_close(points.detach(), truth, rtol=0, atol=2e-2)
