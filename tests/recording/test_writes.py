"""Writes into the caller's tensors and arrays, and inputs that share memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.recording.cases import OTHER, TALL, X, right


def write(x):
    x[0] += 1
    x.mul_(2)
    return x.sum()


def test_writes_into_inputs_have_the_effect_that_they_have_in_python() -> None:
    right(write, X, others=[[OTHER], [TALL], [torch.ones(2, 3).t()], [torch.ones(6, 4)[::2, ::2]]])
    example = X.clone()
    tracepack.trace(write, example)
    assert torch.equal(example, X)


def test_a_writable_array_is_written_and_a_read_only_one_is_refused(reloaded) -> None:
    words = "^input 'x': the pipeline writes into this array, which is read-only. Pass a copy: " + re.escape(
        "array.copy()."
    )
    for mod in (tracepack.trace(write, X), reloaded(tracepack.trace(write, X))):
        for _ in range(2):
            array, expected = OTHER.numpy().copy(), OTHER.clone()
            assert mod.run({"x": array}) == write(expected)
            assert (array == expected.numpy()).all()
            frozen = np.frombuffer(OTHER.numpy().tobytes(), dtype=np.float32).reshape(OTHER.shape)
            with pytest.raises(tracepack.SignatureError, match=words):
                mod.run({"x": frozen})
            assert (frozen == OTHER.numpy()).all()


def written_and_read(a, b):
    a += 1
    return b * 2


READ_ONLY = {
    "a view": lambda x: x.view(),
    "a window": lambda x: np.lib.stride_tricks.sliding_window_view(x, 1)[:, 0],
    "one element": lambda x: np.broadcast_to(x[1:2], (4,)),
    "other memory": np.copy,
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_read_only_array_sees_what_is_written_into_its_memory(name, reloaded) -> None:
    mod = reloaded(tracepack.trace(written_and_read, np.arange(3.0), np.arange(3.0)))
    for _ in range(2):
        found = []
        for function in (written_and_read, mod):
            x = np.arange(4.0)
            b = READ_ONLY[name](x)
            b.flags.writeable = False
            found.append((function(x, b).tolist(), x.tolist()))
        assert found[0] == found[1]


def test_an_array_with_negative_strides_beside_one_that_is_written_is_refused(reloaded) -> None:
    mod, x = reloaded(tracepack.trace(written_and_read, np.arange(3.0), np.arange(3.0))), np.arange(4.0)
    words = "^input 'b': the pipeline writes into its inputs, and this array has negative strides. Pass a copy: "
    with pytest.raises(tracepack.SignatureError, match=words):
        mod(x, x[::-1])
    assert x.tolist() == [0, 1, 2, 3]


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
    with pytest.raises(
        tracepack.RecordError, match="t_ changes the shape of a tensor that may be the same object as another one"
    ):
        tracepack.trace(lambda x: x.contiguous().t_() + x.shape[0], X)


@pytest.mark.parametrize("name", ["t_", "squeeze_", "unsqueeze_", "transpose_", "swapaxes_"])
def test_an_input_is_not_reshaped_in_place(name):
    arguments = {"unsqueeze_": (0,), "transpose_": (0, 1), "swapaxes_": (0, 1)}.get(name, ())

    def process(x, y):
        getattr(x, name)(*arguments)
        return y * 2

    with pytest.raises(
        tracepack.RecordError,
        match=rf"getattr\(x, name\).*torch.Tensor.{name} changes the shape of an input, which stays as it is for the "
        "caller of a pipeline. Use the form that returns a new view",
    ):
        tracepack.trace(process, torch.rand(3, 3), torch.rand(2))


def test_a_tensor_of_its_own_is_reshaped_in_place():
    def process(x):
        y = x * 2
        y.squeeze_()
        return y.unsqueeze_(0)

    right(process, X, others=[[torch.rand(1, 3)], [torch.rand(1, 1)]])


def test_writes_into_what_is_not_an_input_are_refused() -> None:
    table = torch.zeros(2)
    with pytest.raises(tracepack.RecordError, match="the function changes a tensor that is not one of its inputs"):
        tracepack.trace(lambda x: table.add_(x[0]) + x, X)
    assert torch.equal(table, torch.zeros(2)) or table is not None


def _marked(x):
    made = torch.zeros_like(x)
    made[0] = x.sum()
    return made


@pytest.mark.parametrize(
    "process",
    [_marked, lambda x: x.sort().values.mul_(2), lambda x: torch.nn.functional.normalize(x, dim=0)],
    ids=["new", "sorted", "normalized"],
)
def test_a_write_to_what_was_made_of_an_input_is_none_to_the_input(process) -> None:
    assert "written" not in tracepack.trace(process, torch.rand(3)).signature
    frozen = np.array([3.0, 4.0], np.float32)
    frozen.flags.writeable = False  # a run that may write refuses it
    assert torch.equal(tracepack.trace(process, torch.rand(3))(frozen), process(torch.tensor([3.0, 4.0])))


def test_a_normalized_tensor_that_is_put_into_an_input_is_a_write() -> None:
    def process(x, out):
        torch.nn.functional.normalize(x, dim=0, out=out)
        return out * 2

    mod = tracepack.trace(process, torch.rand(3), torch.rand(3))
    assert mod.signature.startswith("(x: f32[N], out: f32[M] (written))")


def by_list(x: Any, index: Any) -> Any:
    y = x[[0, 1]]
    y += 1
    return y


def by_copy(x: Any, index: Any) -> Any:
    y = torch.empty_like(x)
    y.copy_(x)
    y[0] = 1
    return y


def by_sum(x: Any, index: Any) -> Any:
    y = torch.zeros(3, 3)
    y += x
    y[0] = 1
    return y


def by_row(x: Any, index: Any) -> Any:
    y = x[index[0]]
    y += 1
    return y


OF_COPIES = {
    "a list": (by_list, False),
    "copy_": (by_copy, False),
    "+=": (by_sum, False),
    "a mask": (lambda x, index: x[x > 0.5].add_(1), False),
    "a tensor": (lambda x, index: x[1:, index].add_(1), False),
    "to": (lambda x, index: x.to(torch.float32, copy=True).add_(1), False),
    "to by place": (lambda x, index: x.to(torch.float32, False, True).add_(1), False),
    "an array": (lambda x, index: torch.from_numpy(x.numpy()[index.numpy()]).add_(1), False),
    "no copy": (lambda x, index: x.to(torch.float32, copy=False).add_(1), True),
    "a number": (lambda x, index: x[1].add_(1), True),
    "a number of a tensor": (by_row, True),
    "an array without rank": (lambda x, index: x[index.numpy().sum()].add_(1), True),
    "another axis": (lambda x, index: x[None, :, 1].add_(1), True),
    "itself": (lambda x, index: x.add_(1)[1].mul_(2), True),
}


@pytest.mark.parametrize("name", OF_COPIES)
def test_a_copy_that_is_written_is_no_argument(name: str) -> None:
    function, writes = OF_COPIES[name]
    x, index = torch.rand(3, 3), torch.tensor([1])
    mod = tracepack.trace(function, x.clone(), index)
    assert ("(written)" in mod.signature) == writes
    mine, its = x.clone(), x.clone()
    assert function(mine, index).equal(mod(its, index))
    assert mine.equal(its)
    assert mine.equal(x) != writes
