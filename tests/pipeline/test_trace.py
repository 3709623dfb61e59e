"""`trace` and `run`: names, containers, torch code around ops, guards, and what the signature says."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import tracepack
from tests.pipeline.cases import same

Pair = namedtuple("Pair", "first second")


class Holder:
    def __init__(self, op):
        self.op = op

    def process(self, x, h):
        return self.op(x, h)


@pytest.mark.filterwarnings("ignore:the default of 'h' does not count")
@pytest.mark.filterwarnings("ignore:.*the default of 'h' belongs to the pipeline:UserWarning")
def test_lambdas_methods_closures_defaults_and_keywords(cell, reloaded):
    x, h = torch.rand(3, 4), torch.rand(3, 4)
    scale = 3.0

    def closure(x, h=h, *, bias=1.5):
        return cell(x, h)[0] * scale + bias

    def variadic(*args, **named):
        return cell(*args)[0] + named["shift"]

    def called_alike(x, **named):  # one of the keywords has the name of the parameter that takes them
        return x - named["named"]

    def of_positions(x, /, **named):
        return x - named["x"]

    with pytest.raises(tracepack.RecordError, match="two arguments are called 'x', which the keys of run"):
        tracepack.trace(of_positions, x, x=h)
    for function, args, kwargs in [
        (lambda x, h: cell(x, h), (x, h), {}),
        (Holder(cell).process, (x, h), {}),
        (closure, (x,), {}),
        (closure, (x, h), {"bias": 2.5}),
        (closure, (), {"x": x, "bias": 2.5}),
        (variadic, (x, h), {"shift": x}),
        (called_alike, (x,), {"named": h}),
        (cell, (x, h), {}),
    ]:
        mod = tracepack.trace(function, *args, **kwargs)
        for pipeline in (mod, reloaded(mod)):
            same(pipeline(*args, **kwargs), function(*args, **kwargs))


CONTAINERS = {
    "tuple": lambda x: (x, x + 1),
    "tuple of one": lambda x: (x,),
    "empty tuple": lambda x: (),
    "list": lambda x: [x, [x * 2], ()],
    "dict": lambda x: {"a": x, 3: {"b": x + 1}, "none": None},
    "named tuple": lambda x: Pair(x, (x, 1)),
    "torch's return type": lambda x: x.max(dim=1),
    "numbers": lambda x: {"int": 3, "float": 0.5, "bool": True, "str": "text", "none": None, "size": x.shape[0]},
    "nothing": lambda x: None,
    "twice the same": lambda x: [x, x],
    "complex and bytes": lambda x: [1 + 2j, b"raw", float("inf")],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_come_back_as_they_are(name, reloaded):
    function, x = CONTAINERS[name], torch.rand(3, 4)
    mod = tracepack.trace(function, x)
    same(mod(x), function(x))
    loaded = reloaded(mod)
    result = loaded(x)
    same(result, function(x)) if name != "named tuple" else None
    assert type(result).__name__ == type(function(x)).__name__


def test_a_named_tuple_without_its_class_is_made_again(reloaded, monkeypatch):
    mod = tracepack.trace(lambda x: Pair(x, x + 1), torch.rand(3))
    monkeypatch.setattr("tracepack.ops.runtime.primitives.named_tuples._LIVE", {})
    result = reloaded(mod)(torch.ones(2))
    assert type(result).__name__ == "Pair"
    assert result._fields == ("first", "second")
    assert torch.equal(result.second, torch.full((2,), 2.0))


REFUSED = {
    "a data pointer": (lambda x: x + x.data_ptr(), "a tensor's memory cannot be reached"),
    "gradients": (lambda x: x.requires_grad_(), "gradients cannot be recorded"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_the_graph_is_refused_with_the_users_line(name):
    function, text = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=rf"^test_trace.py:\d+ in <lambda>: .*{text}"):
        tracepack.trace(function, torch.rand(3))


@pytest.mark.parametrize(
    "process", [lambda x: x if x.sum() > 0 else x.sum(), lambda x: x if x.sum().item() > 0 else x.sum()]
)
def test_a_branch_on_data_between_ranks_goes_both_ways(process):
    traced = tracepack.trace(process, torch.rand(3))
    for x in (torch.rand(4), -torch.rand(4)):
        assert torch.equal(traced(x), process(x))


@pytest.mark.usefixtures("no_blocks")
def test_a_counter_outside_is_found_by_the_second_recording():
    count = [0]

    def process(x):
        count[0] += 1
        return x * count[0]

    with pytest.raises(
        tracepack.RecordError, match="a second recording on other data differs: .* was called with 1 and 2"
    ):
        tracepack.trace(process, torch.rand(3))


def test_a_change_of_a_captured_tensor_is_refused():
    state = torch.zeros(3)

    def process(x):
        state.add_(x)
        return state + 0

    with pytest.raises(tracepack.RecordError, match="the function changes a tensor that is not one of its inputs"):
        tracepack.trace(process, torch.rand(3))


@pytest.mark.usefixtures("no_blocks")
def test_a_swallowed_error_of_torch_is_refused():
    def process(x):
        try:
            return x @ x
        except RuntimeError:
            return x

    with pytest.raises(tracepack.RecordError, match="the function caught an error of torch"):
        tracepack.trace(process, torch.rand(3, 4))


def test_the_examples_are_not_changed():
    x = torch.zeros(3)
    mod = tracepack.trace(lambda x: x.add_(1), x)
    assert torch.equal(x, torch.zeros(3))
    mod(x)
    assert torch.equal(x, torch.ones(3))  # a run writes into its input, as the function does


def test_captured_tensors_are_constants(reloaded):
    table = torch.rand(10, 4)
    mod = reloaded(tracepack.trace(lambda i: F.embedding(i, table), torch.tensor([1, 2])))
    assert torch.equal(mod(torch.tensor([9, 0, 3])), table[[9, 0, 3]])


def test_two_ops_of_one_name_are_both_placed():
    a, b = tracepack.script(torch.nn.Linear(4, 4)), tracepack.script(torch.nn.Linear(4, 4))
    assert tracepack.trace(lambda x: a(x) + b(x), torch.rand(3, 4)).placement == {"Linear": "cpu", "Linear#2": "cpu"}


def test_a_non_contiguous_output_is_refused_or_repaired():
    class Transposed(torch.nn.Module):
        def forward(self, x):
            return x, x.t()

    x = torch.rand(3, 4)
    text = (
        r"op 'Transposed': output 1 is not contiguous; got shape \(4, 3\) with strides \(1, 4\). Pass contiguous=True"
    )
    with pytest.raises(tracepack.NonContiguousOutputError, match=text):
        tracepack.script(Transposed())(x)
    with pytest.raises(tracepack.NonContiguousOutputError, match=text):
        tracepack.trace(tracepack.script(Transposed()), x)
    op = tracepack.script(Transposed(), contiguous=True)
    mod = tracepack.trace(lambda x: op(x), x)
    for _, result in (op(x), mod(x)):
        assert result.is_contiguous()
        assert torch.equal(result, x.t())


def test_contiguity_is_checked_for_each_new_layout_of_inputs(reloaded):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x * 1

    op = tracepack.script(Same())
    mod = reloaded(tracepack.trace(lambda x: op(x), torch.rand(4, 4)))
    assert mod(torch.rand(4, 4)).is_contiguous()
    with pytest.raises(tracepack.NonContiguousOutputError, match="op 'Same': output 0 is not contiguous"):
        mod(torch.rand(4, 4).t())


def test_an_error_inside_a_run_names_the_node_and_the_users_line(reloaded):
    def process(x, w):
        y = x + 1
        return y * w

    mod = reloaded(tracepack.trace(process, torch.rand(3, 5), torch.rand(3, 5)))
    with pytest.raises(tracepack.NodeError) as caught:
        mod(torch.rand(3, 5), torch.rand(7, 5))
    text = str(caught.value)
    assert "torch.Tensor.mul" in text
    assert "in process: return y * w" in text
    assert "[7, 5]" in text
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert "C++" not in text
    assert "\n" not in text


def test_threads_share_a_pipeline(cell):
    from concurrent.futures import ThreadPoolExecutor

    mod = tracepack.trace(lambda x: cell(x, x)[0], torch.rand(3, 4))
    inputs = [torch.rand(n % 5 + 1, 4) for n in range(200)]
    wanted = [mod(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        for got, expected in zip(pool.map(mod, inputs), wanted, strict=True):
            assert torch.equal(got, expected)


def test_a_trace_inside_a_trace_is_refused():
    with pytest.raises(tracepack.RecordError, match="trace was called while another trace runs"):
        tracepack.trace(lambda x: tracepack.trace(lambda y: y, x)(x), torch.rand(3))


def test_examples_that_do_not_fit_are_refused():
    with pytest.raises(
        tracepack.RecordError, match="the examples do not fit the function: missing a required argument: 'y'"
    ):
        tracepack.trace(lambda x, y: x, torch.rand(3))
    with pytest.raises(
        tracepack.SignatureError, match="input 'x': a value that a pipeline cannot take; got builtins.object"
    ):
        tracepack.trace(lambda x: x, object())
    with pytest.raises(tracepack.RecordError, match="trace takes a function; got int"):
        tracepack.trace(3)


def test_a_module_or_an_op_names_its_inputs_itself():
    class Two(torch.nn.Module):
        def forward(self, left, right):
            return left - right

    left, right = torch.rand(2, 4), torch.rand(2, 4)
    for process in (Two(), tracepack.script(Two())):
        mod = tracepack.trace(process, left, right)
        assert mod.input_names == ["left", "right"]
        assert torch.equal(mod.run({"left": left, "right": right}), left - right)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_an_op_that_the_function_makes_itself(shape):
    """It lowers nothing when the function runs unrecorded, and torch sums in another order then."""
    model = torch.nn.Linear(4, 4)
    x = torch.rand(shape)
    mod = tracepack.trace(lambda x: tracepack.script(model)(x), x)
    torch.testing.assert_close(mod(x), model(x).detach())


@pytest.mark.parametrize("function", [np.add, torch.add, max])
def test_a_function_without_a_signature_is_refused(function):
    with pytest.raises(tracepack.RecordError, match=r"the function has no signature\. Wrap it in a lambda"):
        tracepack.trace(function, torch.ones(2), torch.ones(2))
