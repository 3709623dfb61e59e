"""Slang functions as ops: export, compile, trace, save and load, and kernels built again from their assets."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import tracepack
from tracepack.ops import slang
from tracepack.ops.kernels.registry import kernel_of_operator
from tracepack.ops.kinds import kernel_class

FORMS = """
struct Box : IDifferentiable { float w; float h; };
[Differentiable] float area(Box box) { return box.w * box.h; }
[Differentiable] vector<float, N> halved<let N : int>(vector<float, N> v) { return v * 0.5f; }
[Differentiable] void both(float x, out float s, out float c) { s = sin(x); c = cos(x); }
[Differentiable] float times(float a, float b) { return a * b; }
[Differentiable] float scaled(float x, no_diff int k) { return x * k; }
"""


class Layer(torch.nn.Module):
    """A linear layer and a Slang polynomial with a trained coefficient."""

    def __init__(self, module: slang.SlangModule) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.a = torch.nn.Parameter(torch.tensor(2.0))
        self.functions = {"polynomial": module.polynomial}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.functions["polynomial"](self.a, 8.0, -1.0, self.linear(x))

    def reference(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return self.a * y * y + 8 * y - 1


@pytest.fixture
def layer(polynomial: slang.SlangModule) -> Layer:
    torch.manual_seed(0)
    return Layer(polynomial)


def slang_nodes(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    return [node for node in graph.nodes if "slang_polynomial" in str(node.target)]


def test_export_shows_one_node_and_the_kernel_behind_it(layer: Layer) -> None:
    batch = torch.export.Dim("batch")
    program = torch.export.export(layer, (torch.randn(5, 4),), dynamic_shapes=({0: batch},))
    (node,) = slang_nodes(program.graph)
    kernel = kernel_of_operator(str(node.target).removesuffix(".default").replace(".", "::", 1))
    assert isinstance(kernel, slang.SlangKernel)
    assert kernel.name == "polynomial"
    x = torch.randn(7, 4)
    torch.testing.assert_close(program.module()(x), layer.reference(x))


def test_compile_without_graph_breaks_and_with_gradients(layer: Layer) -> None:
    torch._dynamo.reset()
    x = torch.randn(6, 4, requires_grad=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    parameters = (x, layer.a, layer.linear.weight)
    found = torch.autograd.grad(compiled(x).sum(), parameters)
    torch.testing.assert_close(found, torch.autograd.grad(layer.reference(x).sum(), parameters))


@pytest.mark.parametrize("form", ["struct", "generic", "out", "several", "by name", "map"])
def test_compile_of_forms_that_were_not_met_before(form: str) -> None:
    module, x = slang.load(FORMS), torch.randn(3, 2, requires_grad=True)
    calls = {
        "struct": (lambda x: module.area({"w": x, "h": x}), lambda x: x * x),
        "generic": (lambda x: module.halved(x), lambda x: x / 2),
        "out": (lambda x: (y := torch.empty(3, 2), module.both(x, y))[0], torch.sin),
        "several": (lambda x: torch.stack(module.both(x)), lambda x: torch.stack([x.sin(), x.cos()])),
        "map": (lambda x: module.times.map(a=(0, 1), b=(2,))(x, torch.ones(4)), lambda x: x[..., None].expand(3, 2, 4)),
        "by name": (lambda x: module.scaled(k=3, x=x), lambda x: 3 * x),
    }
    call, formula = calls[form]
    torch._dynamo.reset()
    found, expected = torch.compile(call, backend="aot_eager", fullgraph=True)(x), formula(x)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each.sum(), x)[0] for each in (found, expected)))


def test_a_module_that_holds_a_function_can_be_copied(layer: Layer) -> None:
    x = torch.randn(2, 4)
    copied = copy.deepcopy(layer)
    assert torch.equal(copied(x), layer(x))
    assert copied.a is not layer.a


def test_a_module_that_holds_a_function_can_be_pickled(layer: Layer) -> None:
    x = torch.randn(2, 4)
    again = pickle.loads(pickle.dumps(layer))
    assert torch.equal(again(x), layer(x))
    mapped = pickle.loads(pickle.dumps(layer.functions["polynomial"].map(a=(0,), x=(1,))))
    assert mapped(torch.ones(3), 0.0, 0.0, torch.ones(4)).shape == (3, 4)


def test_calls_from_several_threads(polynomial: slang.SlangModule) -> None:
    inputs = [torch.randn(50) for _ in range(100)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: polynomial.polynomial(1.0, 2.0, 3.0, x), inputs))
    torch.testing.assert_close(found, [x * x + 2 * x + 3 for x in inputs])


def test_a_recorded_size_stays_a_size(tmp_path: Path) -> None:
    module = slang.load("float times(int n, float x) { return n * x; }")
    pipeline = tracepack.trace(lambda x: module.times(x.shape[0], x), torch.randn(3, 2))
    assert torch.equal(pipeline(torch.ones(5, 2)), torch.full((5, 2), 5.0))


def test_opcheck(polynomial: slang.SlangModule) -> None:
    x = torch.randn(3, requires_grad=True)
    operation = polynomial.polynomial.operation(2.0, 8.0, -1.0, x)
    torch.library.opcheck(operation.overload().default, (2.0, 8.0, -1.0, x))


def test_kernel_is_built_again_from_its_assets(polynomial: slang.SlangModule) -> None:
    kernel = polynomial.polynomial.kernel(2.0, 8.0, -1.0, torch.ones(2))
    assert set(kernel.assets()) == {"main.slang"}
    again = kernel_class("slang").build(kernel.description(), kernel.assets())
    assert (again.description(), again.assets()) == (kernel.description(), kernel.assets())
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    again(2.0, 8.0, -1.0, x).sum().backward()
    assert x.grad.tolist() == [12.0, 16.0]


def test_kernel_takes_arguments_as_a_user_writes_them(polynomial: slang.SlangModule) -> None:
    kernel = polynomial.polynomial.kernel()
    x = torch.tensor([1.0, 2.0])
    assert kernel(2.0, 8.0, -1.0, x).tolist() == [9.0, 23.0]
    assert kernel(x=x, a=2.0, b=8.0, c=-1.0).tolist() == [9.0, 23.0]


def test_imports_travel_and_slangpys_own_do_not(tmp_path: Path) -> None:
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "unit.slang").write_text("float unit() { return 2; }\n")
    (tmp_path / "helper.slang").write_text("import shapes.unit;\nfloat helper(float x) { return x * unit(); }\n")
    (tmp_path / "main.slang").write_text(
        'import "slangpy";\nimport helper;\n// import nothing;\nfloat f(float x) { return helper(x); }\n'
    )
    kernel = slang.load(tmp_path / "main.slang").f.kernel()
    assert set(kernel.assets()) == {"main.slang", "imports/helper.slang", "imports/shapes/unit.slang"}
    description, assets = kernel.description(), kernel.assets()
    assert str(tmp_path) not in str(description)
    for path in tmp_path.rglob("*.slang"):
        path.unlink()
    assert kernel_class("slang").build(description, assets)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_script_trace_save_and_load(layer: Layer, tmp_path: Path) -> None:
    op = tracepack.script(layer, device="cpu")

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(x) * 2

    x = torch.randn(5, 4)
    pipeline = tracepack.trace(process, x)
    pipeline.save(tmp_path / "layer.tpk")
    loaded = tracepack.load(tmp_path / "layer.tpk", trust=True)
    assert torch.equal(loaded(x), pipeline(x))
    other = torch.randn(9, 4)
    torch.testing.assert_close(loaded(other), 2 * layer.reference(other).detach())


def test_slang_function_in_a_processing_function(polynomial: slang.SlangModule, tmp_path: Path) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return polynomial.polynomial(2.0, 8.0, -1.0, x.relu()) + 1

    x = torch.randn(5, 4)
    pipeline = tracepack.trace(process, x)
    pipeline.save(tmp_path / "process.tpk")
    loaded = tracepack.load(tmp_path / "process.tpk", trust=True)
    assert torch.equal(loaded(x), process(x))


def test_script_of_a_slang_function(polynomial: slang.SlangModule, tmp_path: Path) -> None:
    op = tracepack.script(polynomial.polynomial, device="cpu")

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(2.0, 8.0, -1.0, x)

    x = torch.randn(5)
    assert torch.equal(process(x), polynomial.polynomial(2.0, 8.0, -1.0, x))
    pipeline = tracepack.trace(process, x)
    pipeline.save(tmp_path / "function.tpk")
    assert torch.equal(tracepack.load(tmp_path / "function.tpk", trust=True)(x), process(x))


def test_archive_runs_in_a_fresh_process_without_the_source(polynomial: slang.SlangModule, tmp_path: Path) -> None:
    pipeline = tracepack.trace(lambda x: polynomial.polynomial(2.0, 8.0, -1.0, x), torch.ones(2))
    pipeline.save(tmp_path / "p.tpk")
    code = (
        "import sys, torch, tracepack;print(tracepack.load(sys.argv[1], trust=True)(torch.tensor([1.0, 2.0])).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p.tpk")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[9.0, 23.0]", done.stderr


def test_an_archive_with_slang_needs_trust(polynomial: slang.SlangModule, tmp_path: Path) -> None:
    pipeline = tracepack.trace(lambda x: polynomial.polynomial(2.0, 8.0, -1.0, x), torch.ones(2))
    pipeline.save(tmp_path / "p.tpk")
    with pytest.raises(tracepack.TrustError, match="is kept as slang, which can run code. Pass trust=True"):
        tracepack.load(tmp_path / "p.tpk")


def test_a_loaded_pipeline_with_slang_trains(layer: Layer, tmp_path: Path) -> None:
    op, x = tracepack.script(layer, name="layer", device="cpu"), torch.randn(5, 4)
    tracepack.trace(lambda x: op(x), x).save(tmp_path / "layer.tpk")
    loaded = tracepack.load(tmp_path / "layer.tpk", trust=True, grad=True)
    loaded(x).square().sum().backward()
    layer.reference(x).square().sum().backward()
    expected = {f"layer.{name}": p.grad for name, p in layer.named_parameters()}
    assert loaded.weights().keys() == expected.keys()
    for name, weight in loaded.weights().items():
        torch.testing.assert_close(weight.grad, expected[name], rtol=1e-4, atol=1e-5)
