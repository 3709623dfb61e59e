"""The first call of a compiled kernel is held against torch's operators; a kernel that is wrong does not run again."""

import warnings

import pytest
import torch

import tracepack
from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.cpp import emitter
from tracepack.ops.comprehension.run.first_call import check_first_call
from tracepack.ops.comprehension.torch.emitter import TorchEmitter

CASES = {
    "softmax": (
        "def f(float(N,D) I) -> (O) { top(n) max=! I(n,d) e(n,d) = exp(I(n,d) - top(n)) s(n) +=! e(n,d) "
        "O(n,d) = e(n,d) / s(n) }", [(33, 20)]),
    "convolution": (
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) K, float(M) B) -> (O) { "
        "O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * K(m,c,kh,kw) O(n,m,h,w) = fmax(O(n,m,h,w) + B(m), 0.0) }",
        [(3, 2, 9, 8), (5, 2, 3, 3), (5,)]),
    "mean": ("def f(float(N,D) I) -> (O, m) { m +=! I(n,d) m = m / 7.0 O(n,d) = I(n,d) - m }", [(9, 11)]),
    "transposed": ("def f(float(N,D) I) -> (O) { O(d,n) = I(n,d) * 2.0 }", [(17, 40)]),
    "padded": ("def f(float(N) I) -> (O) { O(i) = i > 0 ? I(i - 1) : 0.0 where i in 0:N }", [(50,)]),
    "partly": (
        "def f(float(N) I) -> (O) { O(i) = I(i) O(i) *= 3.0 where i in 2:7 O(i) +=! I(j) * 0.5 where i in 4:5 }",
        [(12,)]),
}  # fmt: skip


def inputs(case):
    return [torch.randn(s) for s in CASES[case][1]]


