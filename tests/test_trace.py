"""`trace` and `run`: names, containers, torch code around ops, guards, and what the signature says."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
import torch
from models import MyCell
from torch.nn import functional as F

import tracepack

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def cell():
    return tracepack.script(MyCell().eval(), name="cell")


def same(a, b):
    """Equal values in equal containers, bit for bit."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


class Holder:
    def __init__(self, op):
        self.op = op

    def process(self, x, h):
        return self.op(x, h)


def test_lambdas_methods_closures_defaults_and_keywords(cell, reloaded):
    x, h = torch.rand(3, 4), torch.rand(3, 4)
    scale = 3.0

    def closure(x, h=h, *, bias=1.5):
        return cell(x, h)[0] * scale + bias

    def variadic(*args, **named):
        return cell(*args)[0] + named["shift"]

    for function, args, kwargs in [
        (lambda x, h: cell(x, h), (x, h), {}),
        (Holder(cell).process, (x, h), {}),
        (closure, (x,), {}),
        (closure, (x, h), {"bias": 2.5}),
        (closure, (), {"x": x, "bias": 2.5}),
        (variadic, (x, h), {"shift": x}),
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


def test_nested_inputs_by_name(cell, reloaded):
    def process(batch, extra):
        x, [h, k] = batch["x"], extra
        return cell(x, h)[0] + k["more"][0]

    x = torch.rand(3, 4)
    feed = {"batch": {"x": x}, "extra": [x, {"more": (x,)}]}
    mod = tracepack.trace(process, **feed)
    assert mod.input_names == ["batch", "extra"]
    assert mod.program.parameters.names == ("batch['x']", "extra[0]", "extra[1]['more'][0]")
    for pipeline in (mod, reloaded(mod)):
        same(pipeline.run(feed), process(**feed))
        with pytest.raises(tracepack.SignatureError, match=r"input 'batch': another structure; got keys \['y'\]"):
            pipeline.run({**feed, "batch": {"y": x}})
        with pytest.raises(
            tracepack.SignatureError, match=r"input 'extra': another structure; got list of 1; expected list of 2"
        ):
            pipeline.run({**feed, "extra": [x]})


def test_numbers_and_strings_are_inputs(reloaded):
    def process(x, scale, count, flag, mode):
        y = x * scale + count
        return y.sum() if flag and mode == "sum" else y

    x = torch.rand(3)
    mod = reloaded(tracepack.trace(process, x, 2.0, 3, True, "sum"))
    same(mod(x, 0.5, 7, True, "sum"), process(x, 0.5, 7, True, "sum"))
    with pytest.raises(tracepack.GuardError, match=r"test_trace.py:\d+ in process: .* got False; expected True"):
        mod(x, 2.0, 3, False, "sum")
    with pytest.raises(tracepack.GuardError, match="got 'mean'; expected 'sum'"):
        mod(x, 2.0, 3, True, "mean")
    with pytest.raises(tracepack.SignatureError, match="input 'count': wrong type; got str; expected int"):
        mod(x, 2.0, "3", True, "sum")


def test_sizes_stay_free_and_arithmetic_on_them_is_recorded(reloaded):
    def process(x):
        n, m = x.shape
        out = torch.zeros(n * 2, m // 2)
        out[:n] = x[:, : m // 2]
        return out, n + x.size(-1), x.numel(), x.view(m, n).shape

    mod = tracepack.trace(process, torch.rand(3, 4))
    for pipeline in (mod, reloaded(mod)):
        for shape in ((3, 4), (5, 4), (2, 10), (1, 2), (0, 4)):
            x = torch.rand(shape)
            got, wanted = pipeline(x), process(x)
            same(got[:3], wanted[:3])
            assert tuple(got[3]) == tuple(wanted[3])


def test_a_branch_on_a_size_is_guarded_with_the_users_line(reloaded):
    def process(x):
        if x.shape[0] > 2:
            return x + 1
        return x - 1

    mod = reloaded(tracepack.trace(process, torch.rand(3, 4)))
    same(mod(torch.ones(9, 4)), process(torch.ones(9, 4)))
    with pytest.raises(tracepack.GuardError) as caught:
        mod(torch.ones(2, 4))
    assert "test_trace.py" in str(caught.value)
    assert "in process: if x.shape[0] > 2:" in str(caught.value)
    assert "got False; expected True" in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [lambda x: sum(x[i] for i in range(x.shape[0])), lambda x: [x] * len(x), lambda x: sum(row * 2 for row in x)],
)
def test_a_size_that_python_reads_is_fixed_not_frozen(function, reloaded):
    mod = reloaded(tracepack.trace(function, torch.ones(3, 4)))
    same(mod(torch.full((3, 4), 2.0)), function(torch.full((3, 4), 2.0)))
    with pytest.raises((tracepack.SignatureError, tracepack.GuardError)):
        mod(torch.ones(5, 4))


REFUSED = {
    "a branch on a tensor": (
        lambda x: x if x.sum() > 0 else -x,
        "a branch on a tensor cannot be recorded.*tracepack.cond",
    ),
    "tolist": (lambda x: x.tolist(), "a tensor cannot leave the graph as an array or a list"),
    "a data pointer": (lambda x: x + x.data_ptr(), "a tensor's memory cannot be reached"),
    "a branch on an item": (
        lambda x: x if x.sum().item() > 0 else -x,
        "a value that data decides cannot leave the graph",
    ),
    "gradients": (lambda x: x.requires_grad_(), "gradients cannot be recorded"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_the_graph_is_refused_with_the_users_line(name):
    function, text = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=rf"^test_trace.py:\d+ in <lambda>: .*{text}"):
        tracepack.trace(function, torch.rand(3))


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


def test_the_signature_and_the_text_form(cell):
    mod = tracepack.trace(lambda x, h: cell(x, h)[0].relu(), torch.rand(3, 4), torch.rand(3, 4))
    assert mod.signature == "(x: f32[N,4], h: f32[N,4]) -> f32[N,4]"
    assert str(mod.graph) == (
        "graph(%0: f32[N,4], %1: f32[N,4]):\n"
        "  %2: f32[N,4], %3: f32[N,4] = cell(%0, %1) @cpu\n"
        "  %4: f32[N,4] = torch.Tensor.relu(%3)\n"
        "  return %4"
    )
    assert mod.placement == {"cell": "cpu"}
    assert mod.input_names == ["x", "h"]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x * 2, "(x: f32[N,M]) -> f32[N,?]"),  # only the batch was moved, so no more is claimed
        (lambda x: x[x > 2], "(x: f32[N,M]) -> f32[?]"),
        (lambda x: x.sum(0), "(x: f32[N,M]) -> f32[?]"),
    ],
)
def test_the_signature_claims_no_size_that_was_not_seen_to_hold(function, text):
    assert tracepack.trace(function, torch.arange(12.0).reshape(3, 4)).signature == text


