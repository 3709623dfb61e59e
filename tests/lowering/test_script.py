"""`script`: what it accepts, what it leaves alone, what it refuses."""

from __future__ import annotations

import copy
import io
import re

import pytest
import torch
from torch import nn

import tracepack
from tests.models import Branching, MyCell


def inputs(batch=3):
    return torch.rand(batch, 4), torch.rand(batch, 4)


def sources(tmp_path):
    """Every accepted form of the seed cell, made of one module."""
    module = MyCell().eval()
    x, h = inputs()
    traced = torch.jit.trace(module, (x, h))
    path = tmp_path / "cell.pt"
    torch.jit.save(traced, path)
    weight, bias = module.linear.weight.detach(), module.linear.bias.detach()

    def function(x, h):
        new_h = torch.tanh(torch.nn.functional.linear(x, weight, bias) + h)
        return new_h, new_h

    return module, {
        "nn.Module": module,
        "traced ScriptModule": traced,
        "scripted ScriptModule": torch.jit.script(module),
        "frozen ScriptModule": torch.jit.freeze(torch.jit.trace(module, (x, h))),
        "ScriptFunction": torch.jit.trace(function, (x, h)),
        "path": path,
        "path as text": str(path),
        "ExportedProgram": torch.export.export(
            module, (x, h), dynamic_shapes=({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO})
        ),
        "callable": function,
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_every_form_gives_an_op_that_packs_and_answers_as_the_module(tmp_path, reloaded):
    module, forms = sources(tmp_path)
    for form, source in forms.items():
        op = tracepack.script(source)
        mod = tracepack.trace(lambda x, h, op=op: op(x, h), *inputs())
        loaded = reloaded(mod)
        for batch in (3, 7, 1):
            x, h = inputs(batch)
            with torch.no_grad():
                expected = module(x, h)
            for result in (op(x, h), mod(x, h), loaded(x, h)):
                assert type(result) is tuple, form
                assert all(torch.equal(a, b) for a, b in zip(result, expected, strict=True)), form


def test_an_op_is_returned_as_is():
    op = tracepack.script(MyCell())
    assert tracepack.script(op) is op


def test_the_users_model_is_left_as_it_was():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    module[0].weight.grad = torch.ones(4, 4)
    module.train()
    module[2].eval()
    before = copy.deepcopy(module.state_dict())
    modes = [part.training for part in module.modules()]
    attributes = set(module.__dict__)
    x = torch.rand(3, 4)
    op = tracepack.script(module)
    op(x)
    tracepack.trace(op, x).run({"input": x})
    assert [part.training for part in module.modules()] == modes
    assert set(module.__dict__) == attributes
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert torch.equal(module[0].weight.grad, torch.ones(4, 4))
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert not x.requires_grad


def test_a_model_in_training_mode_answers_as_in_evaluation_mode(reloaded):
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)).train()
    op = tracepack.script(module)
    x = torch.rand(5, 4)
    expected = copy.deepcopy(module).eval()(x)
    mod = tracepack.trace(lambda x: op(x), x)
    for result in (op(x), mod(x), reloaded(mod)(x)):
        assert torch.equal(result, expected)


def test_nothing_is_written_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    op = tracepack.script(MyCell(), example=inputs())
    tracepack.trace(lambda x, h: op(x, h), *inputs())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", [inputs(), {"x": torch.rand(3, 4), "h": torch.rand(3, 4)}])
def test_with_an_example_the_op_is_lowered_at_once(example):
    op = tracepack.script(MyCell(), example=example)
    assert op._lowered
    assert not tracepack.script(MyCell())._lowered


def test_an_op_that_was_traced_runs_its_graph_by_position_and_by_keyword():
    calls = []

    class Counted(torch.nn.Module):
        def forward(self, x, y):
            if not torch.compiler.is_compiling():
                calls.append(1)
            return x - y

    op, x, y = tracepack.script(Counted()), torch.rand(3), torch.rand(3)
    tracepack.trace(lambda x, y: op(x=x, y=y), x, y)
    before = len(calls)
    for result in (op(x, y), op(x, y=y), op(y=y, x=x)):
        assert torch.equal(result, x - y)
    assert len(calls) == before, "the model ran, and not the graph that pipelines have"


