"""numpy in a processing function: recorded as numpy itself, so that every bit agrees, or refused by name."""

from __future__ import annotations

import copy
import io
import math
import random
import sys
import threading

import numpy as np
import pytest
import torch
from numpy import asarray as as_array

import tracepack
from tests.campaigns.check import Check, difference
from tests.campaigns.tally import RIGHT
from tracepack.pipeline.running.runner import _may_write
from tracepack.pipeline.running.shared_memory import refuse_lost_writes

pytestmark = pytest.mark.filterwarnings("ignore:__array(_wrap__)?.* must (accept|implement).*:DeprecationWarning")

X = torch.arange(6.0).reshape(3, 2) + 0.5
OTHER = torch.tensor([[4.0, -1.0], [0.25, 3.0], [2.0, 8.0]])
TALL = torch.linspace(-2, 3, 10).reshape(5, 2)
MEAN = np.array([0.5, 0.25], dtype=np.float32)
TABLE = torch.tensor([[1.0, 2.0], [3.0, -4.0]])


def right(process, *example, others=()):
    """Traced, saved and loaded, it answers as Python does on the example and on every other input."""
    found = Check(process, example).run(others)
    assert (found.outcome, found.reason) == (RIGHT, "")


def normalized(x):
    a = x.numpy().astype(np.float32)
    a = (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-6)
    return torch.from_numpy(np.clip(a, -1, 1))


def written(x):
    a = x.numpy().copy()
    a[0] = 7
    a[a > 3] -= 1
    a += MEAN
    a *= 2
    a[:, 1] = a[:, 0]
    a.sort(axis=0)
    return a


def shared(x):
    a = x.numpy()
    a[0] = 5
    t = torch.from_numpy(a)
    t[-1] += 2
    a += 1
    return x * 1, t, a.sum()


# name -> a function of one float32 tensor of two dimensions that holds for every number of rows
FREE = {
    "float of numpy's number": lambda x: x * float(np.sqrt(x.shape[0])),
    "math of numpy's number": lambda x: x * math.log(np.sqrt(x.shape[0])),
    "len of an array": lambda x: x * len(x.numpy()),
    "functions of a tensor": lambda x: (
        np.exp(x),
        np.maximum(x, 0),
        np.sqrt(np.abs(x)),
        np.add(x, x),
        np.greater(x, 0),
    ),
    "keywords of a function of a tensor": lambda x: np.add(x, x, dtype=np.float64),
    "folds of a tensor": lambda x: (np.add.reduce(x), np.maximum.accumulate(x, 1), np.multiply.outer(x, MEAN)),
    "two results of a tensor": lambda x: np.modf(x),
    "array functions of a tensor": lambda x: (np.concatenate([x, x]), np.stack([x, x]), np.where(x > 0, x, 0)),
    "methods behind functions": lambda x: (np.argmax(x), np.clip(x, 0, 1), np.reshape(x, (-1,)), np.transpose(x)),
    "numbers first": lambda x: (np.float64(2) * x, np.float32(2) - x, np.int64(2) * x, np.float64(2) > x, 3 * x),
    "tensor and array": lambda x: (x + MEAN, x * x.numpy(), x - np.float64(2)),
    "asarray": lambda x: (np.asarray(x), np.asarray(x, dtype=np.float64), np.array(x), np.array([x, x])),
    "products": lambda x: (
        x.numpy() @ x.numpy().T,
        np.dot(x.numpy(), MEAN),
        np.einsum("ij,ij->i", x.numpy(), x.numpy()),
    ),
    "shapes": lambda x: (
        x.numpy().reshape(-1),
        x.numpy().T,
        x.numpy()[None],
        np.expand_dims(x.numpy(), 0),
        x.numpy().ravel(),
    ),
    "sorting": lambda x: (
        np.sort(x.numpy(), axis=0),
        x.numpy().argsort(0),
        np.unique(x.numpy()),
        np.argmax(x.numpy(), 1),
    ),
    "kinds of an array": lambda x: {str(x.numpy().dtype): x, "f": isinstance(x.numpy(), np.ndarray)},
    "item of an array": lambda x: x * x.numpy()[0, 1].item() + x.numpy().item(0),
    "number of an array": lambda x: (x * x.numpy().max(), x.numpy() - x.numpy().min(), x.numpy().max() + 1),
    "math of a size": lambda x: (
        np.sqrt(x.shape[0]),
        np.log(x.shape[0]) * 2,
        x / np.sqrt(x.shape[1]),
        np.ceil(x.shape[0] / 2),
    ),
    "type of a size's number": lambda x: (np.sqrt(x.shape[0]).dtype == np.float64, np.sqrt(x.shape[0]) * x),
    "sizes with numpy's numbers": lambda x: (
        x.shape[0] * np.float32(2),
        np.int64(3) + x.shape[0],
        np.float64(2) ** x.shape[0],
    ),
    "array of sizes": lambda x: (np.array([x.shape[0], x.shape[1]]), np.arange(x.shape[0]), MEAN * x.shape[0]),
    "filled by size": lambda x: (
        np.zeros((x.shape[0], 2)),
        np.ones(x.shape[0]) * 2,
        np.full(x.shape[0], 3.0),
        np.zeros_like(x.numpy()),
    ),
    "range as index": lambda x: x[torch.from_numpy(np.arange(x.shape[0]))],
    "array as index": lambda x: x[x.numpy()[:, 0].argsort()],
    "constants returned": lambda x: {"mean": MEAN, "one": np.float32(1), "x": x, "n": np.int64(2)},
    "bool and complex": lambda x: (
        np.logical_and(x.numpy() > 0, x.numpy() < 3).any(),
        np.fft.fft(x.numpy()).real,
        1j * x.numpy(),
    ),
    "half": lambda x: x.half().numpy() * 3,
    "print": lambda x: print(x.numpy(), x.numpy().shape, x.numpy().max()) or x,
    "normalized": normalized,
    "written": written,
    "shared": shared,
    "tensor of a number": lambda x: torch.tensor(np.float64(2)) * x.double() + torch.tensor(np.float32(3)),
    "norm": lambda x: (
        np.linalg.norm(x.numpy()),
        np.linalg.norm(x.numpy(), axis=1),
        np.linalg.svd(x.numpy())[1].shape[0],
    ),
    "method of a number": lambda x: (
        x.numpy().sum().astype(np.float64),
        round(x.numpy().max(), 1),
        abs(x.numpy().min()),
    ),
}

