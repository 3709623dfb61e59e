"""The page "Autograd with TC" of Tensor Comprehensions, statement by statement; only import and `.cuda()` differ."""

# ruff: noqa: E741 - the page's own names

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.autograd import Variable
from torch.nn.parameter import Parameter

import tracepack as tp
from tracepack import comprehension as tc
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.tune.cache import cache_path

CONV_LANG = """
def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {{
   O(n, m, h, w) +=! I(n, c, {sh} * h + kh, {sw} * w + kw) * W1(m, c, kh, kw)
}}
def convolution_grad(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(N,M,H,W) O_grad) -> (I_grad, W1_grad) {{
   I_grad(n, c, h, w) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * W1(m, c, kh, kw)
   W1_grad(m, c, kh, kw) +=! O_grad(n, m, {sh} * h - kh, {sw} * w - kw) * I(n, c, h, w)
}}
"""
LANG = """
def convolution(float(N, C, H, W) I, float(M, C, KH, KW) W1, float(M) B) -> (tmp, O) {
  tmp(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)
  O(n, m, h, w) = tmp(n, m, h, w) + B(m)
}
def convolution_grad(float(N, C, H, W) I, float(M, C, KH, KW) W1, float(M) B, float(N, M, H, W) O_grad)
-> (I_grad, W1_grad, B_grad) {
  I_grad(n, c, h, w) +=! O_grad(n, m, h - kh, w - kw) * W1(m, c, kh, kw)
  W1_grad(m, c, kh, kw) +=! O_grad(n, m,  h - kh, w - kw) * I(n, c, h, w)
  B_grad(m) +=! O_grad(n, m, h, w)
}
"""
N, C, H, W, O, kH, kW, sH, sW = 32, 4, 56, 56, 16, 1, 1, 1, 1
QUICK = {"generations": 1, "pop_size": 2, "threads": 2, "progress": False}


@pytest.fixture
def convolution():
    return tc.define(
        CONV_LANG, training=True, name="convolution", backward="convolution_grad", constants={"sh": sH, "sw": sW}
    )


@pytest.fixture
def inputs():
    return Variable(torch.randn(N, C, H, W), requires_grad=True), Parameter(torch.randn(O, C, kH, kW))


def reorder():
    def reorder_function(grad_outputs):
        return [grad_outputs[1]]

    return reorder_function


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def gradients(inputs, *more):
    """Torch's own, of the sum of the whole output."""
    return torch.autograd.grad(torch.conv2d(*inputs, *more).sum(), [*inputs, *more])


def test_the_first_example(convolution, inputs):
    I, W = inputs
    out = convolution(I, W)
    out[0].sum().backward()
    close(out[0], torch.conv2d(I, W))
    close((I.grad, W.grad), gradients(inputs))


def test_options(convolution, inputs):
    I, W = inputs
    out = convolution(I, W, options=[tc.Options("conv"), tc.Options("group_conv")])
    out[0].sum().backward()
    close((I.grad, W.grad), gradients(inputs))


