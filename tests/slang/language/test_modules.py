"""Modules as users of Slang in torch write them: eager, compiled, exported, packed, and trained in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tracepack.ops import slang
from tracepack.ops.slang.launch.cpu import Launcher

SHADE = """
struct Material : IDifferentiable { float3 albedo; float roughness; };
[Differentiable] float3 shade(Material m, float3 n, no_diff float3 l) {
    float d = max(dot(n, l), 0.0);
    return m.albedo * (d * (1.0 - m.roughness) + 0.1);
}
"""
QUANTIZE = """
[BackwardDerivative(straight_through)]
float rounded(float x, no_diff float levels) { return round(x * levels) / levels; }
void straight_through(inout DifferentialPair<float> x, no_diff float levels, float result) {
    x = diffPair(x.p, result);
}
[Differentiable] float quantized(float x, no_diff float levels) { return rounded(x, levels); }
"""
LAYER = """
import "slangpy";
[Differentiable]
void layer(int2 at, IDiffTensor<float, 2> w, IDiffTensor<float, 1> b, IDiffTensor<float, 2> x,
           IWDiffTensor<float, 2> y) {
    float sum = b[at.x];
    [MaxIters(512)]
    for (uint i = 0; i < w.shape[1]; i++) sum += w[at.x, i] * x[at.y, i];
    y[at] = max(sum, 0.0);
}
"""
MOTION = """
import "slangpy";
[Differentiable] void decay(int i, IRWDiffTensor<float, 1> v, float rate) { v[i] = v[i] * rate; }
[Differentiable] void step(inout float v, float a, float dt) { v = v + a * dt; }
"""
POLAR = "[Differentiable] float polar(float2 p, out float angle) { angle = atan2(p.y, p.x); return length(p); }"
Result = torch.Tensor | dict[str, torch.Tensor]


class Shade(torch.nn.Module):
    """A struct of parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.albedo = torch.nn.Parameter(torch.rand(3))
        self.roughness = torch.nn.Parameter(torch.tensor(0.3))
        self.function = slang.load(SHADE).shade

    def forward(self, n: torch.Tensor, light: torch.Tensor) -> Result:
        return self.function({"albedo": self.albedo, "roughness": self.roughness}, n, light)

    def reference(self, n: torch.Tensor, light: torch.Tensor) -> Result:
        d = (n * light).sum(-1, keepdim=True).clamp(min=0)
        return self.albedo * (d * (1 - self.roughness) + 0.1)

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        return torch.randn(batch, 3), torch.randn(batch, 3)


class Quantize(torch.nn.Module):
    """A derivative of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.functions = slang.load(QUANTIZE)

    def forward(self, x: torch.Tensor) -> Result:
        return self.functions.quantized(self.linear(x), 8.0)

    def reference(self, x: torch.Tensor) -> Result:
        y = self.linear(x)
        return y + ((y * 8).round() / 8 - y).detach()

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(batch, 4),)


class Layer(torch.nn.Module):
    """Whole tensors, and positions on a grid whose size is the batch's."""

    def __init__(self, *, bounds: bool = True) -> None:
        super().__init__()
        self.w, self.b = (torch.nn.Parameter(torch.randn(size)) for size in ((6, 5), (6,)))
        self.functions = slang.load(LAYER, bounds=bounds)

    def forward(self, x: torch.Tensor) -> Result:
        y = torch.empty(x.shape[0], 6)
        self.functions.layer(slang.grid((x.shape[0], 6)), self.w, self.b, x, y)
        return y

    def reference(self, x: torch.Tensor) -> Result:
        return torch.relu(x @ self.w.T + self.b)

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(batch, 5),)


class Motion(torch.nn.Module):
    """In place, twice; one of the functions has the name of one of Slang's own."""

    def __init__(self) -> None:
        super().__init__()
        self.rate = torch.nn.Parameter(torch.tensor(0.9))
        self.functions = slang.load(MOTION)

    def forward(self, x: torch.Tensor, a: torch.Tensor) -> Result:
        v = x * 1.0
        self.functions.decay(slang.grid((v.shape[0],)), v, self.rate)
        self.functions.step(v, a, 0.1)
        return v

    def reference(self, x: torch.Tensor, a: torch.Tensor) -> Result:
        return x * self.rate + a * 0.1

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        return torch.randn(batch), torch.randn(batch)