def test_an_op_runs_by_position_and_by_keyword():
    module = MyCell().eval()
    op, (x, h) = tracepack.script(module), inputs()
    expected = module(x, h)[0]
    mod = tracepack.trace(lambda x, h: (op(x, h)[0], op(x, h=h)[0], op(h=h, x=x)[0]), x, h)
    assert len(op._lowered) == 1  # three spellings, one body
    assert all(torch.equal(result, expected) for result in (op(x, h=h)[0], *mod(x, h)))


def test_a_frozen_size_is_refused_not_answered_wrongly():
    class Thirds(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] // 3, 3, 4).sum(1) if x.shape[0] % 3 == 0 else x

    module = Thirds()
    op = tracepack.script(module)
    mod = tracepack.trace(lambda x: op(x), torch.rand(6, 4))
    assert torch.equal(mod(torch.ones(9, 4)), module(torch.ones(9, 4)))
    with pytest.raises(
        tracepack.SignatureError, match=r"the sizes do not satisfy N % 3 == 0; got N = 4 \(dimension 0 of 'x'\)"
    ):
        mod(torch.rand(4, 4))


def test_an_example_of_size_one_that_cannot_stand_for_two():
    """A first size of 1 is lowered as 2 where the model allows; here its outer size is what the next matrix wants."""

    class Chain(nn.Module):
        def forward(self, a, b, c):
            return torch.linalg.multi_dot([a, b, c])

    a, b, c = torch.rand(1, 2), torch.rand(2, 1), torch.rand(1, 5)
    op = tracepack.script(Chain(), device="cpu")
    mod = tracepack.trace(lambda a, b, c: op(a, b, c), a, b, c)
    assert torch.equal(mod(a, b, c), torch.linalg.multi_dot([a, b, c]))


def test_two_parameters_given_one_tensor_stay_two_parameters():
    op = tracepack.script(MyCell().eval())
    x, h = inputs()
    mod = tracepack.trace(lambda x: op(x, x)[0], x)
    assert torch.equal(mod(x), op(x, x)[0])
    both = tracepack.trace(lambda x, h: (op(x, x)[0], op(x, h)[0]), x, h)
    assert torch.equal(both(x, h)[1], op(x, h)[0])


@pytest.mark.parametrize(
    ("model", "device", "error", "text"),
    [
        (
            MyCell,
            None,
            tracepack.ScriptError,
            r"a class was given; got MyCell; expected an instance of it. Pass MyCell\(",
        ),
        (3, None, tracepack.ScriptError, "this object cannot become an op; got int; expected an nn.Module"),
        (None, None, tracepack.ScriptError, "this object cannot become an op; got NoneType"),
        ("nothing.pt", None, tracepack.ScriptError, "cannot read a TorchScript file|no such file"),
        (MyCell(), True, tracepack.DeviceError, "not a device; got True; expected None, an int"),
        (MyCell(), 1.0, tracepack.DeviceError, "not a device; got 1.0"),
        (MyCell(), -2, tracepack.DeviceError, "not a device; got -2"),
        (MyCell(), "tpu", tracepack.DeviceError, "not a device; got 'tpu'"),
        (MyCell(), "cpu:x", tracepack.DeviceError, "not a device; got 'cpu:x'"),
    ],
)
def test_what_cannot_be_scripted_is_refused(model, device, error, text):
    with pytest.raises(error, match=text):
        tracepack.script(model, device)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="says what a machine without an accelerator says")
def test_a_lazy_model_is_refused_until_it_has_sizes(reloaded):
    model, x = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.LazyLinear(3)), torch.rand(2, 4)
    text = "part '1': the model has parameters without sizes; got LazyLinear. Call the model once with an example."
    with pytest.raises(tracepack.ScriptError, match=re.escape(text)):
        tracepack.script(model)
    wanted = model(x)
    op = tracepack.script(model)
    torch.testing.assert_close(reloaded(tracepack.trace(lambda x: op(x), x)).run({"x": x}), wanted.detach())


