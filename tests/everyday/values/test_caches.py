"""A method with `functools.lru_cache` in a recorded function: its cache keeps nothing of the trace."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded


class Tables:
    def __init__(self, size):
        self.size = size

    @functools.lru_cache(maxsize=None)  # noqa: B019, UP033  # the form is what is tested
    def table(self, size):
        return torch.arange(size).float()

    @staticmethod
    @functools.lru_cache
    def doubled(size):
        return size * 2

    def of_constants(self, x):
        return x + self.table(4) + self.table(self.size) * self.doubled(3)

    def of_sizes(self, x):
        return x.sum(1) + self.table(x.shape[0])

    def of_sizes_in_text(self, x):
        return f"{self.doubled(x.shape[0])}"

    def without(self, x):
        return x.sum(1) + self.table.__wrapped__(self, x.shape[0])


X = torch.rand(3, 4)


def test_what_a_method_with_a_cache_gives_for_constants_is_recorded():
    for called_before in (False, True):
        tables = Tables(4)
        if called_before:
            tables.table(4)
        mod = loaded(tables.of_constants, X)
        x = torch.rand(5, 4)
        assert torch.equal(mod(x), tables.of_constants(x))


@pytest.mark.parametrize("name", ["of_sizes", "of_sizes_in_text"])
def test_a_size_that_is_the_key_of_a_cache_is_fixed_and_the_cache_stays_as_good_as_new(name):
    tables = Tables(4)
    process = getattr(tables, name)
    with pytest.warns(UserWarning, match="a size is fixed to 3, because it was used as a key"):
        mod = loaded(process, X)
    x = torch.rand(3, 4)
    assert torch.equal(torch.as_tensor(tables.table(3)), torch.arange(3.0))
    assert type(tables.doubled(3)) is int
    found, wanted = mod(x), process(x)
    assert torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted
    with pytest.raises(tracepack.SignatureError, match="got 5 in shape"):
        mod(torch.rand(5, 4))


def test_a_method_is_called_without_its_cache():
    tables = Tables(4)
    mod = loaded(tables.without, X)
    x = torch.rand(5, 4)
    assert torch.equal(mod(x), tables.without(x))


@pytest.mark.parametrize("device", [torch.device("cpu", 0), "cpu:0", "cpu", torch.device("cpu")])
def test_a_move_to_the_first_cpu_copies_as_in_torch(device):
    def process(x):
        return x.to(device), x.to(device=device), x.to(device, torch.float64), x.to(device).add_(1)

    def moved(x):
        return x.to(device), x.to(device=device)

    mod = loaded(moved, X)
    x = torch.rand(5, 4)
    assert [each is x for each in mod(x)] == [each is x for each in moved(x)]
    if str(device) == "cpu:0":
        mod = loaded(process, X)
        for found, wanted in zip(mod(x), process(x.clone()), strict=True):
            assert torch.equal(found, wanted)
            assert found.dtype is wanted.dtype


def test_a_cached_constant_is_recorded_where_python_is_recorded_too() -> None:
    """The trace fills the cache: what the first recording computed is a constant of the second one."""

    @functools.lru_cache
    def table(n):
        return torch.arange(n).float()

    def process(x):
        return f"{x.sum().item():.2f}", x + table(3)

    mod = loaded(process, torch.ones(3))
    x = torch.rand(3)
    assert difference(process(x), mod(x)) == ""


def test_a_counter_is_refused_where_python_is_recorded_too() -> None:
    count = itertools.count()

    def process(x):
        return f"{x.sum().item():.2f}", x + next(count)

    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, torch.ones(3))
