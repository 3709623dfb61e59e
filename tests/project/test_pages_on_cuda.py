"""The programs of the seed pages that name CUDA, as printed but for their imports, with and without a card.

Each program runs as its page prints it and is held against torch. Without a card it runs on `card.stand_in`, and what
it launched goes to NVIDIA's compiler afterwards. Smaller batches than the pages' are the only liberty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import Variable
from torch.nn.functional import conv2d
from torch.nn.parameter import Parameter

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")

from tests.card import stand_in
from tests.nvrtc import cubin_of
from tracepack import comprehension as tc
from tracepack import slang as spy

pytestmark = pytest.mark.card

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
N, C, H, WIDTH, M, kH, kW, sH, sW = 2, 4, 56, 56, 16, 1, 1, 1, 1


@pytest.fixture
def card(tmp_path: Path) -> Iterator[SimpleNamespace]:
    """A card, or what stands in for one; there every kernel that a test made is compiled for CUDA at its end."""
    if torch.cuda.is_available():
        with torch.backends.cudnn.flags(allow_tf32=False):  # else torch's convolutions round to 10 bits
            yield SimpleNamespace(launches=None)
        return
    folder = tmp_path / "kernels"
    folder.mkdir()
    with stand_in(folder) as found:
        yield found
    assert found.launches
    assert all(map(cubin_of, found.cuda_texts()))


def first(outputs: torch.Tensor | list[torch.Tensor]) -> torch.Tensor:
    """What the page writes as `out[0]`: the first output of a list, or the first image of a tensor."""
    return outputs[0]


def expected(outputs: torch.Tensor | list[torch.Tensor], reference: torch.Tensor) -> torch.Tensor:
    """What `out[0]` has to be."""
    return reference if isinstance(outputs, list) else reference[0]


@pytest.mark.usefixtures("card")
def test_pytorch_page_of_slangpy(tmp_path: Path) -> None:
    (tmp_path / "example.slang").write_text(
        "[Differentiable]\nfloat polynomial(float a, float b, float c, float x) {\n"
        "    return a * x * x + b * x + c;\n}\n"
    )
    device = "cuda"
    module = spy.TorchModule.load_from_file(device, str(tmp_path / "example.slang"))
    x = torch.tensor([1, 2, 3, 4], dtype=torch.float32, device="cuda", requires_grad=True)
    result = module.polynomial(a=2, b=8, c=-1, x=x)
    assert result.tolist() == [9, 23, 41, 63]
    assert result.device == torch.device("cuda", 0)
    result.backward(torch.ones_like(result))
    assert x.grad is not None
    assert x.grad.tolist() == [12, 16, 20, 24]


OPTIONS = {"as defined": None, "a pair": ("conv", "group_conv")}


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("options", OPTIONS)
def test_training_layer_of_tensor_comprehensions(options: str) -> None:
    convolution = tc.define(
        CONV_LANG, training=True, name="convolution", backward="convolution_grad", constants={"sh": sH, "sw": sW}
    )
    I = Variable(torch.randn(N, C, H, WIDTH).cuda(), requires_grad=True)  # noqa: E741
    W = Parameter(torch.randn(M, C, kH, kW).cuda())
    given = OPTIONS[options]
    out = convolution(I, W, options=[tc.Options(each) for each in given]) if given else convolution(I, W)
    wanted = expected(out, conv2d(I, W))
    torch.testing.assert_close(first(out), wanted)
    gradients = torch.autograd.grad(wanted.sum(), (I, W))
    out[0].sum().backward()
    torch.testing.assert_close((I.grad, W.grad), gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("card")
def test_autotuned_layer_of_tensor_comprehensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    convolution = tc.define(
        CONV_LANG, training=True, name="convolution", backward="convolution_grad", constants={"sh": sH, "sw": sW}
    )
    I, W1 = torch.randn(N, C, H, WIDTH).cuda(), torch.randn(M, C, kH, kW).cuda().requires_grad_()  # noqa: E741
    # The page gives the width `W` here, by mistake, and tensors without gradients to `backward`.
    convolution.autotune(I, W1, cache="convolution_train.tc", generations=1, pop_size=1)
    out = convolution(I, W1)
    torch.testing.assert_close(first(out), expected(out, conv2d(I, W1)))
    out[0].sum().backward()
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("convolution_train*/options"))
    assert found == ["convolution_train.cuda/options", "convolution_train_backward.cuda/options"]


@pytest.mark.usefixtures("card")
def test_reordered_gradients_of_tensor_comprehensions() -> None:
    def reorder():
        def reorder_function(grad_outputs):
            return [grad_outputs[1]]

        return reorder_function

    convolution = tc.define(LANG, training=True, name="convolution", backward="convolution_grad")
    I = Variable(torch.randn(N, C, H, WIDTH).cuda(), requires_grad=True)  # noqa: E741
    W = Parameter(torch.randn(M, C, kH, kW).cuda())
    B = Parameter(torch.randn(M).cuda())
    out = convolution(I, W, B, reorder_function=reorder())
    wanted = conv2d(I, W, B)
    torch.testing.assert_close(out[1], wanted)
    gradients = torch.autograd.grad(wanted.sum(), (I, W, B))
    out[1].sum().backward()  # the page takes out[0], `tmp`, whose gradient its backward leaves out
    torch.testing.assert_close((I.grad, W.grad, B.grad), gradients, rtol=1e-4, atol=1e-4)
