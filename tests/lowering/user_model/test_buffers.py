"""Buffers that a model writes: under two names, in shared memory, and what the user's own keep."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
import torch
from torch import nn

import tracepack


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        self.n += 1
        return x + self.n.sum()


def tied():
    first, second = Counter(), Counter()
    second.n = first.n
    return nn.Sequential(first, second)


def twice():
    part = Counter()
    return nn.Sequential(part, part)


def thrice():
    both = tied()
    return nn.Sequential(both[0], both[1], both[0])


def two_names():
    part = Counter()
    part.register_buffer("m", part.n)
    return part


@pytest.mark.parametrize("make", [Counter, twice, tied, thrice, two_names])
def test_a_part_or_a_buffer_with_two_names_has_one_state(make):
    model, x = make(), torch.zeros(2, 3)
    eager = copy.deepcopy(model)
    op = tracepack.script(model)
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 3))
    for _ in range(3):
        assert torch.equal(mod(x), eager(x))
    mod.reset()
    assert torch.equal(mod(x), make()(x))
    assert not any(buffer.any() for buffer in model.buffers())


class GivesItself(Counter):
    def forward(self, x):
        self.n += 1
        return x + self.n, self.n, self.n[None], [self.n]


def test_a_call_that_gives_the_buffer_itself_gives_its_new_value():
    op, eager, x = tracepack.script(GivesItself()), GivesItself(), torch.zeros(2, 3)
    for _ in range(3):
        assert str(op(x)) == str(eager(x))  # the first one lowers the model, and puts its buffers back


class Grows(nn.Module):
    """Keeps the largest size in Python, beyond a size that no example has."""

    def __init__(self):
        super().__init__()
        self.most = 64

    def forward(self, x):
        self.most = max(self.most, x.shape[0]) if x.shape[0] > 64 else self.most
        return x / self.most


class Lengthens(Counter):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(64.0)[:, None])

    def forward(self, x):
        if x.shape[0] > self.table.shape[0]:
            self.table = torch.arange(2.0 * x.shape[0])[:, None] * 2
        return x + self.table[: x.shape[0]]


class Counts(Counter):
    def forward(self, x):
        self.n += x.shape[0]
        return x + self.n if x.shape[0] > 64 else x - self.n


@pytest.mark.parametrize("make", [Grows, Lengthens, Counts])
def test_an_op_that_was_traced_keeps_its_state_beyond_what_it_was_traced_for(make):
    op, eager = tracepack.script(make()), make()
    tracepack.trace(lambda x: op(x), torch.ones(2, 3))
    for size in (3, 100, 3, 300, 100, 4):
        assert torch.equal(op(torch.ones(size, 3)), eager(torch.ones(size, 3))), size


class GivesWeights(Counter):
    """Gives its parameter, a view of it, its buffer and a plain tensor."""

    def __init__(self):
        super().__init__()
        self.weight, self.plain = nn.Parameter(torch.ones(3)), torch.ones(3)

    def forward(self, x):
        return x + self.weight + self.plain + self.n, self.weight, self.weight[:2], self.n, self.plain


@pytest.mark.parametrize("traced", [False, True])
@torch.no_grad()
def test_what_an_op_gives_by_hand_is_apart_from_its_model(traced):
    """A write into it changed the model before a trace, and nothing after one."""
    model, x = GivesWeights(), torch.zeros(3)
    op = tracepack.script(model)
    mod = tracepack.trace(lambda x: op(x), x) if traced else op
    for _ in range(2):
        for call in (op, mod):
            total, *given = call(x)
            assert total.tolist() == [2.0] * 3
            for each in given:
                each.add_(5)
    assert model(x)[0].tolist() == [2.0] * 3


def test_an_op_that_was_tried_by_hand_is_traced_in_the_state_of_its_model():
    """The replay called the op, which went on from those calls, and blamed something that no recording sees."""
    op, eager, x = tracepack.script(Counter()), Counter(), torch.ones(2, 3)
    first = [op(x), op(x)]
    mod = tracepack.trace(lambda x: op(x), x)
    assert str([*first, op(x)]) == str([eager(x), eager(x), eager(x)])
    assert str([mod(x), mod(x)]) == str(first)


def test_a_norm_with_two_names_begins_with_its_own_statistics():
    norm = nn.BatchNorm1d(3)
    model = nn.Sequential(norm, nn.ReLU(), norm)
    eager = copy.deepcopy(model)
    op = tracepack.script(model, training=True)
    mod = tracepack.trace(lambda x: op(x), torch.rand(5, 3))
    assert [int(value) for key, value in mod.state().items() if key.endswith("tracked")] == [0]
    x = torch.rand(4, 3)
    for _ in range(2):
        torch.testing.assert_close(mod(x), eager(x))


class Views(Counter):
    def __init__(self, other):
        super().__init__()
        other(self)

    def forward(self, x):
        self.n += 1
        return x + self.v.sum()


SHARED = {
    "a buffer of a part of it": lambda m: m.register_buffer("v", m.n[:2]),
    "an attribute with a part of it": lambda m: setattr(m, "v", m.n[:2]),
    "its first name is the view": lambda m: (m.register_buffer("v", torch.zeros(5)), m.register_buffer("n", m.v[:3])),
    "a weight": lambda m: (setattr(m, "v", nn.Parameter(torch.ones(3))), m.register_buffer("n", m.v.data)),
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_a_written_buffer_in_the_memory_of_another_is_refused(make):
    with pytest.raises(tracepack.LoweringError, match=r"writes to its buffer 'n', whose memory is also that of 'v'"):
        tracepack.script(Views(make), example=torch.rand(2, 3))


def test_a_written_buffer_whose_elements_are_one_is_refused():
    class First(Counter):
        def forward(self, x):
            self.n[0] += 1
            return x + self.n

    model = First()
    model.register_buffer("n", torch.zeros(1).expand(3))
    with pytest.raises(tracepack.LoweringError, match=r"'n', whose elements share memory"):
        tracepack.script(model, example=torch.rand(2, 3))


def test_buffers_in_shared_memory_that_nobody_writes_are_taken():
    class Reader(Views):
        def forward(self, x):
            return x + self.n.sum() + self.v.sum()

    model = Reader(SHARED["a buffer of a part of it"])
    model.n += 2
    op = tracepack.script(model)
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 3))
    assert torch.equal(mod(torch.zeros(2, 3)), torch.full((2, 3), 10.0))


def test_memory_that_a_call_puts_under_a_weight_is_put_back():
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2, bias=False)

        def forward(self, x):
            self.inner.weight.data = self.inner.weight.data * 0.5
            return self.inner(x)

    model = Halves()
    before, memory = model.inner.weight.detach().clone(), model.inner.weight.data_ptr()
    for _ in range(2):
        with pytest.raises(tracepack.LoweringError, match=r"in forward: self.inner.weight.data = "):
            tracepack.script(model, example=torch.rand(2, 2))
    assert torch.equal(model.inner.weight, before)
    assert model.inner.weight.data_ptr() == memory


@pytest.mark.parametrize("part", [lambda n: n, lambda n: n[:2], lambda n: n.view(3, 1)], ids=["all", "part", "view"])
def test_a_function_that_reads_the_memory_of_an_ops_buffer_is_refused(part):
    model = Counter()
    held, op = part(model.n), tracepack.script(model)
    with pytest.raises(tracepack.RecordError, match=r"the function reads 'n' of the model of op 'Counter'"):
        tracepack.trace(lambda x: op(x).sum() + held.sum(), torch.rand(2, 3))


def test_an_array_of_a_buffers_memory_is_no_longer_the_ops():
    """The op has buffers of its own, also as the function is called by hand: the array stays as it is."""
    model = Counter()
    held, op = model.n.numpy(), tracepack.script(model)

    def process(x):
        return op(x) + float(held.sum())

    mod = tracepack.trace(process, torch.rand(2, 3))
    assert torch.equal(mod(torch.zeros(2, 3)), torch.full((2, 3), 3.0))
    assert not np.any(held)


class Statistics(torch.nn.Module):
    """Running statistics without a count of batches beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("var", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.batch_norm(x, self.mean, self.var, training=True) + self.mean


@pytest.mark.parametrize("make", [lambda: torch.nn.BatchNorm1d(2), Statistics])
def test_running_statistics_that_torch_writes_uncounted_move_in_the_op_alone(make) -> None:
    model, plain, x = make(), make(), torch.arange(4.0).view(2, 2)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    op = tracepack.script(model, training=True)
    for _ in range(3):
        assert torch.equal(op(x), plain(x).detach())
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


class CachesWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    @functools.cached_property
    def doubled(self) -> torch.Tensor:
        return self.linear.weight * 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.doubled


def test_a_tensor_that_a_cached_property_makes_of_a_weight() -> None:
    model, x = CachesWeight().eval(), torch.rand(4, 3)
    op = tracepack.script(model, example=torch.rand(2, 3))
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 3))
    assert "doubled" not in vars(model)
    assert torch.equal(mod(x), (x @ (model.linear.weight * 2)).detach())
    assert torch.equal(op(x), model(x).detach())
