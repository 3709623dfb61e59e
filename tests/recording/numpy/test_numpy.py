"""numpy in a processing function: recorded as numpy itself, so that every bit agrees, or refused by name."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.recording.numpy.cases import FREE, MEAN, OTHER, TABLE, TALL, X, right

pytestmark = pytest.mark.filterwarnings("ignore:__array(_wrap__)?.* must (accept|implement).*:DeprecationWarning")

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


def of_array(function):
    """The function of a tensor that calls one of its array."""
    return lambda x: function(x.numpy())


FREE |= {name: of_array(ARRAYS[name]) for name in ARRAYS}
FREE["a type that is called"] = lambda x: x * np.float32(x.shape[0])


@pytest.mark.parametrize("name", FREE)
def test_recorded_for_all_sizes_and_data(name) -> None:
    process = FREE[name]
    right(process, X, others=[[OTHER], [TALL], [X[:1]], [X.t().contiguous().t()]])
    loaded = tracepack.trace(process, X)
    mine, theirs = TALL.clone(), TALL.clone()
    assert difference(process(mine), loaded(theirs)) == ""
    assert torch.equal(mine, theirs)


GUARDED = {
    "a length that is asked plainly": lambda x: x.numpy().__len__() * x,
    "branch on numpy's number": lambda x: x + 1 if np.sqrt(x.shape[0]) < 2 else x.sum(),
    "rank after squeeze": lambda x: np.squeeze(x.numpy()[:1] if x.shape[0] > 4 else x.numpy()[:2]).ndim * x,
}


@pytest.mark.parametrize("name", GUARDED)
def test_guarded_where_a_size_leaves_the_graph(name) -> None:
    right(GUARDED[name], X, others=[[OTHER], [TALL]])
    with pytest.raises((tracepack.GuardError, tracepack.SignatureError)):
        tracepack.trace(GUARDED[name], X)(TALL)


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
