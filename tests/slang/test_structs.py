"""Structs, namespaces, types and generics of a module as objects, against the same formulas in torch."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy
import torch

import tracepack
from tracepack.ops import slang

SOURCE = """
interface IMaterial : IDifferentiable { [Differentiable] float3 shade(float3 n); }
struct Lambert : IMaterial {
    float3 albedo;
    [Differentiable] float3 shade(float3 n) { return albedo * max(n.z, 0.0f); }
};
struct Glow : IMaterial {
    float power;
    no_diff float k;
    [Differentiable] float3 shade(float3 n) { return float3(power, power * k, 1) * n.x; }
};
[Differentiable] float3 lit<M : IMaterial>(M m, float3 n, float gain) { return m.shade(n) * gain; }
[Differentiable] float3 any_lit(IMaterial m, float3 n) { return m.shade(n); }

interface IShape { float area(); };
struct Circle : IShape { float r; float area() { return 3 * r * r; } };
struct Square : IShape { float side; float area() { return side * side; } float get() { return side; } };
float total<S : IShape>(S s, float k) { return s.area() * k; }
float sum_of<S : IShape, let N : int>(S s[N]) { float t = 0; for (int i = 0; i < N; i++) t += s[i].area(); return t; }
float which(Circle c) { return 1; }
float which(Square s) { return 2; }
struct Box<T : __BuiltinFloatingPointType> { T low; T high; T middle() { return (low + high) / T(2); } };