def test_the_signature_knows_what_an_op_fixes():
    op = tracepack.script(torch.nn.Linear(4, 6))
    mod = tracepack.trace(lambda x: (op(x), op(x).relu()), torch.rand(3, 4))
    assert mod.signature == "(x: f32[N,4]) -> (f32[N,6], f32[N,6])"


def test_two_ops_of_one_name_are_both_placed():
    a, b = tracepack.script(torch.nn.Linear(4, 4)), tracepack.script(torch.nn.Linear(4, 4))
    assert tracepack.trace(lambda x: a(x) + b(x), torch.rand(3, 4)).placement == {"Linear": "cpu", "Linear#2": "cpu"}


BAD_FEEDS = {
    "missing": ({"x": (3, 4)}, r"input 'h': missing input; got \['x'\]; expected x: f32\[N,4\], h: f32\[N,4\]"),
    "unknown": ({"x": (3, 4), "h": (3, 4), "z": (1,)}, r"input 'z': unknown input; expected x: f32\[N,4\]"),
    "rank": ({"x": (3, 4), "h": (3,)}, r"input 'h': wrong rank; got shape \(3,\); expected 2 dimensions"),
    "size": (
        {"x": (3, 4), "h": (3, 5)},
        r"input 'h': dimension 1 has a wrong size; got 5 in shape \(3, 5\); expected 4",
    ),
    "batch": ({"x": (3, 4), "h": (2, 4)}, r"input 'h': dimension 0 must equal dimension 0 of 'x'; got 2 .* expected 3"),
}