def test_an_op_is_packed_for_a_gpu_that_the_machine_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr("tracepack.ops.runtime.placement._warned", set())
    model, x, h = MyCell(), torch.rand(3, 4), torch.rand(3, 4)
    with pytest.warns(UserWarning, match="^this machine has no cuda:1: the op is packed for it, and runs on the CPU"):
        op = tracepack.script(model, device=1)
    assert str(op.device) == "cuda:1"
    tracepack.script(model, device="cuda:1")  # it says so once
    wanted = model(x, h)[0].detach()
    assert torch.equal(op(x, h)[0], wanted)
    mod = tracepack.trace(lambda x, h: op(x, h)[0] + torch.zeros(4), x, h)
    assert torch.equal(mod(x, h), wanted)
    assert mod.placement == {"MyCell": "cpu"}
    path = tmp_path / "cell.tpk"
    mod.save(path, examples=[{"x": x, "h": h}])
    with pytest.raises(tracepack.PlacementError, match="op 'MyCell': it needs cuda:0, which this machine lacks"):
        tracepack.load(path)
    loaded = tracepack.load(path, gpu_ops="cpu", verify="golden")
    assert torch.equal(loaded(x, h), wanted)
    assert "@cuda:1" in str(loaded.graph)
    again = io.BytesIO()
    loaded.save(again)  # moved here, it stays an op for the accelerator
    with pytest.raises(tracepack.PlacementError, match="op 'MyCell'"):
        tracepack.load(again.getvalue())


def test_a_model_that_torch_cannot_export_is_refused_with_the_reason():
    op = tracepack.script(Branching())
    with pytest.raises(
        tracepack.LoweringError,
        match=r"^op 'Branching', models.py:\d+ in forward: if bool\(y.sum\(\) > 0\), called by test_script.py:\d+ in "
        r"<lambda>: .*: Python needs a value here that only the data of a run decides. Use torch.where or "
        r"tracepack.cond\(",
    ):
        tracepack.trace(lambda x: op(x), torch.rand(3, 4))


def test_a_model_that_counts_in_python_is_refused_and_restored():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def forward(self, x):
            self.count += 1
            return x * self.count

    module = Counter()
    op = tracepack.script(module)
    with pytest.raises(tracepack.LoweringError, match="the model changes its attribute 'count' while it runs"):
        tracepack.trace(lambda x: op(x), torch.rand(3))
    assert module.count == 0


def test_a_model_that_keeps_what_its_first_call_met_is_refused_and_restored():
    class Keeps(nn.Module):
        def forward(self, x):
            if not hasattr(self, "scale"):
                self.scale = x.sum()
            return x * self.scale

    module = Keeps()
    op = tracepack.script(module)
    with pytest.raises(tracepack.LoweringError, match="the model changes its attribute 'scale' while it runs"):
        tracepack.trace(lambda x: op(x), torch.rand(3))
    assert not hasattr(module, "scale")


def test_what_a_model_makes_for_itself_in_every_call_is_no_state():
    class Notes(nn.Module):
        def forward(self, x):
            self.mean = x.mean()
            return x - self.mean

    module = Notes()
    op = tracepack.script(module)
    mod = tracepack.trace(lambda x: op(x), torch.rand(3))
    assert torch.equal(mod(torch.tensor([1.0, 3.0])), torch.tensor([-1.0, 1.0]))
    assert not hasattr(module, "mean")


def test_a_model_that_draws_random_numbers_is_refused():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    with pytest.raises(tracepack.LoweringError, match=r"op 'Noisy': the model draws random numbers"):
        tracepack.script(Noisy(), example=torch.rand(3))


def test_device_constants_of_a_model_are_relocated():
    """A factory with a literal device inside a model follows the op: checked on torch's meta device."""
    from tracepack.ops.graph.device import Device
    from tracepack.ops.runtime.plan import Plan

    class WithFactory(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return self.linear(x) + torch.arange(4, device=x.device) + torch.zeros(4, device="cpu")

    op = tracepack.script(WithFactory(), example=torch.rand(3, 4))
    [[(lowered, _)]] = op._lowered.values()
    meta = Device("meta")
    plan = Plan(lowered.body.graph, home=meta)
    # With any tensor left on the CPU torch would refuse to mix the two devices.
    [result] = plan.fast(torch.rand(3, 4, device="meta"))
    assert result.device.type == "meta"
    assert result.shape == (3, 4)


def test_a_model_is_scripted_with_an_example_inside_of_a_traced_function():
    model = torch.nn.Linear(4, 2)
    mod = tracepack.trace(lambda x: tracepack.script(model, example=x)(x) * 2, torch.rand(3, 4))
    x = torch.rand(5, 4)
    torch.testing.assert_close(mod(x), model(x).detach() * 2)