namespace geo {
    struct Line : IDifferentiable {
        float a;
        float b;
        [Differentiable] __init(float2 p, float2 q) { a = (q.y - p.y) / (q.x - p.x); b = p.y - a * p.x; }
        [Differentiable] float at(float x) { return a * x + b; }
        [Differentiable] static Line through(float2 p, float slope) {
            Line l;
            l.a = slope;
            l.b = p.y - slope * p.x;
            return l;
        }
        [Differentiable] [mutating] float shift(float by) { b += by * a; return b; }
        [Differentiable] T scaled<T : __BuiltinFloatingPointType>(T x) { return x * T(2); }
    };
    namespace inner { [Differentiable] float cube(float x) { return x * x * x; } }
    int twice(int x) { return 2 * x; }
    float twice(float x) { return 2 * x; }
    [Differentiable] T square<T : __BuiltinFloatingPointType>(T x) { return x * x; }
    [Differentiable] void push(inout Line l, float by) { l.b = l.b * by; }
}
extension Circle { float around() { return 6 * r; } }
"""


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def same(function: Any, reference: Any, *inputs: torch.Tensor) -> None:
    """Values and gradients."""
    both = []
    for each in (function, reference):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        found = each(*leaves)
        both.append((found, torch.autograd.grad(found.square().sum(), leaves)))
    torch.testing.assert_close(both[0], both[1], rtol=1e-4, atol=1e-5)


def test_what_a_module_and_its_parts_list(module: slang.SlangModule) -> None:
    assert dir(module) == [
        "Circle", "Glow", "Lambert", "Square", "any_lit", "geo", "lit", "sum_of", "total", "which",
    ]  # fmt: skip
    assert dir(module.geo) == ["Line", "inner", "push", "square", "twice"]
    assert dir(module.geo.Line) == ["at", "scaled", "shift", "through"]
    assert repr(module.geo.inner) == "<SlangNamespace geo::inner: cube>"
    with pytest.raises(slang.UnknownFunctionError, match=r"no 'nope' in 'geo' of the Slang module .* 'push'"):
        _ = module.geo.nope
    with pytest.raises(
        slang.UnknownFunctionError, match=r"no 'around' in 'Circle'.*an extension adds: write it in the"
    ):
        _ = module.Circle.around


def test_types_of_slangs_own(module: slang.SlangModule) -> None:
    assert (module.float, module.float3.dtype, module.half2x3.shape) == ("float", torch.float32, (2, 3))
    assert module.int64_t.dtype == torch.int64
    torch.testing.assert_close(module.float3(1, 2, 3), torch.tensor([1.0, 2.0, 3.0]))
    torch.testing.assert_close(module.float3(2), torch.full((3,), 2.0))
    torch.testing.assert_close(module.int2x2([[1, 2], [3, 4]]), torch.tensor([[1, 2], [3, 4]], dtype=torch.int32))
    with pytest.raises(slang.SlangArgumentError, match="no float3 can be made of these.*expected 3 numbers"):
        module.float3(1, 2)


def test_an_instance_by_its_fields(module: slang.SlangModule) -> None:
    r = torch.rand(4)
    for circle in (module.Circle(r), module.Circle(r=r), module.Circle({"r": r})):
        assert circle.r is r
        torch.testing.assert_close(circle.area(), 3 * r * r)
    assert module.Circle(2.0).area() == 12.0
    assert repr(module.Square(side=1.5)) == "Square(side=1.5)"
    square = module.Square(3.0)
    assert square.get() == 3.0
    square.side = 4.0
    assert square.get() == 4.0
    with pytest.raises(AttributeError, match="no field 'edge' in 'Square'"):
        square.edge = 1.0
    text = r"struct Circle: these are not the fields of 'Circle'; got \['radius'\]; expected \['r'\]"
    with pytest.raises(slang.SlangArgumentError, match=text):
        module.Circle(radius=1.0)
    with pytest.raises(slang.SlangArgumentError, match="too many fields; got 2"):
        module.Circle(1.0, 2.0)


def test_methods_with_gradients(module: slang.SlangModule) -> None:
    line, x = module.geo.Line, torch.rand(5)
    same(lambda a, b, x: line({"a": a, "b": b}).at(x), lambda a, b, x: a * x + b, torch.rand(5), torch.rand(()), x)
    same(lambda a, x: line.at({"a": a, "b": 1.0}, x), lambda a, x: a * x + 1, torch.rand(5), x)


def test_a_constructor_and_a_static_function(module: slang.SlangModule) -> None:
    def reference(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        a = (q[..., 1] - p[..., 1]) / (q[..., 0] - p[..., 0])
        return a * 3 + p[..., 1] - a * p[..., 0]

    same(lambda p, q: module.geo.Line(p, q).at(3.0), reference, torch.rand(4, 2), torch.rand(2) + 2)
    same(
        lambda p, s: module.geo.Line(module.geo.Line.through(p, slope=s)).at(3.0),
        lambda p, s: s * 3 + p[..., 1] - s * p[..., 0],
        torch.rand(4, 2),
        torch.rand(4),
    )
    with pytest.raises(slang.SlangArgumentError, match="parameter 'q' is missing"):
        module.geo.Line(torch.rand(2))


def test_a_method_that_changes_its_struct(module: slang.SlangModule) -> None:
    def shifted(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        line = module.geo.Line({"a": a, "b": b})
        first = line.shift(2.0)
        line.shift(1.0)
        return first + line.at(1.0)

    same(shifted, lambda a, b: (b + 2 * a) + (a + b + 3 * a), torch.rand(4), torch.rand(4))
    b = torch.rand(4)
    kept, line = b.clone(), module.geo.Line({"a": 1.0, "b": b})
    line.shift(2.0)
    torch.testing.assert_close(b, kept)  # an instance gets new fields
    torch.testing.assert_close(line.b, kept + 2)
    module.geo.push(line, 3.0)
    torch.testing.assert_close(line.b, (kept + 2) * 3)
    numbers = module.geo.Line({"a": 2.0, "b": 1.0})
    assert numbers.shift(1.0) == 3.0
    assert numbers._asdict() == {"a": 2.0, "b": 3.0}


def test_what_a_function_has_its_bound_method_has(module: slang.SlangModule) -> None:
    a, b, x = (torch.rand(4, requires_grad=True) for _ in range(3))
    line = module.geo.Line({"a": a, "b": b})
    y = line.at(x)
    wanted = torch.autograd.grad(y.sum(), (a, b, x))
    y = y.detach()
    y.grad = torch.ones(4)
    line.at.bwds(x, _result=y)
    torch.testing.assert_close((a.grad, b.grad, x.grad), wanted)
    torch.testing.assert_close(torch.from_numpy(line.at.return_type("numpy")(x)), y)
    with pytest.raises(slang.SlangArgumentError, match="'_result' has no gradient to start from"):
        line.at.bwds(x, _result=torch.rand(4))
    sloped = module.geo.Line({"a": 2.0, "b": 1.0}).at.map((1,))(torch.rand(3))
    assert sloped.shape == (1, 3)
    assert line.at.__name__ == "geo::Line::at"
    assert len(line.at.operation(x).spec.slots) == len(line.at.kernel(x).operation.spec.slots) == 3


def test_namespaces(module: slang.SlangModule) -> None:
    x = torch.rand(3)
    same(module.geo.inner.cube, lambda x: x**3, x)
    assert module["geo::inner::cube"](2.0) == module["geo.inner.cube"](2.0) == 8.0
    assert module.geo.twice(torch.tensor([3], dtype=torch.int32)).dtype == torch.int32
    torch.testing.assert_close(module.geo.twice(x), 2 * x)
    same(module.geo.square, torch.square, x.double())
    same(module.geo.square["float"], torch.square, x)
    same(module.geo["square<double>"], torch.square, x.double())
    torch.testing.assert_close(module.geo.Line({"a": 1.0, "b": 1.0}).scaled(x.double()), 2 * x.double())


def test_generics_by_an_interface(module: slang.SlangModule) -> None:
    n, albedo, gain = torch.randn(5, 3), torch.rand(3), torch.rand(())

    def lambert(albedo: torch.Tensor, n: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return albedo * n[:, 2:].clamp(min=0) * gain

    def glow(power: torch.Tensor, n: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return torch.stack([power, power * 3, torch.ones_like(power)], -1) * n[:, :1] * gain

    same(lambda a, n, g: module.lit(module.Lambert(a), n, g), lambert, albedo, n, gain)
    same(lambda p, n, g: module.lit(module.Glow(power=p, k=3.0), n, g), glow, torch.rand(5), n, gain)
    same(lambda a, n, g: module["lit<Lambert>"]({"albedo": a}, n, g), lambert, albedo, n, gain)
    same(lambda a, n, g: module.lit[module.Lambert]({"albedo": a}, n, g), lambert, albedo, n, gain)
    same(lambda a, n, g: module.lit({"_type": "Lambert", "albedo": a}, n, g), lambert, albedo, n, gain)
    text = r"no type for the generic parameter 'm'; got a dict of \['albedo'\].*module\.P\(\.\.\.\) for a struct P, or"
    with pytest.raises(slang.SlangArgumentError, match=text):
        module.lit({"albedo": albedo}, n, gain)
    one = torch.ones(())
    same(lambda a, n: module.any_lit(module.Lambert(a), n), lambda a, n: lambert(a, n, one), albedo, n)
    found = module.any_lit({"_type": "Lambert", "albedo": albedo}, n)
    torch.testing.assert_close(found, lambert(albedo, n, one))
    with pytest.raises(slang.SlangCompileError, match=r"takes IMaterial, which .* is not: write `struct Circle : IMat"):
        module.any_lit(module.Circle(1.0), n)


def test_two_structs_through_one_function(module: slang.SlangModule) -> None:
    side = torch.rand(4)
    torch.testing.assert_close(module.total(module.Circle(side), 2.0), 6 * side**2)
    torch.testing.assert_close(module.total(module.Square(side), 2.0), 2 * side**2)
    assert (module.which(module.Circle(1.0)), module.which(module.Square(1.0))) == (1.0, 2.0)
    torch.testing.assert_close(module.sum_of["Square", 4]({"side": side}), side.square().sum())


def test_a_generic_struct(module: slang.SlangModule) -> None:
    low = torch.rand(3, dtype=torch.float64)
    box = module["Box<double>"](low, high=5.0)
    torch.testing.assert_close(box.middle(), (low + 5) / 2)
    assert module["Box<float>"](1.0, 2.0).middle() == 1.5


def test_pickled(module: slang.SlangModule) -> None:
    line, struct, namespace, number = pickle.loads(
        pickle.dumps((module.geo.Line({"a": 2.0, "b": 1.0}), module.Circle, module.geo, module.float))
    )
    assert (line.at(3.0), struct(1.0).area(), namespace.inner.cube(2.0), number.dtype) == (7.0, 3.0, 8.0, torch.float32)


class Shaded(torch.nn.Module):
    """Instances, a generic function, methods and a namespace inside a model."""

    def __init__(self) -> None:
        super().__init__()
        self.albedo = torch.nn.Parameter(torch.tensor([0.2, 0.5, 0.9]))
        self.slope = torch.nn.Parameter(torch.tensor(1.5))
        self.slang = slang.load(SOURCE)

    def forward(self, n: torch.Tensor) -> torch.Tensor:
        shaded = self.slang.lit(self.slang.Lambert(self.albedo), n, 2.0)
        line = self.slang.geo.Line({"a": self.slope, "b": n[:, 0]})
        line.shift(0.5)
        return shaded.sum(-1) + self.slang.geo.inner.cube(line.at(2.0))

    def reference(self, n: torch.Tensor) -> torch.Tensor:
        shaded = self.albedo * n[:, 2:].clamp(min=0) * 2
        return shaded.sum(-1) + (self.slope * 2 + n[:, 0] + 0.5 * self.slope) ** 3


FRESH = """
import sys, torch, tracepack
n = torch.load(sys.argv[1] + "/n.pt")
for name in ("op", "function"):
    loaded = tracepack.load(f"{sys.argv[1]}/{name}.tpk", trust=True, grad=True)
    found = loaded(n)
    found.sum().backward()
    torch.save((found.detach(), [weight.grad for weight in loaded.weights().values()]), f"{sys.argv[1]}/{name}.pt")
