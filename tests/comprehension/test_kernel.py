"""The kernel: packed as plain data, built again, with and without trust; layers as operators of torch.library."""

import json
import warnings

import pytest
import torch

from tracepack.ops.comprehension import ComprehensionKernel, ComprehensionWarning, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.kernels import toolchain
from tracepack.ops.kernels.cpu import target
from tracepack.ops.kernels.registry import kernel_of_operator
from tracepack.ops.kinds import kernel_class

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
TWO = "def two(float(N) A) -> (B, C) { B(i) = A(i) * 2\n C +=! A(i) }"


@pytest.fixture
def inputs():
    return [torch.randn(24, 40), torch.randn(40, 33)]


@pytest.fixture
def tuned(inputs):
    layer = define(MATMUL)
    layer.autotune(*inputs, generations=1, pop_size=2, threads=2)
    from tracepack.ops.comprehension.schedule.options import Options

    schedule = Options("conv").resolve(layer.plan(inputs).program)
    layer.set_tuned([tuple(x.shape) for x in inputs], [Options(schedule=schedule)])
    return layer


def test_round_trip(tuned, inputs):
    kernel = tuned.kernel()
    description = json.loads(json.dumps(kernel.description()))
    again = kernel_class("comprehension").build(description, kernel.assets())
    assert isinstance(again, ComprehensionKernel)
    assert again.name == "mm"
    assert again.description() == kernel.description()
    assert again.assets() == kernel.assets()
    assert torch.equal(again(*inputs), tuned(*inputs))


def test_gradient_travels(tuned):
    again = kernel_class("comprehension").build(tuned.kernel().description(), tuned.kernel().assets())
    a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
    (found,) = torch.autograd.grad(again(a, b).sum(), a)
    torch.testing.assert_close(found, torch.autograd.grad((a @ b).sum(), a)[0], rtol=1e-5, atol=1e-5)


def without_compiler(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    toolchain.find_toolchain.cache_clear()


def test_artifacts_need_trust(tuned, inputs, monkeypatch):
    kernel = ComprehensionKernel(tuned, with_artifacts=True)
    description, assets = kernel.description(), kernel.assets()
    names = [n for n in assets if n.startswith("artifact/")]
    assert len(names) == 1
    assert target().name in names[0]
    expected = tuned(*inputs)
    without_compiler(monkeypatch)
    try:
        trusted = ComprehensionKernel.build_trusted(description, assets)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert torch.equal(trusted(*inputs), expected)
        plain = ComprehensionKernel.build(description, assets)
        with pytest.warns(ComprehensionWarning, match="a comprehension runs on torch's operators"):
            found = plain(*inputs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain(*inputs)
    finally:
        monkeypatch.undo()
        toolchain.find_toolchain.cache_clear()


def test_a_foreign_artifact_is_not_loaded(tuned, inputs):
    kernel = ComprehensionKernel(tuned, with_artifacts=True)
    assets = {
        n.replace(target().name, "riscv-vector"): b"junk" if ".so" in n else d for n, d in kernel.assets().items()
    }
    again = ComprehensionKernel.build_trusted(kernel.description(), assets)
    torch.testing.assert_close(again(*inputs), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-4)


def test_missing_text():
    with pytest.raises(errors.ComprehensionInputError, match=r"mm: the asset 'comprehension\.tc' is missing"):
        ComprehensionKernel.build({"name": "mm", "gather": "check", "tuned": {}}, {})


def test_a_description_without_a_field():
    with pytest.raises(errors.ComprehensionInputError, match="a packed comprehension has no 'gather'; got NoneType"):
        ComprehensionKernel.build({"name": "mm"}, {})


class Model(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.weight = layer, torch.nn.Parameter(torch.randn(4, 5))

    def forward(self, x):
        return self.layer(x.relu(), self.weight) + 1


def test_export_shows_one_node():
    layer = define(MATMUL)
    model, x = Model(layer), torch.randn(3, 4)
    rows = torch.export.Dim("rows", min=2)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: rows},))
    targets = [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.relu.default", f"{layer.operator.replace('::', '.')}.default", "aten.add.Tensor"]
    kernel = kernel_of_operator(layer.operator)
    assert kernel is not None
    assert kernel.name == "mm"
    for count in (3, 7):
        x = torch.randn(count, 4)
        torch.testing.assert_close(exported.module()(x), model(x))


def test_export_of_a_convolution_keeps_sizes_symbolic():
    layer = define(
        "def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) { O(n,m,h,w) +=! I(n,c,2*h+kh,w+kw) * W1(m,c,kh,kw) }"
    )

    class Net(torch.nn.Module):
        def forward(self, x, w):
            return layer(x, w)

    x, w = torch.randn(2, 3, 9, 8), torch.randn(4, 3, 3, 3)
    n, width = torch.export.Dim("n", min=2), torch.export.Dim("width", min=4, max=64)
    exported = torch.export.export(Net(), (x, w), dynamic_shapes=({0: n, 3: width}, None))
    x = torch.randn(5, 3, 9, 13)
    torch.testing.assert_close(exported.module()(x, w), torch.conv2d(x, w, stride=(2, 1)), rtol=1e-4, atol=1e-4)


def test_several_outputs_in_export():
    layer = define(TWO)

    class Net(torch.nn.Module):
        def forward(self, a):
            b, c = layer(a)
            return b + c

    a = torch.randn(5)
    torch.testing.assert_close(torch.export.export(Net(), (a,)).module()(a), a * 2 + a.sum())


def test_compile_and_its_gradient():
    layer = define(MATMUL)
    model, x = Model(layer), torch.randn(3, 4, requires_grad=True)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    found = torch.autograd.grad(compiled(x).square().sum(), [x, model.weight])
    expected = torch.autograd.grad((x.relu() @ model.weight + 1).square().sum(), [x, model.weight])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_opcheck():
    layer = define(MATMUL)
    operator = getattr(torch.ops.tracepack, layer.operator.split("::")[1])
    inputs = (torch.randn(3, 4, requires_grad=True), torch.randn(4, 5))
    torch.library.opcheck(operator, inputs)


def test_a_recorder_sees_one_call():
    layer, seen = define(MATMUL), []

    class Recorder(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a, b = torch.randn(3, 4), torch.randn(4, 5)
    layer(a, b)
    with Recorder():
        found = layer(a, b)
    assert [s for s in seen if "tracepack" in s] == [layer.operator.replace("::", ".")]
    torch.testing.assert_close(found, a @ b)
