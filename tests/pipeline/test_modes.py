"""A pipeline whose first call is under one of torch's modes, or inside of a bigger model that torch takes apart."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import tracepack

pytestmark = pytest.mark.filterwarnings(  # torch's own, of the ways in which it takes models apart
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning"
)
BATCH = torch.export.Dim("batch")


class Bigger(nn.Module):
    """A model that calls a pipeline among its own layers."""

    def __init__(self, mod: tracepack.Pipeline) -> None:
        super().__init__()
        self.mod = [mod]
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.mod[0](self.linear(x)) * 2


class Case:
    """A loaded pipeline that nobody has called, and what it must give."""

    def __init__(self) -> None:
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        op, file = tracepack.script(self.inner), io.BytesIO()
        tracepack.trace(lambda x: op(x) + x.shape[0], torch.rand(3, 4)).save(file)
        self.data = file.getvalue()
        self.mod = tracepack.load(self.data)
        self.bigger = Bigger(self.mod)

    def wanted(self, x: torch.Tensor) -> torch.Tensor:
        return (self.inner(x) + x.shape[0]).detach()

    def wanted_of_bigger(self, x: torch.Tensor) -> torch.Tensor:
        return self.wanted(self.bigger.linear(x)) * 2

    def require_right(self) -> None:
        """Whether the pipeline answers afterwards, for a size that it met and one that it did not."""
        for rows in (3, 7):
            x = torch.rand(rows, 4)
            got = self.mod(x)
            assert type(got) is torch.Tensor
            torch.testing.assert_close(got, self.wanted(x))


@pytest.fixture
def case():
    torch._dynamo.reset()
    made = Case()
    yield made
    made.require_right()
    torch._dynamo.reset()


TAKEN_APART = {
    "torch.export": lambda model, x: torch.export.export(
        model, (x,), dynamic_shapes=({0: BATCH},), strict=False
    ).module(),
    "torch.export, strict": lambda model, x: torch.export.export(
        model, (x,), dynamic_shapes=({0: BATCH},), strict=True
    ).module(),
    "torch.compile": lambda model, x: torch.compile(model, backend="aot_eager", fullgraph=True),
    "torch.compile, dynamic": lambda model, x: torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True),
    "torch.jit.trace": lambda model, x: torch.jit.trace(model, (x,), check_trace=False),
    "make_fx": lambda model, x: make_fx(model, tracing_mode="symbolic", _allow_non_fake_inputs=True)(x),
    "tracepack.trace": lambda model, x: tracepack.trace(lambda x: model(x), x),
    "tracepack.script": lambda model, x: tracepack.script(model, example=x),
}


@pytest.mark.parametrize("way", TAKEN_APART)
def test_a_bigger_model_with_a_pipeline_in_it(way, case):
    found = TAKEN_APART[way](case.bigger, torch.rand(3, 4))
    rows = (3,) if way == "torch.jit.trace" else (3, 5, 8)  # a trace of TorchScript has the sizes of its example
    for count in rows:
        x = torch.rand(count, 4)
        torch.testing.assert_close(found(x).detach(), case.wanted_of_bigger(x).detach())


DECIDES = {
    "py.item": lambda x: x * x.sum().item(),
    "cond": lambda x: tracepack.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x),
    "py.lookup_all": lambda x: tracepack.lookup([1.0, 2.0], (x > 0).long()),
    "torch.Tensor.numpy": lambda x: torch.from_numpy(np.exp(x.numpy())),
}


@pytest.mark.parametrize("name", DECIDES)
def test_a_graph_of_torch_may_not_keep_what_python_made_of_the_example(name):
    mod, x = tracepack.trace(DECIDES[name], torch.rand(3)), torch.rand(3)
    for _ in range(2):  # the second time the signature is known
        with pytest.raises(tracepack.LoweringError, match=rf"torch.jit.trace would keep the result of {name} as it is"):
            torch.jit.trace(lambda x: mod(x), (x,), check_trace=False)
        torch.testing.assert_close(mod(x), DECIDES[name](x))
    with pytest.raises(
        tracepack.TracepackError, match="a graph that torch makes would keep|get value out of a tracing tensor"
    ):
        make_fx(mod, tracing_mode="real")(x)


def test_a_pipeline_that_calls_a_pipeline_is_saved_with_its_ops(case, reloaded):
    outer = tracepack.trace(lambda x: {"y": case.mod(x).sum(), "rows": case.mod(x).shape[0]}, torch.rand(3, 4))
    x = torch.rand(6, 4)
    for mod in (outer, reloaded(outer)):
        assert mod.placement == {"Sequential": "cpu"}
        got = mod(x)
        torch.testing.assert_close(got["y"], case.wanted(x).sum())
        assert got["rows"] == 6


def test_what_a_pipeline_has_fixed_is_fixed_in_the_outer_one():
    inner = tracepack.trace(lambda x: x * 2 if x.shape[0] == 3 else x.sum(), torch.ones(3))
    outer = tracepack.trace(lambda x: inner(x) + 1, torch.ones(3))
    assert outer(torch.ones(3)).tolist() == [3, 3, 3]
    with pytest.raises(tracepack.TracepackError, match="dimension 0 has a wrong size|guard|holds"):
        outer(torch.ones(4))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("runs", torch.zeros(()))

    def forward(self, x):
        self.runs += 1
        return x * self.runs


def test_a_pipeline_with_state_has_one_of_its_own_in_the_outer_one():
    op = tracepack.script(Counter())
    inner = tracepack.trace(lambda x: op(x), torch.ones(2))
    inner(torch.ones(2))
    outer = tracepack.trace(lambda x: inner(x) + 1, torch.ones(2))
    assert [outer(torch.ones(2))[0].item() for _ in range(3)] == [2, 3, 4]
    assert inner(torch.ones(2))[0].item() == 2  # the trace and the outer runs have not moved it


def test_under_a_fake_mode(case):
    with FakeTensorMode() as mode:
        made = tracepack.load(case.data)
        got = case.mod(torch.empty(3, 4))
    assert isinstance(got, FakeTensor)
    assert got.shape == (3, 4)
    assert case.mod(mode.from_tensor(torch.rand(5, 4))).shape == (5, 4)
    assert not mode.allow_non_fake_inputs
    x = torch.rand(3, 4)
    assert torch.equal(made(x), case.mod(x))


def test_under_transforms_of_functions(case):
    x = torch.rand(6, 3, 4)
    torch.testing.assert_close(torch.vmap(case.mod)(x), torch.stack([case.wanted(row) for row in x]))
    row, tangent = x[0], torch.rand(3, 4)
    found = torch.func.jvp(case.mod, (row,), (tangent,))[1]
    torch.testing.assert_close(found.detach(), torch.func.jvp(case.inner, (row,), (tangent,))[1].detach())
    weight = torch.func.grad(lambda w: (case.mod(row) * w).sum())(torch.ones(4))
    torch.testing.assert_close(weight, case.wanted(row).sum(0))


@pytest.mark.parametrize("known", [False, True])
def test_a_gradient_of_a_pipeline_that_keeps_none_is_refused(known, case):
    x = torch.rand(3, 4)
    if known:
        case.mod(x)
    text = "torch.func differentiates a pipeline that keeps no gradients. Load it with load.path, grad=True"
    for differentiated in (
        lambda: torch.func.grad(lambda x: case.mod(x).sum())(x),
        lambda: torch.func.jacrev(case.mod)(x),
        lambda: torch.vmap(torch.func.grad(lambda x: case.mod(x[None]).sum()))(x),
    ):
        with pytest.raises(tracepack.SignatureError, match=text):
            differentiated()
    trained = tracepack.load(case.data, grad=True)
    found = torch.func.grad(lambda x: trained(x).sum())(x)
    torch.testing.assert_close(found.detach(), torch.func.grad(lambda x: case.inner(x).sum())(x).detach())


@pytest.mark.parametrize("known", [False, True])
def test_a_jacobian_of_a_pipeline_that_keeps_no_gradients_is_refused(known, case):
    x, functional = torch.rand(3, 4), torch.autograd.functional
    if known:
        case.mod(x)
    for ask in (functional.jacobian, functional.hessian, functional.vjp):
        with pytest.raises(tracepack.SignatureError, match=r"torch.autograd.functional differentiates .*grad=True"):
            ask(lambda x: case.mod(x).sum(), x)
    assert case.mod(x.requires_grad_()).grad_fn is None  # any other call is as under no_grad
    trained = tracepack.load(case.data, grad=True)
    x = x.detach()
    torch.testing.assert_close(functional.jacobian(trained, x), functional.jacobian(case.inner, x))


def test_under_inference_mode(case):
    op, file = tracepack.script(Counter()), io.BytesIO()
    tracepack.trace(lambda x: op(x), torch.ones(2)).save(file)
    counting = tracepack.load(file.getvalue())
    with torch.inference_mode():
        case.mod(torch.rand(3, 4))
        assert counting(torch.ones(2))[0].item() == 1
    assert counting(torch.ones(2))[0].item() == 2  # its state was not made in that mode, which would freeze it
    trained = tracepack.load(case.data, grad=True)
    with torch.inference_mode():
        trained(torch.rand(3, 4))
    trained(torch.rand(3, 4)).sum().backward()
    assert all(weight.grad is not None for weight in trained.weights().values())


def test_under_autocast_it_does_as_the_model_does(case):
    x = torch.rand(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = case.mod(x)
        assert torch.equal(got, case.wanted(x))
    assert got.dtype is torch.bfloat16


class Dispatching(TorchDispatchMode):
    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        type(self).seen += 1
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        type(self).seen += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Dispatching, Functions])
def test_under_a_mode_of_the_user(mode, case):
    x = torch.rand(3, 4)
    with mode():
        torch.testing.assert_close(case.mod(x), case.wanted(x))
    assert mode.seen


def test_under_another_default_device(case):
    x, model = torch.rand(3, 4), nn.Linear(4, 4)
    with torch.device("meta"):
        torch.testing.assert_close(case.mod(x), case.wanted(x))
        loaded = tracepack.load(case.data)
        op = tracepack.script(model, example=x)
        traced = tracepack.trace(lambda x: op(x) * 2, x)
    torch.testing.assert_close(loaded(x), case.wanted(x))
    torch.testing.assert_close(traced(x), model(x).detach() * 2)
    torch.set_default_device("meta")
    try:
        found = tracepack.load(case.data)(x)
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(found, case.wanted(x))


def doubled(x):
    """A choice and a loop on data, with a number among what the branches get."""
    chosen = tracepack.cond(
        x.sum() > 0, lambda x, n: (x * 2, x.sum(1) * n), lambda x, n: (-x, x[:, 0] - n), x, x.shape[0]
    )
    return tracepack.while_loop(lambda x: x.max() < 100, lambda x: x * 2 + 1, chosen[0]), chosen[1]


@pytest.mark.parametrize("strict", [False, True])
def test_a_choice_and_a_loop_on_data_are_exported(strict):
    mod = tracepack.trace(doubled, torch.rand(3, 4))

    class Outer(nn.Module):
        def forward(self, x):
            return mod(x)

    exported = torch.export.export(Outer(), (torch.rand(3, 4),), strict=strict).module()
    for x in (torch.rand(3, 4), -torch.rand(3, 4)):
        for got, wanted in zip(exported(x), doubled(x), strict=True):
            torch.testing.assert_close(got, wanted)


def test_a_look_up_that_data_decides_says_that_it_cannot_be_exported():
    mod = tracepack.trace(lambda x: tracepack.lookup({0: 1.5, 1: 2.5}, x.argmax(1)), torch.rand(3, 2))

    class Outer(nn.Module):
        def forward(self, x):
            return mod(x)

    with pytest.raises(
        tracepack.LoweringError, match="a graph that torch makes would keep the result of py.lookup_all"
    ):
        torch.export.export(Outer(), (torch.rand(3, 2),), strict=False)


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x + torch.ones(x.shape[0]),
        lambda x: x * torch.arange(x.shape[0]),
        lambda x: tracepack.lookup([1.5, 2.5, 3.5, 4.5, 5.5], x.argmax(0)),
        lambda x: x[torch.tensor([0, x.shape[0] - 1])],
        lambda x: torch.as_tensor(x) * torch.linspace(0, 1, x.shape[0]),
        lambda x: torch.tensor([x.sum().item(), 2.0]),
    ],
)
def test_new_tensors_lie_where_the_pipeline_does_whatever_torch_s_default_device_is(process):
    mod = tracepack.trace(process, torch.rand(3))
    file = io.BytesIO()
    mod.save(file)
    for each in (mod, tracepack.load(file.getvalue())):
        for x in (torch.rand(3), torch.rand(5)):
            wanted = process(x)
            with torch.device("meta"):
                got = each(x)
            assert got.device.type == "cpu"
            assert torch.equal(got, wanted)


def test_compiling_works_in_a_process_whose_first_use_of_torch_was_a_trace() -> None:
    program = """
import torch, tracepack
tracepack.trace(lambda x: x + 1, torch.ones(3))
doubled = torch.compile(lambda x: x * 2 if torch.is_grad_enabled() else x, backend="eager", fullgraph=True)
typed = torch.compile(lambda x: x.to(torch.get_default_dtype()), backend="eager", fullgraph=True)
print(doubled(torch.ones(2)).tolist(), typed(torch.ones(2, dtype=torch.float64)).dtype)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[2.0, 2.0] torch.float32", done.stderr