"""


def test_packed_and_trained_in_a_fresh_process(tmp_path: Path) -> None:
    model = Shaded()
    op = tracepack.script(model, device="cpu")
    tracepack.trace(lambda n: op(n), torch.randn(7, 3)).save(tmp_path / "op.tpk")
    tracepack.trace(lambda n: model(n), torch.randn(7, 3)).save(tmp_path / "function.tpk")
    n = torch.randn(5, 3)
    torch.save(n, tmp_path / "n.pt")
    done = subprocess.run([sys.executable, "-c", FRESH, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = model.reference(n)
    wanted = torch.autograd.grad(expected.sum(), list(model.parameters()))
    for name in ("op", "function"):
        found, gradients = torch.load(tmp_path / f"{name}.pt")
        torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(gradients, list(wanted), rtol=1e-4, atol=1e-5)


# Dynamo looks at .grad of what it goes on with after a break, and its own filter does not reach pytest's.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled() -> None:
    torch._dynamo.reset()
    model, n = Shaded(), torch.randn(6, 3)
    model(n)
    found = torch.compile(model, backend="aot_eager")(n)
    torch.testing.assert_close(found, model.reference(n), rtol=1e-4, atol=1e-5)


def test_tensors_of_slangpy_in_a_struct() -> None:
    device = slang.create_device("cpu")
    module = slang.load(SOURCE, device)
    values = np.array([1, 2, 3, 4], dtype=np.float32)
    tensor = spy.Tensor.from_numpy(device, values)
    found = module.total(module.Circle(tensor), 2.0, _result="numpy")
    np.testing.assert_allclose(found, 6 * values**2)
    area = module.Square(tensor).area(_result="numpy")
    np.testing.assert_allclose(area, values**2)
    mixed = module.geo.Line({"a": tensor, "b": torch.ones(4)}).at(2.0, _result="numpy")
    np.testing.assert_allclose(mixed, values * 2 + 1)
    np.testing.assert_allclose(module.geo.inner.cube(tensor, _result="numpy"), values**3)
    elements = spy.Tensor.empty(device, shape=(4,), dtype=module.Circle.slangpy())
    assert elements.dtype.name == "Circle"
