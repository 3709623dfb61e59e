"""Sizes stay free where a model turns them into plain integers, carries them through tensors, or keeps them."""

import gc

import pytest
import torch
from torch import nn

import tracepack


class AsksForInts(nn.Module):
    """Pads to a multiple of four, as ports of other frameworks' models do: with int() around a size."""

    def forward(self, x):
        width = int(x.shape[-1])
        missing = -width % 4
        return nn.functional.pad(x, (0, int(missing))).unflatten(-1, (-1, 4)).sum(-1)


class GoesOverChunks(nn.Module):
    """Chunks of four with a rest; `range` over the size."""

    def forward(self, x):
        assert isinstance(4, int)
        assert not isinstance(4.0, int)
        assert list(range(3)) == [0, 1, 2]
        return torch.stack([x[:, start : start + 4].mean(1) for start in range(0, x.shape[1], 4)], 1)


def test_int_of_a_size_does_not_fix_it(reloaded):
    pipeline = tracepack.trace(tracepack.script(AsksForInts()), torch.rand(2, 7))
    for mod in (pipeline, reloaded(pipeline)):
        for width in (5, 7, 10, 13):
            x = torch.rand(3, width)
            padded = torch.cat([x, torch.zeros(3, -width % 4)], 1)
            assert torch.equal(mod(x), padded.reshape(3, -1, 4).sum(-1))


def test_range_over_a_size_fixes_the_number_of_steps_only(reloaded):
    op = tracepack.script(GoesOverChunks())
    pipeline = tracepack.trace(lambda x: op(x), torch.rand(2, 7))
    for length in (6, 7):
        x = torch.rand(3, length)
        assert torch.allclose(reloaded(pipeline)(x), torch.stack([x[:, :4].mean(1), x[:, 4:].mean(1)], 1))
    with pytest.raises(
        tracepack.SignatureError, match=r"the sizes do not satisfy M <= 8; got M = 9 \(dimension 1 of 'x'\)"
    ):
        pipeline(torch.rand(3, 9))


def test_the_users_names_are_his_again():
    tracepack.trace(tracepack.script(GoesOverChunks()), torch.rand(2, 7))
    assert "int" not in globals()
    assert "range" not in globals()


class CountsWithTensors(nn.Module):
    """Works out a padding with tensors of no dimension and a buffer, and branches on it."""

    def __init__(self):
        super().__init__()
        self.stride = nn.Buffer(torch.tensor(4), persistent=False)

    def forward(self, x):
        frames = torch.ceil(x.shape[-1] / self.stride).to(torch.int64)
        missing = frames * self.stride - x.shape[-1]
        if x.shape[-1] <= missing:
            x = torch.cat([x, x], -1)
        return nn.functional.pad(x, (0, missing))


def test_sizes_are_followed_through_tensors(reloaded):
    pipeline = tracepack.trace(tracepack.script(CountsWithTensors()), torch.rand(2, 7))
    for mod in (pipeline, reloaded(pipeline)):
        for width in (4, 7, 10, 13):
            x = torch.rand(3, width)
            assert torch.equal(mod(x), torch.cat([x, torch.zeros(3, -width % 4)], 1))


def test_a_number_that_is_not_what_the_sizes_said_stops_the_run():
    model = CountsWithTensors()
    pipeline = tracepack.trace(tracepack.script(model), torch.rand(2, 7))
    model.stride.fill_(5)  # weights are those of the process until they are saved
    with pytest.raises(
        tracepack.GuardError, match="a number that the model reads off a tensor is not what its sizes said"
    ):
        pipeline(torch.rand(2, 7))


class KeepsAPosition(nn.Module):
    """A stream that knows how far it is: a number in a buffer that no size decides."""

    def __init__(self):
        super().__init__()
        self.position = nn.Buffer(torch.tensor(0))

    def forward(self, x):
        if self.position + x.shape[0] > 5:
            x = -x
        self.position += x.shape[0]
        return x