@pytest.mark.parametrize("name", BAD_FEEDS)
def test_bad_feeds_name_the_input(name, cell, reloaded):
    shapes, text = BAD_FEEDS[name]
    mod = reloaded(tracepack.trace(lambda x, h: cell(x, h), torch.rand(3, 4), torch.rand(3, 4)))
    mod(torch.rand(2, 4), torch.rand(2, 4))  # the fast way is warm
    with pytest.raises(tracepack.SignatureError, match=text):
        mod.run({key: torch.rand(shape) for key, shape in shapes.items()})


def test_bad_values_name_the_input(cell):
    x = torch.rand(3, 4)
    mod = tracepack.trace(lambda x, h: cell(x, h), x, x)
    for value, text in [
        (x.double(), "input 'h': wrong dtype; got float64; expected float32. Pass .to"),
        ("text", r"input 'h': not a tensor; got str; expected f32\[N,4\]"),
        (None, "input 'h': not a tensor; got NoneType"),
        (np.zeros((3, 4), "U1"), "an array that torch cannot take; got numpy <U1"),
    ]:
        with pytest.raises(tracepack.SignatureError, match=text):
            mod.run({"x": x, "h": value})
    with pytest.raises(tracepack.SignatureError, match="run takes a dict of inputs; got list"):
        mod.run([x, x])
    with pytest.raises(tracepack.SignatureError, match="too many arguments; got 3"):
        mod(x, x, x)
    with pytest.raises(tracepack.SignatureError, match="input 'x': an argument is given twice"):
        mod(x, x=x)


def test_arrays_and_dlpack_share_their_memory():
    seen = []
    mod = tracepack.trace(lambda x: x.add_(1), torch.zeros(4))
    array = np.zeros(4, np.float32)
    result = mod.run({"x": array})
    assert np.array_equal(array, np.ones(4))
    assert result.data_ptr() == array.__array_interface__["data"][0]

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            seen.append(True)
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    tensor = torch.zeros(4)
    mod.run({"x": Foreign(tensor)})
    assert seen
    assert torch.equal(tensor, torch.ones(4))


@pytest.mark.parametrize("make", [lambda a: a[::-1], lambda a: a.T.copy().T, lambda a: np.broadcast_to(a[0], a.shape)])
def test_odd_arrays_are_right(make):
    mod = tracepack.trace(lambda x: x * 2, torch.rand(3, 4))
    array = make(np.random.default_rng(0).random((3, 4), np.float32))
    assert np.array_equal(mod.run({"x": array}).numpy(), array * 2)


def test_gradients_of_inputs_play_no_part(cell):
    x = torch.rand(3, 4, requires_grad=True)
    mod = tracepack.trace(lambda x: cell(x, x)[0], x)
    result = mod(x)
    assert not result.requires_grad
    assert torch.is_grad_enabled()
    assert mod(torch.nn.Parameter(torch.rand(3, 4))).grad_fn is None


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
        return y @ w

    mod = reloaded(tracepack.trace(process, torch.rand(3, 4), torch.rand(4, 5)))
    with pytest.raises(tracepack.NodeError) as caught:
        mod(torch.rand(3, 4), torch.rand(7, 5))
    text = str(caught.value)
    assert "torch.Tensor.matmul" in text
    assert "in process: return y @ w" in text
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


def test_a_pipeline_is_not_pickled():
    import copy
    import pickle

    mod = tracepack.trace(lambda x: x + 1, torch.rand(2))
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(tracepack.TracepackError, match=r"is neither pickled nor copied. Save it and load the file"):
            way(mod)
