"""An op of a Slang function does what the function does: it writes what was passed, and returns the rest."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack as tp
from tracepack.ops import slang
from tracepack.ops.graph.errors import DeviceError

SOURCE = """
import "slangpy";
struct Pair { float a; float b; };
[Differentiable] void scaled(int idx, float a, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> result) {
    result[idx] = a * x[idx];
}
void accumulate(int idx, Tensor<float, 1> x, RWTensor<float, 1> y) { y[idx] = y[idx] + x[idx]; }
[Differentiable] void add(float a, inout float c) { c = c + a; }
[Differentiable] float both(float a, out float b) { b = a + 1; return 2 * a; }
void only(float a, out float b) { b = a + 1; }
float mixed(float a, inout float c, out float d) { d = a * c; c = c + a; return a - d; }
void of_pair(Pair p, inout float c) { c = p.a * p.b + c; }
"""
Named = Callable[[str], Callable[..., Any]]


def index(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[0], dtype=torch.int32)


def grid(x: torch.Tensor) -> slang.grid:
    return slang.grid((x.shape[0],))


def written(f: Callable[..., Any], x: torch.Tensor, /, *args: Any, **kwargs: Any) -> Any:
    """What a call returns, and a tensor of ones that it was given, which stands for `...`."""
    own = torch.ones_like(x)
    filled = [own if each is ... else each for each in args]
    found = f(*filled, **{name: own if each is ... else each for name, each in kwargs.items()})
    return own if found is None else (found, own)


CALLS: dict[str, tuple[Callable[[Named, torch.Tensor], Any], Callable[[torch.Tensor], Any]]] = {
    "scaled by position": (lambda f, x: written(f("scaled"), x, index(x), 2, x, ...), lambda x: 2 * x),
    "scaled by keyword": (lambda f, x: written(f("scaled"), x, idx=index(x), a=2.0, x=x, result=...), lambda x: 2 * x),
    "scaled by both": (lambda f, x: written(f("scaled"), x, index(x), 2, x=x, result=...), lambda x: 2 * x),
    "scaled with a grid": (lambda f, x: written(f("scaled"), x, grid(x), 2, x, ...), lambda x: 2 * x),
    "scaled with a grid by keyword": (
        lambda f, x: written(f("scaled"), x, idx=grid(x), a=2, x=x, result=...),
        lambda x: 2 * x,
    ),
    "scaled with the grid of a shape": (
        lambda f, x: written(f("scaled"), x, slang.grid(x.shape), 2, x, ...),
        lambda x: 2 * x,
    ),
    "accumulate": (lambda f, x: written(f("accumulate"), x, index(x), x, ...), lambda x: x + 1),
    "accumulate with a grid": (lambda f, x: written(f("accumulate"), x, grid(x), x, ...), lambda x: x + 1),
    "add": (lambda f, x: written(f("add"), x, x, ...), lambda x: x + 1),
    "add, c by keyword": (lambda f, x: written(f("add"), x, x, c=...), lambda x: x + 1),
    "add a number": (lambda f, x: written(f("add"), x, 3.0, ...), lambda x: torch.full_like(x, 4.0)),
    "add into a view": (
        lambda f, x: (rows := torch.zeros(2, x.shape[0]), f("add")(x, rows[1]))[0],
        lambda x: torch.stack([torch.zeros_like(x), x]),
    ),
    "both, b passed": (lambda f, x: written(f("both"), x, x, ...), lambda x: (2 * x, x + 1)),
    "both, b left out": (lambda f, x: f("both")(x), lambda x: (2 * x, x + 1)),
    "only, b passed": (lambda f, x: written(f("only"), x, x, b=...), lambda x: x + 1),
    "only, b left out": (lambda f, x: f("only")(x), lambda x: x + 1),
    "mixed, d left out": (lambda f, x: written(f("mixed"), x, x, ...), lambda x: ((x - x, x), x + 1)),
    "mixed, d passed": (
        lambda f, x: (d := torch.zeros_like(x), written(f("mixed"), x, x, ..., d)),
        lambda x: (x, (x - x, x + 1)),
    ),
    "of_pair": (lambda f, x: written(f("of_pair"), x, {"a": x, "b": 2 * x}, ...), lambda x: 2 * x * x + 1),
}


@pytest.fixture(scope="module", params=["cpu", "vulkan"])
def module(request: pytest.FixtureRequest) -> slang.SlangModule:
    if request.param == "cpu":
        return slang.load(SOURCE)
    try:
        slang.create_device("vulkan")
    except DeviceError as error:
        pytest.skip(f"no Vulkan driver on this machine: {error.got}")
    return slang.load(SOURCE, "vulkan")


@pytest.fixture(scope="module")
def ops(module: slang.SlangModule) -> Named:
    made = {name: tp.script(getattr(module, name)) for name in dir(module) if name != "Pair"}
    return made.__getitem__


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_an_op_is_one_of_the_function(module: slang.SlangModule, ops: Named, call: str) -> None:
    run, expected = CALLS[call]
    x = torch.tensor([1.0, -2.0, 0.5, 4.0])
    pipeline, file = tp.trace(lambda x: run(ops, x), x), io.BytesIO()
    pipeline.save(file)
    loaded = tp.load(file.getvalue(), trust=True)
    for y in (x, torch.randn(7), torch.randn(1)):
        torch.testing.assert_close(run(lambda name: getattr(module, name), y), expected(y))
        torch.testing.assert_close(run(ops, y), expected(y))
        torch.testing.assert_close(pipeline(y), expected(y))
        torch.testing.assert_close(loaded(y), expected(y))


def test_files_answer_so_in_a_fresh_process(ops: Named, tmp_path: Path) -> None:
    x = torch.tensor([1.0, -2.0, 0.5, 4.0, 3.0])
    for number, (run, _) in enumerate(CALLS.values()):
        tp.trace(lambda x, run=run: run(ops, x), torch.rand(3)).save(tmp_path / f"{number:02}.tpk")
    code = (
        "import sys, pathlib, torch, tracepack\n"
        "x = torch.tensor([1.0, -2.0, 0.5, 4.0, 3.0])\n"
        "files = sorted(pathlib.Path(sys.argv[1]).glob('*.tpk'))\n"
        "torch.save([tracepack.load(file, trust=True)(x) for file in files], sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(tmp_path / "found.pt")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = torch.load(tmp_path / "found.pt")
    assert len(found) == len(CALLS)
    for each, (_, expected) in zip(found, CALLS.values(), strict=True):
        torch.testing.assert_close(each, expected(x))


def test_gradients_flow_through_what_an_op_writes(ops: Named) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    result = torch.empty(3)
    ops("scaled")(slang.grid((3,)), 5.0, x, result)
    c = x * 2
    ops("add")(x, c)
    (result + c).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8.0] * 3


def test_arrays_of_numpy_are_written_too(ops: Named) -> None:
    c = np.zeros(3, np.float32)
    ops("add")(np.arange(3, dtype=np.float32), c)
    assert c.tolist() == [0.0, 1.0, 2.0]


def test_an_op_of_a_kernel_writes_as_its_function_does(module: slang.SlangModule) -> None:
    c = torch.ones(3)
    assert tp.script(module.add.kernel())(torch.arange(3.0), c) is None
    assert c.tolist() == [1.0, 2.0, 3.0]


def test_an_op_takes_every_overload_and_map() -> None:
    module = slang.load("float f(float a) { return 2 * a; } int f(int a, int b) { return a - b; }")
    op = tp.script(module.f)
    assert op(torch.ones(2)).tolist() == [2.0, 2.0]
    assert op(torch.tensor([5, 6], dtype=torch.int32), 1).tolist() == [4, 5]
    columns = tp.script(slang.load("float g(float a, float b) { return a - b; }").g.map(a=(0,), b=(0, 1)))
    a, b = torch.arange(3.0), torch.rand(3, 2)
    torch.testing.assert_close(columns(a, b), a[:, None] - b)
    traced = tp.trace(lambda a, b: columns(a, b), a, b)
    torch.testing.assert_close(traced(a + 1, b), a[:, None] + 1 - b)


def test_the_errors_of_an_op_are_those_of_the_function(ops: Named) -> None:
    with pytest.raises(slang.SlangArgumentError, match="'c' is missing"):
        ops("add")(torch.ones(3))
    with pytest.raises(slang.SlangDtypeError, match="tensor for 'c' has the wrong dtype"):
        ops("add")(torch.ones(3), torch.zeros(3, dtype=torch.float64))
    with pytest.raises(slang.SlangShapeError, match="the tensor for 'c' has the wrong sizes"):
        ops("add")(torch.ones(2, 3), torch.zeros(3))


class Model(torch.nn.Module):
    """A model whose forward calls a Slang function of whole tensors over a grid."""

    def __init__(self, body: str, *, bounds: bool = True) -> None:
        super().__init__()
        text = 'import "slangpy";\n[Differentiable] void f(int i, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) '
        self.f = slang.load(f"{text}{{ {body} }}", bounds=bounds).f

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        self.f(slang.grid(x.shape), x, y)
        return y


def opened(model: Model) -> tp.Pipeline:
    """The model as an op, in a pipeline that was loaded."""
    op, file = tp.script(model), io.BytesIO()
    tp.trace(lambda x: op(x), torch.randn(5)).save(file)
    return tp.load(file.getvalue(), trust=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[i] = 2 * x[i] * x[i];", lambda x: 2 * x * x),
        ("y[i] = x[i] - x[x.shape[0] - 1 - i];", lambda x: x - x.flip(0)),
        ("y[i] = x[i] + (i > 0 ? x[i - 1] : 0.0f);", lambda x: x + torch.nn.functional.pad(x, (1, 0))[: len(x)]),
    ],
)
def test_a_model_that_calls_a_function_with_a_grid_takes_every_size(
    body: str, expected: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    model = Model(body)
    loaded = opened(model)
    assert "(x: f32[N]) -> f32[N]>" in repr(loaded)
    for size in (7, 2, 1, 0):
        x = torch.randn(size)
        torch.testing.assert_close(model(x), expected(x))
        torch.testing.assert_close(loaded(x), expected(x))


@pytest.mark.parametrize(("body", "bounds"), [("y[i] = x[i] + x[1];", True), ("y[i] = x[i] + x[0];", False)])
def test_sizes_that_the_function_refuses_or_does_not_check_stay_out(body: str, bounds: bool) -> None:
    loaded = opened(Model(body, bounds=bounds))
    assert "where N >= 2" in repr(loaded)
    with pytest.raises(tp.SignatureError, match=r"the sizes do not satisfy N >= 2; got N = 1"):
        loaded(torch.randn(1))