class Polar(torch.nn.Module):
    """Several outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.functions = slang.load(POLAR)

    def forward(self, p: torch.Tensor) -> Result:
        radius, angle = self.functions.polar(p * self.scale)
        return {"radius": radius, "angle": angle}

    def reference(self, p: torch.Tensor) -> Result:
        p = p * self.scale
        return {"radius": p.norm(dim=-1), "angle": torch.atan2(p[..., 1], p[..., 0])}

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        return (torch.randn(batch, 2),)


MODULES: list[Any] = [Shade, Quantize, Layer, Motion, Polar]
FRESH = """
import sys, torch, tracepack
for folder in sys.argv[1:]:
    inputs = torch.load(folder + "/inputs.pt")
    for path in ("op.tpk", "function.tpk"):
        result = tracepack.load(f"{folder}/{path}", trust=True)(*inputs)
        trained = tracepack.load(f"{folder}/{path}", trust=True, grad=True)
        loss = trained(*inputs)
        loss = sum(each.square().sum() for each in (loss.values() if isinstance(loss, dict) else [loss]))
        loss.backward()
        gradients = [weight.grad for weight in trained.weights().values()]
        torch.save((result, gradients), f"{folder}/{path}.pt")
"""


def close(found: object, expected: object) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def loss(result: Result) -> torch.Tensor:
    each = result.values() if isinstance(result, dict) else [result]
    return torch.stack([tensor.square().sum() for tensor in each]).sum()


@pytest.fixture(params=MODULES, ids=lambda kind: kind.__name__)
def module(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return request.param()


def test_values_and_gradients(module: Any) -> None:
    x, parameters = module.inputs(7), list(module.parameters())
    found, expected = module(*x), module.reference(*x)
    close(found, expected)
    close(torch.autograd.grad(loss(found), parameters), torch.autograd.grad(loss(expected), parameters))


def test_compiled_at_first_sight(module: Any) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    x, parameters = module.inputs(7), list(module.parameters())
    found, expected = compiled(*x), module.reference(*x)
    close(found, expected)
    close(torch.autograd.grad(loss(found), parameters), torch.autograd.grad(loss(expected), parameters))


def test_exported_with_a_free_batch(module: Any) -> None:
    batch = torch.export.Dim("batch")
    x = module.inputs(7)
    program = torch.export.export(module, x, dynamic_shapes=tuple({0: batch} for _ in x))
    other = module.inputs(9)
    close(program.module()(*other), module.reference(*other))


def test_packed_loaded_and_trained_in_a_fresh_process(tmp_path: Path) -> None:
    made = {}
    for kind in MODULES:
        torch.manual_seed(0)
        module, folder = kind(), tmp_path / kind.__name__
        folder.mkdir()
        op = tracepack.script(module, device="cpu")
        tracepack.trace(lambda *x, op=op: op(*x), *module.inputs(7)).save(folder / "op.tpk")
        tracepack.trace(lambda *x, module=module: module(*x), *module.inputs(7)).save(folder / "function.tpk")
        made[folder] = module, module.inputs(5)
        torch.save(made[folder][1], folder / "inputs.pt")
    done = subprocess.run([sys.executable, "-c", FRESH, *map(str, made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for folder, (module, x) in made.items():
        expected = module.reference(*x)
        gradients = torch.autograd.grad(loss(expected), list(module.parameters()))
        for path in ("op.tpk.pt", "function.tpk.pt"):
            found, found_gradients = torch.load(folder / path)
            close(found, expected)
            close(found_gradients, list(gradients))


@pytest.mark.parametrize("bounds", [True, False])
def test_sizes_that_were_not_seen_are_tried_on_whole_tensors_only_where_indices_are_checked(
    bounds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[tuple[int, ...]] = set()
    run = Launcher.forward
    monkeypatch.setattr(Launcher, "forward", lambda self, args: (seen.add(tuple(args[3].shape)), run(self, args))[1])
    module = Layer(bounds=bounds)
    op = tracepack.script(module, device="cpu")
    pipeline = tracepack.trace(lambda x: op(x), *module.inputs(7))
    sizes = {size for _, size in seen}
    assert (sizes == {5}) is not bounds  # the layer would read past a row of another size
    for batch in (4, 1, 0) if bounds else (4,):
        (x,) = module.inputs(batch)
        close(pipeline(x), module.reference(x))
    if bounds:
        with pytest.raises(tracepack.TracepackError):
            pipeline(torch.randn(2, 4))


def test_include_paths_are_one_folder_or_several(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "helper.slang").write_text("float helper(float x) { return 2 * x; }\n")
    text, folder = "import helper;\nfloat f(float x) { return helper(x) + 1; }", tmp_path / "parts"
    for include in (folder, str(folder), [folder], (str(folder), tmp_path)):
        assert slang.load(text, include_paths=include).f(3.0) == 7.0
    missing = tmp_path / "absent"
    for include in (missing, str(missing), (folder, missing)):
        with pytest.raises(slang.SlangError) as caught:
            slang.load(text, include_paths=include)
        assert str(caught.value) == (
            f"a directory of include_paths does not exist; got {missing}. Give the directory of the imports."
        )


def test_a_function_may_have_any_name() -> None:
    module = slang.load("float p0(float x) { return x + 1; } float p1(float x, float y) { return p0(x) * y; }")
    assert module.p0(1.0) == 2.0
    assert module.p1(1.0, 3.0) == 6.0