def test_a_branch_on_state_is_not_taken_for_a_branch_on_sizes():
    with pytest.raises(tracepack.LoweringError, match="in forward: if self.position .*data decides which branch"):
        tracepack.trace(tracepack.script(KeepsAPosition()), torch.rand(3, 2))


class TakesANumber(nn.Module):
    """A size is one of its arguments; below four it does something else."""

    def forward(self, x, count):
        rows = torch.arange(count).to(x.dtype)
        return rows[:, None] * x[0] if count >= 4 else rows[:, None] - x[0]


def test_a_size_that_a_model_is_given_stays_free(reloaded):
    op = tracepack.script(TakesANumber())
    pipeline = tracepack.trace(lambda x, y: op(x, y.shape[0] - 2), torch.rand(2, 3), torch.rand(9, 1))
    for mod in (pipeline, reloaded(pipeline)):
        for length in (6, 8, 20):
            x, y = torch.rand(2, 3), torch.rand(length, 1)
            assert torch.equal(mod(x, y), torch.arange(length - 2.0)[:, None] * x[0])
        with pytest.raises(
            tracepack.SignatureError, match="op 'TakesANumber': the sizes do not satisfy count >= 4; got count = 3"
        ):
            mod(torch.rand(2, 3), torch.rand(5, 1))


def test_a_number_that_data_decides_is_checked_on_each_run(reloaded):
    op = tracepack.script(TakesANumber())
    pipeline = reloaded(tracepack.trace(lambda x, n: op(x, n.sum().item()), torch.rand(2, 3), torch.tensor([3, 4])))
    x = torch.rand(2, 3)
    for numbers in ([2, 2], [5, 4]):
        assert torch.equal(pipeline(x, torch.tensor(numbers)), torch.arange(float(sum(numbers)))[:, None] * x[0])
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy count >= 4; got count = 3"):
        pipeline(x, torch.tensor([1, 2]))


def test_a_number_below_zero_is_fixed():
    class Shifts(nn.Module):
        def forward(self, x, by):
            return x.roll(by, 0)

    op = tracepack.script(Shifts())
    pipeline = tracepack.trace(lambda x: op(x, 2 - x.shape[0]), torch.arange(5))
    assert pipeline(torch.arange(5)).tolist() == [3, 4, 0, 1, 2]
    with pytest.raises(tracepack.TracepackError, match="a model takes it as a fixed number|wrong size"):
        pipeline(torch.arange(6))


class CallsAClosure(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def rows(x):
            return x.reshape(int(x.shape[0]), -1) * 2

        self.steps = [{"rows": rows}]

    def forward(self, x):
        if type(x.dim()) is not int or "int" in globals():  # other code of the module has Python's own
            return x * 3
        return self.steps[0]["rows"](x)


def test_a_closure_that_the_collector_was_told_to_freeze_is_found(reloaded):
    model = CallsAClosure()
    gc.freeze()
    try:
        op = tracepack.script(model)
        pipeline = tracepack.trace(lambda x: op(x), torch.rand(3, 4))
    finally:
        gc.unfreeze()
    for mod in (pipeline, reloaded(pipeline)):
        for rows in (2, 3, 6):
            x = torch.rand(rows, 4)
            assert torch.equal(mod(x), x * 2)


class MakesTensorsOfSizes(nn.Module):
    def forward(self, x):
        return torch.tensor(x.shape), torch.tensor([x.shape[0], 3]), torch.tensor([x.shape[0] / 2, 1.5])


def test_a_tensor_of_sizes_does_not_fix_them():
    op = tracepack.script(MakesTensorsOfSizes())
    mod = tracepack.trace(lambda x: op(x), torch.rand(6, 4))
    for x in (torch.rand(6, 4), torch.rand(5, 3), torch.rand(1, 7)):
        for got, wanted in zip(mod(x), MakesTensorsOfSizes()(x), strict=True):
            assert got.dtype is wanted.dtype
            assert torch.equal(got, wanted)