# name -> a function of the array of such a tensor
ARRAYS = {
    "to numpy and back": lambda a: torch.from_numpy(a * 2),
    "as a tensor": lambda a: (torch.as_tensor(np.exp(a)), torch.tensor(a), torch.asarray(a)),
    "arithmetic": lambda a: (a * 2 - 1) / 3 // 0.5 % 2 + a**2 - (-a),
    "promotion": lambda a: (a + 1, a + np.float64(1), a * np.arange(2), 1 - a),
    "comparisons": lambda a: (a > 0.5, a == a.max(), ~(a <= 1), a != 1),
    "elementwise": lambda a: [f(a) for f in (np.sin, np.tanh, np.exp2, np.floor, np.rint, np.sign, np.isnan)],
    "sums and means": lambda a: (a.sum(), a.mean(0), np.var(a, axis=1), np.median(a)),
    "pieces": lambda a: (a[1:], a[:, ::-1], a[..., 0], a[-1, 0], a[[0, -1]]),
    "masks": lambda a: (a[a > 1], np.nonzero(a > 1), np.where(a > 1, a, -1.0)),
    "a mask's rows": lambda a: torch.from_numpy(a[a[:, 0] > 1]) * 2,
    "integers": lambda a: (a.astype(np.int32).sum(), a.astype("int64") // 2, a.astype(int) & 1),
    "sizes of an array": lambda a: (a.shape[0] * 2, a.size, a.ndim, np.shape(a)[1]),
    "captured": lambda a: (a - MEAN, np.dot(a, TABLE.numpy())),
    "copies": lambda a: (copy.deepcopy(a), a.copy(), copy.copy(a)),
    "split": lambda a: (np.split(a, 2, axis=1), np.hstack([a, a]), np.tile(a, 2)),
    "divmod": lambda a: divmod(a, 2),
    "out": lambda a: np.multiply(a, 2, out=np.empty_like(a) if False else a.copy()),
    "squeezed": lambda a: np.squeeze(a[:, :1]).sum(),
    "flags": lambda a: a.astype(np.uint8) | np.uint8(1),
}


if sys.version_info < (3, 11):  # Python does not say there which names are called
    for _name in ("len of an array", "float of numpy's number", "math of numpy's number"):
        del FREE[_name]


def of_array(function):
    """The function of a tensor that calls one of its array."""
    return lambda x: function(x.numpy())


FREE |= {name: of_array(ARRAYS[name]) for name in ARRAYS}


@pytest.mark.parametrize("name", FREE)
def test_recorded_for_all_sizes_and_data(name) -> None:
    process = FREE[name]
    right(process, X, others=[[OTHER], [TALL], [X[:1]], [X.t().contiguous().t()]])
    loaded = tracepack.trace(process, X)
    mine, theirs = TALL.clone(), TALL.clone()
    assert difference(process(mine), loaded(theirs)) == ""
    assert torch.equal(mine, theirs)


GUARDED = {
    "loop over rows": lambda x: sum(row.sum() for row in x.numpy()) * x,
    "branch on numpy's number": lambda x: x + 1 if np.sqrt(x.shape[0]) < 2 else x - 1,
    "rank after squeeze": lambda x: np.squeeze(x.numpy()[:1] if x.shape[0] > 4 else x.numpy()[:2]).ndim * x,
    "a type that is called": lambda x: x * np.float32(x.shape[0]),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guarded_where_a_size_leaves_the_graph(name) -> None:
    right(GUARDED[name], X, others=[[OTHER], [TALL]])
    with pytest.raises((tracepack.GuardError, tracepack.SignatureError)):
        tracepack.trace(GUARDED[name], X)(TALL)


BUFFER = np.zeros(2, dtype=np.float32)
DATA = "a value that data decides cannot leave the graph: "


def into_buffer(x):
    np.add(x.numpy()[0], 1, out=BUFFER)
    return torch.from_numpy(BUFFER)


def added_to_buffer(x):
    buffer = np.zeros(2, dtype=np.float32)
    buffer += x.numpy()[0]
    return torch.from_numpy(buffer)


def put_into_buffer(x):
    buffer = np.zeros(2, dtype=np.float32)
    buffer[0] = x.numpy()[0, 0]
    return torch.from_numpy(buffer)


def copied_to_buffer(x):
    buffer = np.zeros(2, dtype=np.float32)
    np.copyto(buffer, x.numpy()[0])
    return torch.from_numpy(buffer)


def into_captured(x):
    table = TABLE.numpy()
    table += x.numpy()[:2]
    return x + 1


def branch_that_writes(x):
    a = x.numpy()

    def on_true(y):
        a[0] = 1
        return y

    return tracepack.cond(x.sum() > 0, on_true, lambda y: y * 2, x)


REFUSED = {
    "asarray by another name": (lambda x: as_array(x), "a tensor is read as an array in a way that cannot be recorded"),
    "read by other code": (lambda x: np.vectorize(abs)(x.numpy()), DATA + "it was read as a plain array"),
    "branch": (lambda x: x if (x.numpy() > 0).all() else -x, DATA + "a branch was taken on it"),
    "float": (lambda x: x * complex(x.numpy().sum()), DATA + "it was taken as a plain complex number"),
    "tolist": (lambda x: torch.tensor(x.numpy().tolist()), "numpy.ndarray.tolist cannot be recorded"),
    "random": (
        lambda x: torch.from_numpy(np.random.permutation(x.numpy())),
        "what works on plain numbers failed on one",
    ),
    "an unknown function": (
        lambda x: np.apply_along_axis(len, 0, x.numpy()),
        "numpy.apply_along_axis cannot be recorded",
    ),
    "an unknown function of a tensor": (
        lambda x: np.apply_along_axis(len, 0, x),
        "numpy.apply_along_axis cannot be recorded",
    ),
    "an attribute": (lambda x: x.numpy().ctypes, "numpy.ndarray.ctypes cannot be recorded"),
    "a method": (lambda x: x.numpy().tofile("file"), "numpy.ndarray.tofile cannot be recorded"),
    "at": (lambda x: np.add.at(x.numpy(), 0, 1), "numpy.add.at cannot be recorded"),
    "text": (lambda x: {str(x.numpy()): x}, DATA + "it was turned into text"),
    "in": (lambda x: x if 0.5 in x.numpy() else -x, DATA + "a branch was taken on it"),
    "an object array": (lambda x: x.numpy().astype(object), "has an argument that cannot be recorded"),
    "memory": (lambda x: bytes(memoryview(x.numpy())) and x, "what works on plain numbers failed on one"),
    "compared with a tensor": (lambda x: x.numpy() < x, "an array is compared with a tensor"),
    "an array from outside written": (into_buffer, "an array from outside takes a result"),
    "an array from inside written": (added_to_buffer, "an array from outside takes a result"),
    "an element written": (put_into_buffer, DATA),
    "copied": (copied_to_buffer, "numpy.copyto cannot be recorded"),
    "a branch that writes": (branch_that_writes, "a branch writes to a numpy array"),
    "a function of a number and a tensor": (
        lambda x: np.multiply(np.float64(2), x),
        "numpy.multiply of a number of numpy's and a tensor",
    ),
    "a dtype that torch lacks": (lambda x: x.numpy().astype(np.longdouble), "has an argument that cannot be recorded"),
    "loop over a mask's rows": (lambda x: list(x.numpy()[x.numpy()[:, 0] > 1]), DATA + "len() read"),
    "a captured tensor written": (
        lambda x: x + TABLE.numpy().__iadd__(x.numpy()[:2]).sum(),
        "the function changes a tensor that is not one of its inputs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_the_reason(name) -> None:
    process, words = REFUSED[name]
    before = TABLE.clone(), BUFFER.copy()
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, X)
    assert torch.equal(TABLE, before[0])
    assert np.array_equal(BUFFER, before[1])
    assert words in str(caught.value)
    assert "test_numpy.py:" in str(caught.value)


def test_numpy_is_as_it_was_after_a_trace() -> None:
    plain = [np.asarray, np.array, np.arange, torch.from_numpy]
    tracepack.trace(lambda x: torch.from_numpy(x.numpy()), X)
    with pytest.raises(ZeroDivisionError):
        tracepack.trace(lambda x: 1 // 0, X)
    assert plain == [np.asarray, np.array, np.arange, torch.from_numpy]
    assert not hasattr(torch.Tensor, "__array_ufunc__")
    assert not hasattr(torch.Tensor, "__array_function__")


# What numpy makes of tensors, in a thread that records nothing while another one does.
ELSEWHERE = {
    **{name: FREE[name] for name in FREE if name not in ("print", "shared")},
    "in place": lambda x: np.add(x.numpy(), 1, out=x.numpy()),
}


def test_other_threads_see_numpy_as_it_is_while_one_records() -> None:
    started, done = threading.Event(), threading.Event()

    def process(x):
        started.set()
        done.wait(60)
        return x

    recording = threading.Thread(target=lambda: tracepack.trace(process, X))
    wanted = {name: function(X.clone()) for name, function in ELSEWHERE.items()}
    recording.start()
    try:
        assert started.wait(60)
        assert hasattr(torch.Tensor, "__array_ufunc__")
        for name, function in ELSEWHERE.items():
            assert difference(wanted[name], function(X.clone())) == "", name
    finally:
        done.set()
        recording.join()


def test_arrays_in_branches() -> None:
    def process(x):
        a = np.exp(x.numpy())
        scale = np.sqrt(x.shape[0])
        return tracepack.cond(
            x.sum() > 0, lambda y: torch.from_numpy(np.log(a) * 2) + y / scale, lambda y: y - torch.from_numpy(a), x
        )

    right(process, X, others=[[-X], [TALL], [-TALL]])


def test_golden_examples_of_arrays(tmp_path) -> None:
    mod = tracepack.trace(lambda x: {"a": x.numpy() * 2, "n": x.numpy().sum()}, X)
    mod.save(tmp_path / "a.tpk", examples=[{"x": X}])
    loaded = tracepack.load(tmp_path / "a.tpk", verify="golden")
    assert difference(mod(X), loaded(X)) == ""


def test_a_read_only_array_is_not_written(reloaded) -> None:
    def process(x):
        a = x.numpy()
        a += 1
        return a * 1

    frozen = np.ones(3, dtype=np.float32)
    frozen.flags.writeable = False
    for mod in (tracepack.trace(process, torch.ones(3)), reloaded(tracepack.trace(process, torch.ones(3)))):
        assert (mod(frozen) == 2).all()
        assert (frozen == 1).all()


def test_writes_that_an_accelerator_would_lose_are_refused_there() -> None:
    def fresh(x):
        a = x.numpy() * 2
        a -= MEAN
        b = x.numpy().copy()
        b[0] = 1
        return a, b, x * 1

    def in_a_view(x):
        a = x.numpy()[1:]
        a *= 2
        return x * 1

    refuse_lost_writes(tracepack.trace(fresh, X).graph, _may_write)
    refuse_lost_writes(tracepack.trace(lambda x: x.mul_(2), X).graph, _may_write)
    for process in (shared, in_a_view, lambda x: (np.exp(x.numpy()), x.add_(1))):
        with pytest.raises(tracepack.PlacementError, match="numpy shares memory with tensors on the CPU only.*copy()"):
            refuse_lost_writes(tracepack.trace(process, X).graph, _may_write)


# -- random programs -----------------------------------------------------------------------------------------------

STEPS = [
    lambda a, b: a + b,
    lambda a, b: a * np.float32(1.5) - b[:1],
    lambda a, b: np.maximum(a, b) / 3,
    lambda a, b: np.where(a > b, a, -b),
    lambda a, b: np.exp(-np.abs(a)),
    lambda a, b: a - a.mean(axis=0),
    lambda a, b: np.cumsum(a, axis=1)[::-1],
    lambda a, b: (a > 0).astype(np.float32) * b,
    lambda a, b: a.astype(np.float64) ** 2,
    lambda a, b: np.sort(a, axis=0),
    lambda a, b: np.clip(a, b.min(), b.max()),
    lambda a, b: a * a.shape[0] + np.sqrt(a.shape[1]),
    lambda a, b: np.concatenate([a, b], axis=1)[:, : a.shape[1]],
    lambda a, b: np.stack([a, b]).sum(0),
    lambda a, b: torch.from_numpy(np.abs(a)).log1p().numpy() + len(b),
    lambda a, b: (torch.from_numpy(a.copy()) * 2).softmax(-1).numpy(),
    lambda a, b: np.take_along_axis(a, a.argsort(axis=1), axis=1),
    lambda a, b: a.reshape(-1).reshape(a.shape) % 2,
    lambda a, b: np.array([a, b])[1] - a[0, 0].item(),
    lambda a, b: np.outer(a[:, 0], b[0]) + a.shape[0],
]


def scale(a, b):
    a *= 0.5
    return a


def put(a, b):
    a[0] = b[-1]
    return b


def mask(a, b):
    a[a > 1] -= 1
    return a


def flip(a, b):
    view = a[:, ::-1]
    view += b
    return b * 2


def through_torch(a, b):
    torch.from_numpy(np.ascontiguousarray(a)).mul_(0.5).add_(1)
    return b + a


WRITES = [scale, put, mask, flip, through_torch]


def program(seed):
    """A function that applies random steps to an array of a tensor; some write into it."""
    chosen = random.Random(seed)
    steps = [(chosen.choice(STEPS + WRITES), chosen.randrange(4), chosen.randrange(4)) for _ in range(8)]

    def process(x):
        arrays = [x.numpy(), x.numpy().copy(), (x * 2).numpy(), np.asarray(x + 1)]
        for index, (step, first, second) in enumerate(steps):
            found = step(arrays[first], arrays[second])
            arrays[index % 4] = found.astype(np.float32) if found.dtype != np.float32 else found
        return x * 1, arrays

    return process


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed) -> None:
    right(program(seed), X, others=[[OTHER], [TALL], [X.t().contiguous().t()]])


IMAGES = [np.random.default_rng(n).integers(0, 255, (4 + n, 5, 3), np.uint8) for n in range(3)]
TAKES_AN_ARRAY = {
    "methods of arrays": lambda x: float(x.std()) + len(x.nonzero()),
    "an image": lambda x: torch.from_numpy((x.astype(np.float32) / 255).transpose(2, 0, 1)[None].copy()),
    "negative steps": lambda x: x[::-1].copy(),
    "what it is": lambda x: x * (3 if isinstance(x, np.ndarray) and x.dtype == np.uint8 else 2),
    "repeat": lambda x: x.repeat(2),
}


@pytest.mark.parametrize("name", TAKES_AN_ARRAY)
def test_an_argument_that_was_an_array_is_one_in_the_function(name):
    process, file = TAKES_AN_ARRAY[name], io.BytesIO()
    tracepack.trace(process, IMAGES[0]).save(file)
    loaded = tracepack.load(file.getvalue())
    for image in IMAGES:
        wanted = process(image.copy())
        for given in (image, torch.from_numpy(image)):
            found = loaded.run({"x": given})
            assert type(found) is type(wanted)
            assert np.array_equal(found, wanted)


def test_an_op_takes_arrays_for_tensors():
    op, rows = tracepack.script(torch.nn.Linear(2, 3), name="layer"), np.ones((4, 2), np.float32)
    mod = tracepack.trace(lambda x: op(x), rows)
    wanted = op(torch.from_numpy(rows))
    assert torch.equal(op(rows), wanted)
    assert torch.equal(mod.run({"x": rows}), wanted)