@pytest.mark.parametrize("case", CASES)
def test_right_results_agree(case):
    layer, given = define(CASES[case][0]), inputs(case)
    program = layer.plan(given).program
    found = TorchEmitter(program)(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_first_call(program, False, given, (), found) is None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("place", [0, -1])
def test_a_wrong_value_at_either_end_is_found(case, place):
    layer, given = define(CASES[case][0]), inputs(case)
    program = layer.plan(given).program
    found = TorchEmitter(program)(given)
    found[0].view(-1)[place] += 1.0
    with pytest.warns(
        ComprehensionWarning, match="the compiled kernel of 'f' does not compute what torch's operators do"
    ):
        assert isinstance(check_first_call(program, False, given, (), found), TorchEmitter)


@pytest.mark.parametrize("at", [(0, -1), (-1, 0), (9, 20)])
def test_a_wrong_value_where_one_axis_ends_or_in_the_middle_is_found(at):
    """A tile's body is another one where an axis ends, for each axis."""
    layer, given = define("def f(float(N,D) A, float(D) B) -> (O) { O(n,d) = A(n,d) * B(d) }"), [torch.rand(20, 42) + 1]
    given.append(torch.rand(42) + 1)
    program = layer.plan(given).program
    found = TorchEmitter(program)(given)
    assert check_first_call(program, False, given, (), found) is None
    found[0][at] += 1.0
    with pytest.warns(ComprehensionWarning, match="the compiled kernel of 'f' does not compute what torch's operators"):
        assert isinstance(check_first_call(program, False, given, (), found), TorchEmitter)


def test_a_wrong_kernel_does_not_run(monkeypatch):
    """As a compiler might make it: with another number."""
    plain = emitter.generate

    def wrong(*arguments):
        generated = plain(*arguments)
        return emitter.Generated(
            generated.text.replace("(float)0.25", "(float)0.5"), generated.workspace, generated.checks
        )

    monkeypatch.setattr(emitter, "generate", wrong)
    text, x = "def least(float(N) I) -> (O) { O(i) = fmax(I(i), 0.25) }", torch.linspace(-1, 1, 7)
    layer = define(text)
    with pytest.warns(ComprehensionWarning, match="the compiled kernel of 'least' does not compute"):
        assert torch.equal(layer(x, options="naive"), x.clamp(min=0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(layer(x, options="naive"), x.clamp(min=0.25))
        assert not torch.equal(define(text)(x, options=Options("naive", check=False)), x.clamp(min=0.25))


def test_a_wrong_kernel_of_a_gradient_does_not_run(monkeypatch):
    """A backward that counts an iteration too few: its last column."""
    plain = emitter.generate

    def wrong(program, *arguments):
        generated = plain(program, *arguments)
        text = generated.text.replace("< 37;", "< 36;") if program.name.endswith("backward") else generated.text
        assert (text != generated.text) == program.name.endswith("backward")
        return emitter.Generated(text, generated.workspace, generated.checks)

    monkeypatch.setattr(emitter, "generate", wrong)
    layer = define("def scaled(float(N,D) A, float(N) s) -> (O) { O(n) +=! A(n,d) * A(n,d) * s(n) }")
    a, s = torch.randn(5, 37, requires_grad=True), torch.randn(5, requires_grad=True)
    out = layer(a, s, options="naive")
    torch.testing.assert_close(out, a.square().sum(1) * s)
    with pytest.warns(ComprehensionWarning, match="the compiled kernel of 'scaled_backward' does not compute"):
        found = torch.autograd.grad(out.sum(), [a, s])
    torch.testing.assert_close(found, torch.autograd.grad((a.square().sum(1) * s).sum(), [a, s]))


def test_options_say_whether_to_check():
    assert "check" not in Options().to_plain()
    assert not Options.from_plain(Options(check=False).to_plain()).check


# -- sizes and types that the page's users meet --------------------------------------------------------------


@pytest.mark.parametrize("options", [Options("torch"), Options()])
@pytest.mark.parametrize(("sign", "expected"), [("+", 0.0), ("*", 1.0), ("max", -float("inf")), ("min", float("inf"))])
def test_empty_sizes_give_the_identity(options, sign, expected):
    layer = define(f"def f(float(N,K) A) -> (O) {{ O(n) {sign}=! A(n,k) }}")
    a = torch.empty(3, 0, requires_grad=True)
    out = layer(a, options=options)
    assert out.tolist() == [expected] * 3
    assert torch.autograd.grad(out.sum(), a)[0].shape == (3, 0)
    assert layer(torch.empty(0, 4), options=options).shape == (0,)


def test_an_empty_batch():
    layer = define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) C(m,n) = tanh(C(m,n)) }")
    for m, k, n in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
        a, b = torch.randn(m, k, requires_grad=True), torch.randn(k, n, requires_grad=True)
        out = layer(a, b)
        torch.testing.assert_close(out, torch.tanh(a @ b))
        found = torch.autograd.grad(out.sum(), [a, b], materialize_grads=True)
        torch.testing.assert_close(found, torch.autograd.grad(torch.tanh(a @ b).sum(), [a, b]))


@pytest.mark.parametrize("options", [Options("torch"), Options("naive"), Options()])
def test_bfloat16(options):
    layer = define("def mm(bfloat16(M,K) A, bfloat16(K,N) B) -> (C) { C(m,n) +=! float(A(m,k)) * float(B(k,n)) }")
    a, b = torch.randn(9, 33).bfloat16().requires_grad_(), torch.randn(33, 20).bfloat16()
    torch.testing.assert_close(layer(a, b, options=options), a.float() @ b.float(), rtol=1e-4, atol=1e-4)
    found = torch.autograd.grad(layer(a, b, options=options).sum(), a)[0]
    torch.testing.assert_close(found, torch.autograd.grad((a.float() @ b.float()).sum(), a)[0], rtol=2e-2, atol=2e-2)
    rounds = define("def r(float(N) A) -> (O, P) { O(i) = bfloat16(A(i)) P(i) = float(bfloat16(A(i) * 3.0)) + A(i) }")
    wild = torch.tensor(
        [1.00390625, 1.01171875, -3.3e38, 3.4e38, float("inf"), float("nan"), 1e-40, -0.0, *torch.randn(30)]
    )
    out, back = rounds(wild, options=options)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out, wild.bfloat16(), rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(back, (wild * 3).bfloat16().float() + wild, rtol=1e-6, atol=0, equal_nan=True)
    both = define("def b(bfloat16(N) A, float16(N) B) -> (O) { O(i) = A(i) + B(i) }")
    x, y = torch.randn(5).bfloat16(), torch.randn(5).half()
    torch.testing.assert_close(both(x, y, options=options), x + y)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_an_exclusive_prefix_sum_of_any_size(size):
    layer = define("def before(float(N) X) -> (O) { O(i) +=! X(j) where i in 0:N, j in 0:i }")
    x = torch.rand(size, requires_grad=True)
    torch.testing.assert_close(layer(x), x.cumsum(0) - x)
    layer(x).sum().backward()
    assert x.grad.tolist() == list(range(size))[::-1]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_guarded_access_of_an_empty_tensor(size):
    layer = define("def padded(float(N) A) -> (O) { O(n) = n < 2 || n >= N + 2 ? 0.0 : A(n - 2) where n in 0:N + 4 }")
    x = torch.rand(size, requires_grad=True)
    assert torch.equal(layer(x), torch.nn.functional.pad(x, (2, 2)))
    layer(x).sum().backward()
    assert x.grad.tolist() == [1.0] * size


def test_a_layer_without_inputs():
    layer = define("def even() -> (O) { O(n) = n * 2 where n in 0:5 }")
    for _ in range(2):
        assert layer().tolist() == [0, 2, 4, 6, 8]
    mod = tracepack.trace(lambda x: x + layer(), torch.rand(5))
    assert mod(torch.ones(5)).tolist() == [1, 3, 5, 7, 9]
