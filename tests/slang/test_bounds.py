"""Whole tensors are not read or written outside, and a gradient's loops not longer than was said."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack as tp
from tracepack.ops import slang

SOURCE = """
import "slangpy";
float pick(int i, ITensor<float, 1> x) { return x[i]; }
float pick_wide(int64_t i, ITensor<float, 1> x) { return x[i]; }
float pick2(int2 at, ITensor<float, 2> x) { return x[at]; }
void put(int i, IWTensor<float, 1> x) { x[i] = 1; }
[Differentiable] void product(int i, IDiffTensor<float, 2> w, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) {
    float sum = 0;
    [MaxIters(64)] for (uint k = 0; k < w.shape[1]; k++) sum += w[i, k] * x[k];
    y[i] = sum;
}
[Differentiable] float power(float x, int n) {
    float s = x;
    [MaxIters(4)] for (int i = 0; i < n; i++) s = s * x;
    return s;
}
"""


# One kernel for every kind of value that is indexed, chosen by a number.
KINDS = """
struct P { float3 v; float a[4]; };
static const float table[3] = { 1, 2, 3 };
void set(inout float3 v, int64_t i) { v[i] = 9; }
float any(int kind, int64_t i, float3 v, float2x3 m, float a[4]) {
    float3 w = v;
    float2x3 n = m;
    float b[4] = { 4, 5, 6, 7 };
    P p;
    p.v = v;
    p.a = a;
    switch (kind) {
    case 0: return v[i];
    case 1: return m[i][1];
    case 2: return m[1][i];
    case 3: return a[i];
    case 4: return table[i];
    case 5: return p.v[i];
    case 6: return p.a[i];
    case 7: w[i] = 8; return dot(w, float3(1, 1, 1));
    case 8: n[i] = v; return n[1][2];
    case 9: n[1][i] = 3; return n[1][2];
    case 10: b[i] = 3; return b[0] + b[1] + b[2] + b[3];
    case 11: set(w, i); return dot(w, float3(1, 1, 1));
    default: return 0;
    }
}
[Differentiable] float one(float3 v, int i) { return v[i]; }
half in_half(half2 v, uint i) { return v[i]; }
"""
V, M, A = torch.tensor([0.5, 1.5, 2.5]), torch.arange(6.0).reshape(2, 3), torch.tensor([10.0, 20.0, 30.0, 40.0])
INDEXED = [
    (V[1], 3),
    (M[1, 1], 2),
    (M[1, 1], 3),
    (A[1], 4),
    (2, 3),
    (V[1], 3),
    (A[1], 4),
    (11, 3),
    (2.5, 2),
    (5, 3),
    (20, 4),
    (12, 3),
]
"""By kind, the value at index 1, and the number of places."""


@pytest.fixture(scope="module")
def kinds() -> slang.SlangModule:
    return slang.load(KINDS)


@pytest.mark.parametrize("kind", range(len(INDEXED)))
def test_vectors_matrices_and_arrays(kinds: slang.SlangModule, kind: int) -> None:
    expected, size = INDEXED[kind]
    assert kinds.any(kind, 1, V, M, A).item() == expected
    for index in (size, -1, -(1 << 62), (1 << 32) + 1):  # the last has 1 as its lower half
        text = rf"an index is outside of an? (array|vector or a matrix); got {index}; expected 0 to {size - 1}$"
        with pytest.raises(slang.SlangIndexError, match=text):
            kinds.any(kind, index, V, M, A)


def test_halves(kinds: slang.SlangModule) -> None:
    assert kinds.in_half(V[:2].half(), 1).item() == 1.5
    with pytest.raises(slang.SlangIndexError, match="got 4294967295; expected 0 to 1"):
        kinds.in_half(V[:2].half(), (1 << 32) - 1)


def test_an_index_into_a_vector_in_a_gradient(kinds: slang.SlangModule) -> None:
    v = V.clone().requires_grad_()
    kinds.one(v, 2).backward()
    assert v.grad.tolist() == [0.0, 0.0, 1.0]
    gradient = torch.ones(())
    with pytest.raises(slang.SlangIndexError, match="outside of a vector or a matrix; got 3; expected 0 to 2"):
        kinds.one.operation(v, 2).run_backward([v.detach(), 3], [gradient], (0,))


def test_indices_of_64_bits_into_tensors(module: slang.SlangModule) -> None:
    for index in ((1 << 32) + 1, -1, 1 << 62):
        with pytest.raises(slang.SlangIndexError, match=f"outside of a tensor; got {index}; expected 0 to 2"):
            module.pick_wide(index, torch.arange(3.0))


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def test_indices_inside_are_as_before(module: slang.SlangModule) -> None:
    x = torch.arange(6.0)
    assert module.pick(slang.grid((6,)), x).tolist() == x.tolist()
    assert torch.equal(module.pick2(slang.grid((2, 3)), x.reshape(2, 3)), x.reshape(2, 3))


@pytest.mark.parametrize(
    ("index", "size", "text"),
    [
        (3, 3, r"float pick\(int i, ITensor<float, 1> x\): an index is outside of a tensor; got 3; expected 0 to 2"),
        (-1, 3, "an index is outside of a tensor; got -1; expected 0 to 2"),
        (0, 0, "an index is outside of a tensor; got 0; expected no index at all: the tensor is empty"),
    ],
)
def test_reading_outside(module: slang.SlangModule, index: int, size: int, text: str) -> None:
    with pytest.raises(slang.SlangIndexError, match=text):
        module.pick(torch.tensor([index], dtype=torch.int32), torch.arange(float(size)))


def test_each_axis_is_checked(module: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangIndexError, match="got 3; expected 0 to 2"):  # inside of the memory all the same
        module.pick2(torch.tensor([[3, 0]], dtype=torch.int32), torch.rand(2, 3))


def test_writing_outside_changes_nothing(module: slang.SlangModule) -> None:
    x = torch.zeros(3)
    with pytest.raises(slang.SlangIndexError, match="got 3; expected 0 to 2"):
        module.put(slang.grid((100_000,)), x)
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_a_tensor_that_is_too_small_forward_and_backward(module: slang.SlangModule) -> None:
    w, x, y = torch.rand(3, 5, requires_grad=True), torch.rand(5, requires_grad=True), torch.empty(3)
    module.product(slang.grid((3,)), w, x, y)
    y.backward(torch.ones(3))
    torch.testing.assert_close(y, w @ x)
    torch.testing.assert_close(x.grad, w.detach().sum(0))
    with pytest.raises(slang.SlangIndexError, match="got 4; expected 0 to 3"):
        module.product(slang.grid((3,)), torch.rand(3, 5), torch.rand(4), torch.empty(3))


def test_in_a_loaded_pipeline_too(module: slang.SlangModule) -> None:
    op = tp.script(module.pick)
    file = io.BytesIO()
    tp.trace(lambda i, x: op(i, x), torch.tensor([1], dtype=torch.int32), torch.rand(3)).save(file)
    loaded = tp.load(file.getvalue(), trust=True)
    with pytest.raises(slang.SlangIndexError, match="got 7; expected 0 to 2"):
        loaded(torch.tensor([7], dtype=torch.int32), torch.rand(3))


def test_a_loop_longer_than_its_max_iters(module: slang.SlangModule) -> None:
    x = torch.tensor([1.1, 2.0], requires_grad=True)
    module.power(x, 4).sum().backward()
    torch.testing.assert_close(x.grad, 5 * x.detach() ** 4)
    text = r"power.*: a loop is longer than its \[MaxIters\], or an index .* Write a larger number in \[MaxIters\(n\)\]"
    with pytest.raises(slang.SlangIndexError, match=text):
        module.power(x, 5).sum().backward()
    torch.testing.assert_close(module.power(x, 9).detach(), x.detach() ** 10)  # forward keeps nothing


def test_the_check_can_be_left_out() -> None:
    checked, bare = slang.load(SOURCE), slang.load(SOURCE, bounds=False)
    assert checked.program.source.key != bare.program.source.key
    assert bare.pick(slang.grid((3,)), torch.arange(3.0)).tolist() == [0.0, 1.0, 2.0]
    assert slang.load(KINDS, bounds=False).in_half(V[:2].half(), 1).item() == 1.5
    assert bare.pick.kernel().description()["bounds"] is False
    assert "bounds" not in checked.pick.kernel().description()


UNBOUNDED = """
import "slangpy";
[Differentiable] void linear_layer(int idx, IDiffTensor<float, 2> weights, IDiffTensor<float, 1> bias,
                                   IDiffTensor<float, 1> input, IWDiffTensor<float, 1> output) {
    uint in_features = weights.shape[1];
    // a comment for (the) sake of it
    float sum = bias[idx];
    for (uint i = 0; i < in_features; i++) { sum += weights[idx, i] * input[i]; }
    output[idx] = sum;
}
[Differentiable] float power(float x, int n) { float s = x; for (int i = 0; i < n; i++) s = s * x; return s; }
"""


def test_the_linear_layer_of_the_page_as_printed() -> None:
    w, b, x = (torch.rand(size, requires_grad=True) for size in ((3, 300), (3,), (300,)))
    y = torch.empty(3)
    slang.load(UNBOUNDED).linear_layer(slang.grid((3,)), w, b, x, y)
    y.backward(torch.ones(3))
    torch.testing.assert_close(y, w @ x + b)
    torch.testing.assert_close(x.grad, w.detach().sum(0))
    torch.testing.assert_close(b.grad, torch.ones(3))


def test_a_loop_without_a_limit_that_keeps_its_rounds() -> None:
    module, x = slang.load(UNBOUNDED), torch.tensor([1.001], requires_grad=True)
    module.power(x, 100).sum().backward()
    torch.testing.assert_close(x.grad, 101 * x.detach() ** 100)
    with pytest.raises(slang.SlangIndexError, match=r"Write a larger number in \[MaxIters\(n\)\]"):
        module.power(x, 2000).sum().backward()


NESTED = """
import "slangpy";
[Differentiable] void decayed(int idx, IDiffTensor<float, 2> w, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) {
    float s = x[idx];
    for (uint i = 0; i < w.shape[0]; i++) {
        for (uint j = 0; j < w.shape[1]; j++) { s = s * w[i, j]; }
    }
    y[idx] = s;
}
[Differentiable] void powers(int idx, int n, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) {
    float s = x[idx];
    for (int i = 0; i < n; i++) s = s * x[idx];
    y[idx] = s;
}
[Differentiable] float nested(float x, int n) {
    float s = x;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s = s * 0.5 + sin(s);
    return s;
}
"""


def test_a_limit_by_the_sizes_of_tensors() -> None:
    """A row of 3000 is longer than the limit of 1024 that a loop has otherwise."""
    w, b, x = (torch.rand(size, requires_grad=True) for size in ((2, 3000), (2,), (3000,)))
    y = torch.empty(2)
    slang.load(UNBOUNDED).linear_layer(slang.grid((2,)), w, b, x, y)
    y.backward(torch.ones(2))
    torch.testing.assert_close(x.grad, w.detach().sum(0))
    torch.testing.assert_close(w.grad, x.detach().expand(2, -1))


def test_nested_loops_over_sizes() -> None:
    """With a limit of 1024 for each, what they keep ended the process."""
    w = (torch.rand(3, 4) + 0.5).requires_grad_()
    x, y = torch.rand(2, requires_grad=True), torch.empty(2)
    slang.load(NESTED).decayed(slang.grid((2,)), w, x, y)
    torch.testing.assert_close(y, x * w.prod())
    found = torch.autograd.grad(y.sum(), (w, x))
    torch.testing.assert_close(found, torch.autograd.grad((x * w.prod()).sum(), (w, x)))


def test_a_loop_longer_than_any_size() -> None:
    x, y = torch.full((3,), 1.001, requires_grad=True), torch.empty(3)
    module = slang.load(NESTED)
    module.powers(slang.grid((3,)), 500, x, y)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 501 * x.detach() ** 500, rtol=501 * 2**-24, atol=0)  # a rounding each time
    again = torch.empty(3)
    module.powers(slang.grid((3,)), 1500, x, again)
    with pytest.raises(slang.SlangIndexError, match=r"Write a larger number in \[MaxIters\(n\)\] before the loop"):
        again.sum().backward()


def test_a_gradient_that_does_not_fit_on_the_stack_is_refused() -> None:
    text = (
        r"the gradient of .*nested\(float x, int n\) would keep \d+ KB on the stack, and 2048 KB fit. Write \[MaxIters"
    )
    with pytest.raises(slang.SlangCompileError, match=text):
        slang.load(NESTED).nested(torch.rand(3, requires_grad=True), 3).sum().backward()
