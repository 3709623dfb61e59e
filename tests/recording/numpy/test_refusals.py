"""What cannot be recorded of numpy is refused with the user's line and the reason."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from numpy import asarray as as_array

import tracepack
from tests.recording.numpy.cases import MEAN, TABLE, X, shared
from tracepack.pipeline.running.runner import may_write
from tracepack.pipeline.running.shared_memory import refuse_lost_writes

pytestmark = pytest.mark.filterwarnings("ignore:__array(_wrap__)?.* must (accept|implement).*:DeprecationWarning")

BUFFER = np.zeros(2, dtype=np.float32)
OWN = torch.arange(6.0).reshape(2, 3)  # memory of torch's own, unlike that of TABLE
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


def view_written(x):
    view = OWN[..., :2]
    array = view.numpy()
    array *= 2
    return view + x.sum()


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
    "branch": (lambda x: x if (x.numpy() > 0).all() else x.sum(), DATA + "a branch was taken on it"),
    "float": (lambda x: x * complex(x.numpy().sum()), DATA + "it was taken as a plain complex number"),
    "random": (
        lambda x: torch.from_numpy(np.random.permutation(x.numpy())),
        "numpy draws random numbers, as many as a size or a number of the run says",
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
    "memory": (lambda x: bytes(memoryview(x.numpy())) and x, "code that takes plain numbers failed on a number"),
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
    "length of a mask's rows": (lambda x: operator.length_hint(x.numpy()[x.numpy()[:, 0] > 1]), DATA + "len() read"),
    "a captured tensor written": (
        lambda x: x + TABLE.numpy().__iadd__(x.numpy()[:2]).sum(),
        "the function changes a tensor that is not one of its inputs",
    ),
    "a view of a captured tensor written": (
        view_written,
        "the function changes a tensor that is not one of its inputs",
    ),
}


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_the_reason(name) -> None:
    process, words = REFUSED[name]
    before = TABLE.clone(), BUFFER.copy(), OWN.clone()
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, X)
    assert torch.equal(TABLE, before[0])
    assert np.array_equal(BUFFER, before[1])
    assert torch.equal(OWN, before[2])
    assert words in str(caught.value)
    assert "test_refusals.py:" in str(caught.value)


@pytest.mark.parametrize("process", [added_to_buffer, put_into_buffer])
def test_an_array_that_the_function_makes_and_fills_is_filled_in_a_block(process) -> None:
    mod = tracepack.trace(process, X)
    for x in (X, X[:1] * -3, torch.full((5, X.shape[1]), float("nan"))):
        assert torch.equal(mod(x).nan_to_num(7), process(x).nan_to_num(7))


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

    refuse_lost_writes(tracepack.trace(fresh, X).graph, may_write)
    refuse_lost_writes(tracepack.trace(lambda x: x.mul_(2), X).graph, may_write)
    for process in (shared, in_a_view, lambda x: (np.exp(x.numpy()), x.add_(1))):
        with pytest.raises(tracepack.PlacementError, match="numpy shares memory with tensors on the CPU only.*copy()"):
            refuse_lost_writes(tracepack.trace(process, X).graph, may_write)


def test_a_choice_of_texts_is_refused_with_its_line_and_what_to_write():
    words = r"(?s)test_refusals.py:.*numpy was given a text; got 'yes'.*Make texts in a list"
    with pytest.raises(tracepack.TracepackError, match=words):
        tracepack.trace(lambda x: np.where(x.numpy() > 0, "yes", "no").tolist(), torch.rand(3))
