"""Python around tensors: what is recorded, what is guarded, and what is refused with which words."""

from __future__ import annotations

import builtins as own
import copy
import json
import math
import pathlib
import random
import sys
from math import sqrt as root

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import Check, difference
from tests.campaigns.tally import RIGHT

X = torch.arange(6.0).reshape(3, 2) + 0.5
OTHER = torch.tensor([[4.0, -1.0], [0.25, 3.0], [2.0, 8.0]])
TALL = torch.linspace(-2, 3, 10).reshape(5, 2)


def right(process, *example, others=()):
    """Traced, saved and loaded, it answers as Python does on the example and on every other input."""
    found = Check(process, example).run(others)
    assert (found.outcome, found.reason) == (RIGHT, "")


# name -> a function of one tensor of two dimensions that holds for every number of rows
FREE = {
    "item": lambda x: x * x.sum().item(),
    "arithmetic on items": lambda x: (x.mean().item() * 2 + 1) / x.shape[0] - x[0, 0].item() ** 2,
    "item returned": lambda x: {"n": x.shape[0], "mean": x.mean().item(), "any": x.any().item()},
    "item of a bool": lambda x: x * (x > 0).all().item(),
    "item of a complex": lambda x: (x * 1j).sum().item() * x,
    "abs and round of an item": lambda x: (abs(x.sum().item()), round(x.sum().item(), 1), -x.sum().item()),
    "size arithmetic": lambda x: x.reshape(x.shape[0] // 1, -1) * (x.shape[0] % 4) + x.numel() ** 2 - len(x.shape),
    "divmod": lambda x: x * divmod(x.shape[0], 2)[1],
    "float of a tensor in a tensor": lambda x: torch.tensor([x.sum().item(), 1.0]),
    "sizes in a tensor": lambda x: torch.tensor([x.shape[0], x.shape[1]]),
    "a new tensor of others": lambda x: x.new_tensor([x.mean(), 2.0]) + x.new_zeros(2),
    "range over a fixed size": lambda x: [x[:, i] for i in range(2)],
    "tensor indices": lambda x: x[torch.arange(x.shape[0]).flip(0)],
    "comparison returned": lambda x: (x.shape[0] > 2, x * (x.shape[0] > 2)),
    "f-string of a fixed number": lambda x: {f"k{i}": x[:, i] for i in range(2)},
    "print": lambda x: print(x, x.shape, x.shape[0], x.sum().item()) or x + 1,
    "deepcopy": lambda x: copy.deepcopy(x).mul_(2) + copy.deepcopy([x])[0],
    "numpy number": lambda x: x * np.float32(2) + np.int64(1),
    "numpy number first": lambda x: np.float64(2) * x,
    "array as index": lambda x: x[:, torch.from_numpy(np.array([1, 0]))],
    "isinstance": lambda x: x + isinstance(x.shape[0], int) + isinstance(x, torch.Tensor),
    "distance function": lambda x: torch.nn.functional.triplet_margin_with_distance_loss(
        x, x + 1, x * 3, distance_function=lambda a, b: (a - b).abs().amax(-1), swap=True, reduction="none"
    ),
    "distance module": lambda x: torch.nn.functional.triplet_margin_with_distance_loss(
        x, x + 1, x * 3, distance_function=torch.nn.PairwiseDistance()
    ),
    "list of tensors where numbers could be": lambda x: torch.histogramdd(x, [torch.linspace(-9, 9, 4)] * 2).hist,
    "sizes as torch converts them": lambda x: (
        x * torch.sym_float(1.5) + torch.sym_float(x.shape[0]),
        torch.sym_int(x.shape[0] / 2),
        torch.sym_not(False),
    ),
    "equal": lambda x: torch.equal(x, x + 0.0),
    "int of size arithmetic": lambda x: x * int(x.shape[0] * 0.5),
    "float of a size": lambda x: x * float(x.shape[0]),
    "math of a size": lambda x: x * math.sqrt(x.shape[0]),
    "len": lambda x: x * len(x),
    "bool of a size": lambda x: x * bool(x.shape[0] - 3),
    "len of a list": lambda x: x + len([x, x]),
    "float, int and bool of a tensor": lambda x: (x * float(x.sum()), int(x.sum()), bool(x.any()), float(x[0, 0]) + 1),
    "int of an item": lambda x: x * int(x.sum().item()) + int(-0.5) + int("3"),
    "math of an item": lambda x: x * math.exp(x.mean().item()) + math.sqrt(x.abs().max().item()),
    "math by its own name": lambda x: (x * root(x.shape[0]), root(2), x / math.log(x.numel())),
    "math of plain numbers": lambda x: x * math.sqrt(2) + math.floor(2.5),
    "calls in nested functions": lambda x: [y * len(y) + max(float(y.sum()), 0.5) for y in (x, x[1:])],
    "least and largest": lambda x: (
        x[:, : min(x.shape[1], 1)],
        max(x.shape[0], 4),
        min([x.shape[0], 2, 7]),
        max(x.shape),
    ),
    "least and largest of items": lambda x: x.clamp(max=max(x.sum().item(), 1.0)) + min(1, 2),
    "names used in other ways": lambda x: {
        "t": type(x.shape[1]) is float or type(x.shape[1]) is int,
        "c": type("Made", (), {}).__name__,
        "d": {float: 1}[float],
        "m": [*map(int, "12")],
    },
    "methods of those names": lambda x: (x.float(), x.int(), x.bool(), x.min(), torch.max(x)),
    "result type": lambda x: x.to(torch.promote_types(x.dtype, torch.float64)),
}


if sys.version_info < (3, 11):  # Python does not say there which names are called
    for _name in ("float of a size", "len", "float, int and bool of a tensor", "int of an item", "math of an item",
                  "int of size arithmetic", "math of a size", "bool of a size", "math by its own name",
                  "calls in nested functions", "least and largest", "least and largest of items"):  # fmt: skip
        del FREE[_name]


@pytest.mark.parametrize("name", FREE)
def test_recorded_for_all_sizes_and_data(name) -> None:
    process = FREE[name]
    right(process, X, others=[[OTHER], [TALL], [X[:1]]])
    loaded = tracepack.trace(process, X)
    assert difference(process(TALL), loaded(TALL)) == ""


# name -> a function that holds for the recorded number of rows only
GUARDED = {
    "math by another name": lambda x: [m.sqrt(x.shape[0]) * x for m in (math,)],
    "len by another name": lambda x: x * own.len(x),
    "range over a size": lambda x: sum(x[i] * i for i in range(x.shape[0])),
    "loop over rows": lambda x: sum(row * 2 for row in x),
    "branch on a size": lambda x: x + 1 if x.shape[0] == 3 else x - 1,
    "comparison of shapes": lambda x: x + 1 if x.shape == (3, 2) else x - 1,
    "size in a list": lambda x: x + 1 if x.shape[0] in (3, 4) else x - 1,
    "f-string": lambda x: {f"rows{x.shape[0]}": x},
    "str": lambda x: {str(x.shape[0]): x},
    "str of the shape": lambda x: {str(x.shape): x},
    # The old form is what is tested.
    "percent": lambda x: {"%s" % x.shape[0]: x},  # noqa: UP031
    "key": lambda x: {x.shape[0]: x},
    "index of a list": lambda x: x * [1, 2, 3, 4, 5, 6][x.shape[0]],
    "list repeated": lambda x: [x] * x.shape[0],
    "numpy of a size": lambda x: x * np.float32(x.shape[0]),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guarded_where_a_size_leaves_the_graph(name, reloaded) -> None:
    right(GUARDED[name], X, others=[[OTHER], [TALL]])
    for mod in (tracepack.trace(GUARDED[name], X), reloaded(tracepack.trace(GUARDED[name], X))):
        with pytest.raises((tracepack.GuardError, tracepack.SignatureError)):
            mod(TALL)


def test_a_size_that_is_not_the_batch_is_guarded_too() -> None:
    mod = tracepack.trace(lambda x: {str(x.shape[1]): x}, X)
    with pytest.raises(tracepack.SignatureError, match="dimension 1 has a wrong size; got 5"):
        mod(torch.ones(3, 5))


def helper(x):
    return float(x.sum())


def shrunk(number):
    return math.tanh(number)


def rooted(x):
    return x * shrunk(x.shape[1])


def test_what_fixes_a_size_is_named_and_shown(reloaded) -> None:
    mod = reloaded(tracepack.trace(rooted, X))
    assert mod.signature == "(x: f32[N,2]) -> f32[N,2]"
    with pytest.raises(tracepack.SignatureError) as caught:
        mod(torch.ones(3, 5))
    assert "It is fixed because it was taken as a plain float, as math does at test_python.py:" in str(caught.value)
    assert "in shrunk: return math.tanh(number)." in str(caught.value)
    mod = reloaded(tracepack.trace(lambda x: [row * 2 for row in x], X))
    assert mod.signature == "(x: f32[3,N]) -> [f32[?], f32[?], f32[?]]"
    with pytest.raises(tracepack.SignatureError, match="goes through the rows of a tensor one by one at test_python"):
        mod(TALL)


# name -> a function, and what its signature says after `where`
CONDITIONS = {
    "a branch": (lambda x: x if x.shape[0] > 2 else -x, "N > 2"),
    "the other side": (lambda x: x if x.shape[0] > 9 else -x, "not N > 9"),
    "arithmetic": (lambda x: [x] * (x.shape[0] // 2), "N // 2 == 1"),
    "two": (lambda x: {f"{x.numel()}": x} if x.shape[0] + 1 < 7 else x, "N + 1 < 7"),
    "rows of what was computed": (lambda x: list(x @ x.mT), "size(matmul, 0) == 3"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_signature_says_what_guards_ask(name, reloaded) -> None:
    process, text = CONDITIONS[name]
    assert text in reloaded(tracepack.trace(process, X)).signature.partition(" where ")[2]


def test_the_signature_says_what_numbers_and_strings_must_be(reloaded) -> None:
    mod = tracepack.trace(lambda x, n, mode: x * n if mode == "times" and n > 1 else x, X, 2, "times")
    assert reloaded(mod).signature.endswith(" where mode == 'times' and n > 1")


def swallow(x):
    try:
        return x.view(7)
    except RuntimeError:
        return x


def swallow_branch(x):
    try:
        return x if x.sum() > 0 else -x
    except Exception:
        return x


LIST = "a tensor cannot leave the graph as a list"
NUMBER = "a tensor's value cannot leave the graph as a plain number"
BRANCH = "a branch on a tensor cannot be recorded: only one side of it ran"
DATA = "a value that data decides cannot leave the graph: "
REFUSED = {
    "tolist": (lambda x: torch.tensor(x.tolist()), LIST),
    "complex": (lambda x: x * complex(x.sum()), NUMBER),
    "range over data": (lambda x: [x for _ in range(x.sum().int())], NUMBER),
    "if": (lambda x: x if x.sum() > 0 else -x, BRANCH),
    "and": (lambda x: x.any() and x.sum(), BRANCH),
    "in": (lambda x: x if 0.5 in x else -x, BRANCH),
    "float in a helper": (lambda x: x * helper(x), NUMBER),
    "an own float": (lambda x: x * own.float(x.sum()), NUMBER),
    "math in a helper": (lambda x: x * shrunk(x.sum().item()), DATA + "it was taken as a plain float, as math does"),
    "branch on an item": (lambda x: x if x.sum().item() > 0 else -x, DATA + "a branch was taken on it"),
    "f-string of an item": (lambda x: {f"{x.sum().item()}": x}, DATA + "it was formatted into a string"),
    "range over an item": (lambda x: [x] * x.argmax().item(), DATA + "it was used as a plain integer"),
    "text of a tensor": (lambda x: {repr(x): x}, "a tensor's values cannot leave the graph as text"),
    "f-string of a tensor": (lambda x: {f"{x.sum()}": x}, "a tensor's values cannot leave the graph as text"),
    "json of a size": (lambda x: {json.dumps(x.shape[0]): x}, "what works on plain numbers failed on one"),
    "random": (lambda x: x * random.random(), "a second recording on other data differs"),
    "swallowed error": (swallow, "the function caught an error of torch, so which branch it takes depends"),
    "swallowed refusal": (swallow_branch, BRANCH),
    "memory": (lambda x: x.data_ptr(), "torch.Tensor.data_ptr: a tensor's memory cannot be reached in a recording"),
    "resize": (lambda x: x.clone().resize_(2), "torch.Tensor.resize_: a tensor's memory cannot be reached"),
    "sparse": (lambda x: x.to_sparse(), "torch.Tensor.to_sparse cannot be recorded: archives hold dense tensors only"),
    "unchecked indices": (
        lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([len(x)])),
        "torch.segment_reduce cannot be recorded: it does not check its indices, so that a file could reach outside",
    ),
    "an object": (lambda x: object(), "the function returns a builtins.object, which an archive cannot hold"),
    "an option object": (
        lambda x: torch.nn.functional.grid_sample(x, x, mode=pathlib.Path("a")),
        "torch.nn.functional.grid_sample has an argument that cannot be recorded; got pathlib",
    ),
    "torch's own randomness": (lambda x: x + torch.randn(2), "torch.randn draws random numbers from torch's global"),
    "dropout": (lambda x: torch.nn.functional.dropout(x), "torch.nn.functional.dropout draws random numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_the_reason(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, X)
    assert words in str(caught.value)
    if name != "an object":
        assert "test_python.py:" in str(caught.value)


class Scaler:
    """An object that is called, and a method of it."""

    factor = 2

    def __call__(self, x):
        return x * float(x.sum())

    def scaled(self, x, *, by=3):
        return x * int(x.sum()) * by + max(self.factor, x.shape[0])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not say there which names are called")
@pytest.mark.parametrize("process", [Scaler(), Scaler().scaled], ids=["object", "method"])
def test_methods_and_objects_are_read_like_functions(process) -> None:
    right(process, X, others=[[OTHER], [TALL]])
    assert difference(process(TALL), tracepack.trace(process, X)(TALL)) == ""


def test_a_number_in_a_string_is_guarded(reloaded) -> None:
    mod = reloaded(tracepack.trace(lambda x, s: x * int(s), X, "3"))
    assert torch.equal(mod(X, "3"), X * 3)
    with pytest.raises(tracepack.GuardError, match="it was read as a string; got '4'; expected '3'"):
        mod(X, "4")


def test_an_error_of_the_function_itself_stays_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        tracepack.trace(lambda x: x * (1 // 0), X)
    with pytest.raises(RuntimeError, match="shape '\\[7\\]' is invalid"):
        tracepack.trace(lambda x: x.view(7), X)


def test_print_is_free_and_comes_back() -> None:
    before = print
    mod = tracepack.trace(lambda x: print(x.shape, f"{2}") or x, X)
    assert print is before
    assert mod(TALL).shape == (5, 2)


# -- writes into the caller's tensors, and aliases ---------------------------------------------------------------


def write(x):
    x[0] += 1
    x.mul_(2)
    return x.sum()


def test_writes_into_inputs_have_the_effect_that_they_have_in_python() -> None:
    right(write, X, others=[[OTHER], [TALL], [torch.ones(2, 3).t()], [torch.ones(6, 4)[::2, ::2]]])
    example = X.clone()
    tracepack.trace(write, example)
    assert torch.equal(example, X)


def test_a_writable_array_is_written_and_a_read_only_one_is_not(reloaded) -> None:
    for mod in (tracepack.trace(write, X), reloaded(tracepack.trace(write, X))):
        for make in (lambda a: a, lambda a: np.frombuffer(a.tobytes(), dtype=np.float32).reshape(a.shape)):
            array = make(OTHER.numpy().copy())
            expected = OTHER.clone()
            assert mod.run({"x": array}) == write(expected)
            assert (array == (expected.numpy() if array.flags.writeable else OTHER.numpy())).all()


def test_a_read_only_array_is_not_copied_for_a_pipeline_that_only_reads() -> None:
    array = np.frombuffer(bytes(24), dtype=np.float32)
    mod = tracepack.trace(lambda x: x.view(2, 3), torch.ones(6))
    assert mod(array).data_ptr() == array.ctypes.data


def test_inputs_that_are_one_tensor_and_inputs_that_are_not() -> None:
    def process(a, b):
        a.add_(1)
        return a * b

    right(process, X, OTHER, others=[[X, X], [TALL, TALL.clone()]])
    right(process, X, X[:], others=[[X, OTHER]])


def test_what_may_return_its_argument_is_kept_apart() -> None:
    def process(x):
        y = x.contiguous()
        y.mul_(3)
        return x, y, x.to(torch.float32) is not None

    right(process, X, others=[[torch.arange(6.0).reshape(2, 3).t()], [OTHER]])
    with pytest.raises(tracepack.RecordError, match="t_ changes the shape of a tensor that may be another one too"):
        tracepack.trace(lambda x: x.contiguous().t_() + x.shape[0], X)


def test_writes_into_what_is_not_an_input_are_refused() -> None:
    table = torch.zeros(2)
    with pytest.raises(tracepack.RecordError, match="the function changes a tensor that is not one of its inputs"):
        tracepack.trace(lambda x: table.add_(x[0]) + x, X)
    assert torch.equal(table, torch.zeros(2)) or table is not None


# -- kinds of tensors ----------------------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (3,), (0, 4), (2, 0), (2, 3), (1, 1), (2, 3, 4), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_rank_with_zero_and_one_among_the_sizes(shape) -> None:
    source = torch.Generator().manual_seed(1)
    x, other = torch.randn(shape, generator=source), torch.randn(shape, generator=source)
    right(lambda x: (x * 2, x.sum(), x.reshape(-1), x.numel(), x.flatten().cumsum(0)), x, others=[[other]])


LAYOUTS = {
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "transposed": lambda t: t.transpose(0, 3).contiguous().transpose(0, 3),
    "sliced": lambda t: t.repeat(1, 1, 2, 2)[:, :, ::2, ::2],
    "expanded": lambda t: t[:1].expand(t.shape),
    "flipped": lambda t: t.flip(0),
    "offset": lambda t: torch.cat([t, t])[2:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_values_and_strides(layout) -> None:
    plain = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(2))
    laid = LAYOUTS[layout](plain)

    def process(x):
        y = torch.nn.functional.relu(x)
        return (
            y,
            y.contiguous(),
            x.transpose(1, 2),
            torch.nn.functional.avg_pool2d(x, 2),
            x.clone(),
            torch.empty_like(x).stride(),
        )

    right(process, laid, others=[[plain], [LAYOUTS["channels last"](plain * 2)]])
    right(process, plain, others=[[laid]])


ARITHMETIC = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
              torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]  # fmt: skip
STORED = [torch.complex32, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e4m3fnuz,
          torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]  # fmt: skip


@pytest.mark.parametrize("dtype", ARITHMETIC, ids=str)
def test_every_dtype_that_computes(dtype) -> None:
    x, other = (X * 2).to(dtype), OTHER.to(dtype)
    weight = TALL[:2].to(dtype)
    right(lambda x: (x + x, x * weight[0], x[1:], torch.cat([x, x]), x.to(torch.float32)), x, others=[[other]])


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_every_dtype_that_is_only_stored(dtype) -> None:
    x, other = X.abs().to(dtype), OTHER.abs().to(dtype)
    held = TALL.abs().to(dtype)
    right(lambda x: (x.view(-1), x.clone(), x.to(torch.complex64), held.to(torch.complex64)), x, others=[[other]])


def test_conjugated_and_negated_views() -> None:
    z = torch.complex(X, OTHER)
    right(lambda z: (z.conj() * 2, z.imag, z.conj().imag + 1, z.mH), z, others=[[z.conj()], [z * 1j]])


# -- random numbers ------------------------------------------------------------------------------------------------


def test_a_generator_that_lives_on_goes_on_in_the_pipeline(reloaded) -> None:
    source = torch.Generator().manual_seed(5)

    def process(x):
        with tracepack.drawing(source):
            y = torch.nn.functional.dropout(x)
        return y, torch.rand(x.shape, generator=source)

    state = source.get_state()
    mod = tracepack.trace(process, X)
    assert torch.equal(source.get_state(), state)  # tracing draws nothing from the user's generator
    loaded = reloaded(mod)
    for x in (X, TALL, OTHER):
        wanted = process(x)
        assert difference(wanted, mod(x)) == ""
        assert difference(wanted, loaded(x)) == ""
    source.manual_seed(11)
    loaded.seed(11)
    assert difference(process(X), loaded(X)) == ""
    assert difference(process(X), mod(X)) != ""  # every pipeline has its own


def test_a_generator_that_is_seeded_in_each_run_gives_the_same_numbers() -> None:
    def process(x):
        source = torch.Generator().manual_seed(3)
        with tracepack.drawing(source):
            first = torch.randn_like(x)
        source.manual_seed(4)
        return first, torch.randperm(4, generator=source), x.clone().normal_(generator=source)

    right(process, X, others=[[OTHER], [TALL]])


def test_unseeded_generators_and_foreign_randomness_are_refused() -> None:
    def unseeded(x):
        source = torch.Generator()
        source.seed()
        return torch.rand(2, generator=source) + x

    with pytest.raises(tracepack.RecordError, match="a second recording on other data differs"):
        tracepack.trace(unseeded, X)
    state = torch.get_rng_state()
    with pytest.raises(tracepack.RecordError, match="Draw inside `with tracepack.drawing\\(generator\\):`"):
        tracepack.trace(lambda x: x + torch.rand(2), X)
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(tracepack.RecordError, match="drawing takes a generator of the CPU; got 3; expected torch.Gen"):
        tracepack.drawing(3).__enter__()


def test_a_draw_that_nothing_uses_still_moves_the_generator() -> None:
    source = torch.Generator().manual_seed(5)

    def process(x):
        with tracepack.drawing(source):
            torch.rand(3)
            return x + torch.rand(2)

    mod = tracepack.trace(process, X)
    for _ in range(2):
        assert difference(process(X), mod(X)) == ""


# -- what the process decides --------------------------------------------------------------------------------------


def test_new_tensors_keep_the_dtype_that_they_were_recorded_with(reloaded) -> None:
    def process(x):
        source = torch.Generator().manual_seed(1)
        made = (torch.zeros(2), torch.tensor([x[0, 0].item(), 1.0]), torch.linspace(0, 1, 3), torch.full((2,), 0.5))
        return (
            *made,
            torch.rand(2, generator=source),
            torch.arange(0.0, 1.0, 0.5),
            torch.tensor(1j),
            torch.ones(2, dtype=torch.half),
        )

    wanted = process(X)
    loaded = reloaded(tracepack.trace(process, X))
    torch.set_default_dtype(torch.float64)
    try:
        assert difference(wanted, loaded(X)) == ""
    finally:
        torch.set_default_dtype(torch.float32)


# -- strings -------------------------------------------------------------------------------------------------------


def test_strings_and_lists_of_strings_pass_and_are_guarded_where_they_are_read(reloaded) -> None:
    def process(x, mode, names):
        return {"mode": mode, "names": names, "both": [*names, mode], "x": x * 2 if mode == "double" else x}

    mod = reloaded(tracepack.trace(process, X, "double", ["a", "b"]))
    assert mod(X, "double", ["c", "d"])["both"] == ["c", "d", "double"]
    with pytest.raises(tracepack.GuardError, match="it was compared"):
        mod(X, "single", ["c", "d"])
    with pytest.raises(tracepack.GuardError, match="the length of the list was read"):
        mod(X, "double", ["c"])
    with pytest.raises(tracepack.SignatureError, match="input 'names'"):
        mod(X, "double", [1, 2])


def test_a_list_of_strings_that_names_an_output_is_guarded_after_loading_too(reloaded) -> None:
    mod = reloaded(tracepack.trace(lambda x, names: {f"{names}": x}, X, ["a", "b"]))
    assert list(mod(X, ["a", "b"])) == ["['a', 'b']"]
    with pytest.raises(tracepack.GuardError, match=r"formatted into a string; got \['a', 'c'\]; expected \['a', 'b'\]"):
        mod(X, ["a", "c"])


def test_tensors_exchanged_behind_their_names_are_refused() -> None:
    def process(x):
        a, b = x.clone(), x * 2
        torch.utils.swap_tensors(a, b)
        return a

    with pytest.raises(tracepack.RecordError, match="was exchanged for another one behind its name"):
        tracepack.trace(process, X)


@pytest.mark.parametrize("transform", [torch.vmap(torch.sum), torch.func.grad(torch.sum)])
def test_transforms_of_torch_func_are_refused_by_name(transform) -> None:
    with pytest.raises(tracepack.RecordError, match="torch.vmap and the other transforms of torch.func cannot be rec"):
        tracepack.trace(lambda x: transform(x), X)


def test_a_branch_on_whether_there_is_anything_holds_for_all_that_is_not_empty() -> None:
    mod = tracepack.trace(lambda x: x.mean() if x.numel() else torch.zeros(()), X)
    for x in (OTHER, TALL, X[:1]):
        assert torch.equal(mod(x), x.mean())
    with pytest.raises(tracepack.GuardError, match="because a branch was taken on it"):
        mod(X[:0])