def test_autotuning(convolution, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    I, W1 = torch.randn(N, C, H, W), torch.randn(O, C, kH, kW)
    with pytest.raises(errors.ComprehensionInputError, match="input 'W1' of 'convolution' is no tensor; got int"):
        convolution.autotune(I, W, cache="convolution_train.tc")  # the page's W is the width, and no tensor
    convolution.autotune(I, W1, cache="convolution_train.tc", **QUICK)
    assert {p.name for p in tmp_path.iterdir()} == {
        "convolution_train.tc.options",
        "convolution_train.tc_backward.options",
    }
    out = convolution(I, W1)
    close(out[0], torch.conv2d(I, W1))
    with pytest.raises(RuntimeError, match="does not require grad"):
        out[0].sum().backward()  # nothing on the page requires a gradient here


def test_the_pages_cache_files(convolution, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    I, W1 = torch.randn(2, C, 8, 8), torch.randn(O, C, kH, kW)
    convolution.autotune(I, W1, cache="convolution_train.cuda/options", **QUICK)
    assert (tmp_path / "convolution_train.cuda" / "options").is_file()
    assert (tmp_path / "convolution_train_backward.cuda" / "options").is_file()
    close(convolution(I, W1, cache="convolution_train.cuda/options")[0], torch.conv2d(I, W1))
    names = [str(cache_path("conv.tc", backward, "cuda")) for backward in (False, True)]
    assert names == ["conv.cuda/options", "conv_backward.cuda/options"]
    (tmp_path / "conv.tc.options").touch()  # of an earlier version, with entries for the card
    assert str(cache_path("conv.tc", False, "cuda")) == "conv.tc.options"


@pytest.mark.parametrize(("setting", "instead"), [
    ("gpus", "The tuner measures where the inputs are"), ("elites", "It is called number_elites"),
    ("proto", "It is called cache"),
])  # fmt: skip
def test_settings_that_were_replaced(convolution, setting, instead):
    with pytest.raises(errors.OptionsError, match=f"autotune: there is no setting '{setting}'. {instead}"):
        convolution.autotune((2, C, 8, 8), (O, C, 1, 1), **{setting: 1})


def test_reordering():
    M = O
    convolution = tc.define(LANG, training=True, name="convolution", backward="convolution_grad")
    I = Variable(torch.randn(N, C, H, W), requires_grad=True)
    W_ = Parameter(torch.randn(M, C, kH, kW))
    B = Parameter(torch.randn(M))
    out = convolution(I, W_, B, reorder_function=reorder())
    out[0].sum().backward()  # `tmp`, whose gradient the backward does not take
    assert not any(x.grad.any() for x in (I, W_, B))
    I.grad = W_.grad = B.grad = None
    out = convolution(I, W_, B, reorder_function=reorder())
    out[1].sum().backward()
    close((I.grad, W_.grad, B.grad), gradients((I, W_), B))


# -- what the page's users meet next -----------------------------------------------------------------------


@pytest.fixture
def reordered():
    return tc.define(LANG, training=True, name="convolution", backward="convolution_grad", reorder_function=reorder())


@pytest.fixture
def biased():
    shapes = ((2, C, 5, 4), (O, C, 1, 1), (O,))
    return [torch.randn(s, requires_grad=True) for s in shapes]


def test_reorder_function_of_the_definition(reordered, biased):
    assert reordered.reordered == ("O",)
    reordered(*biased)[1].sum().backward()
    close([x.grad for x in biased], gradients(biased[:2], biased[2]))
    for again in (copy.deepcopy(reordered), pickle.loads(pickle.dumps(reordered))):
        assert again.reordered == ("O",)
        close(torch.autograd.grad(again(*biased)[1].sum(), biased), gradients(biased[:2], biased[2]))


def test_reorder_function_is_packed(reordered, biased, tmp_path):
    def process(i, w, b):
        return reordered(i, w, b)[1].relu()

    tp.trace(process, *[x.detach() for x in biased]).save(tmp_path / "p.tpk")
    close(tp.load(tmp_path / "p.tpk")(*[x.detach() for x in biased]), torch.conv2d(*biased).relu())
    loaded = tp.load(tmp_path / "p.tpk", grad=True)
    seed = torch.randn(2, O, 5, 4)
    expected = torch.autograd.grad(torch.conv2d(*biased).relu(), biased, seed)
    close(torch.autograd.grad(loaded(*biased), biased, seed), expected)


def test_reorder_function_of_a_recorded_call(biased, tmp_path):
    plain = tc.define(LANG, name="convolution", backward="convolution_grad")

    def process(i, w, b):
        return plain(i, w, b, reorder_function=lambda gradients: gradients[1:])[1] + 1

    tp.trace(process, *[x.detach() for x in biased]).save(tmp_path / "p.tpk")
    loaded = tp.load(tmp_path / "p.tpk", grad=True)
    close(torch.autograd.grad(loaded(*biased).sum(), biased), gradients(biased[:2], biased[2]))


def test_reorder_functions_that_compute_cannot_be_packed():
    with pytest.raises(errors.DerivativeError, match="does not give some of the gradients that it is given"):
        tc.define(LANG, name="convolution", backward="convolution_grad", reorder_function=lambda g: [g[1] * 2])
    reads = (
        r"the reorder_function fails on gradients without contents; got RuntimeError: .*\. Select here, lambda g: \["
    )
    with pytest.raises(errors.DerivativeError, match=reads):
        tc.define(
            LANG, name="convolution", backward="convolution_grad", reorder_function=lambda g: g[: int(g[1].sum())]
        )
    with pytest.raises(
        errors.DerivativeError, match="'f' has no backward to reorder gradients for. Name it: backward="
    ):
        tc.define("def f(float(N) A) -> (B) { B(i) = A(i) }", reorder_function=lambda g: g)


def test_training_layers_return_a_list_everywhere(tmp_path):
    text = "def twice(float(N) A) -> (B) { B(i) = 2.0 * A(i) }"
    a = torch.randn(6, requires_grad=True)
    plain, trained = tc.define(text), tc.define(text, training=True)
    assert torch.equal(plain(a), 2 * a)
    (only,) = trained(a)
    assert torch.equal(only, 2 * a)
    op, model = tp.script(trained), tp.script(Squared(trained))

    def process(x):
        return {"op": op(x)[0], "called": trained(x)[0], "model": model(x)}

    traced = tp.trace(process, a.detach())
    traced.save(tmp_path / "p.tpk")
    for run in (traced, tp.load(tmp_path / "p.tpk"), tp.load(tmp_path / "p.tpk", grad=True)):
        found = run(a.detach())
        assert all(torch.equal(found[k], 2 * a) for k in ("op", "called"))
        assert torch.equal(found["model"], 4 * a * a)
    loaded = tp.load(tmp_path / "p.tpk", grad=True)
    close(torch.autograd.grad(loaded(a)["called"].sum(), a)[0], torch.full((6,), 2.0))


class Squared(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0] ** 2


def test_numpy_arrays():
    layer = tc.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
    a, b = np.random.rand(4, 5).astype("float32"), np.random.rand(6, 5).astype("float32")
    frozen = a.copy()
    frozen.flags.writeable = False
    for given in (a, frozen, a[:, ::-1], np.asfortranarray(a)):
        np.testing.assert_allclose(layer(given, b.T).numpy(), given @ b.T, rtol=1e-5)
    with pytest.raises(errors.ComprehensionInputError, match="input 'A' of 'mm' has another type; got torch.float64"):
        layer(a.astype("float64"), b.T)
    with pytest.raises(errors.ComprehensionInputError, match="input 'A' of 'mm' has another type; got <U1"):
        layer(np.array([["x"]]), b.T)


def test_numpy_arrays_of_a_recorded_function():
    layer = tc.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
    a, b = np.random.rand(4, 5).astype("float32"), np.random.rand(5, 6).astype("float32")
    found = tp.trace(lambda x, y: layer(np.exp(x), y), a, b)(a, b)
    np.testing.assert_allclose(found.numpy(), np.exp(a) @ b, rtol=1e-5)


def test_a_layer_that_was_called_pickles(inputs):
    layer = tc.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", gather="clamp")
    a, b = torch.randn(4, 5), torch.randn(5, 6)
    layer.set_tuned([(4, 5), (5, 6)], [tc.Options("torch")])
    layer(a, b)
    for again in (pickle.loads(pickle.dumps(layer)), copy.copy(layer), copy.deepcopy(layer)):
        assert torch.equal(again(a, b), layer(a, b))
        assert again.tuned == layer.tuned
        assert (again.operator, again.gather) == (layer.operator, "clamp")
