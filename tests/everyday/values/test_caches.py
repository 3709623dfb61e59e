"""A method with `functools.lru_cache` in a recorded function: it computes, and its cache keeps nothing."""

from __future__ import annotations

import functools
import gc
import itertools
import warnings

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded
from tracepack.pipeline.proxies.base import is_traced


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

    def of_class_too(self, x):
        return x.sum(1) + self.of_class(x.shape[0]) + Tables.doubled(x.shape[0])

    def by_name(self, x):
        rows = (x.shape[0],)
        return x.sum(1) + self.table(size=x.shape[0]) + self.table(*rows)

    def of_texts(self, texts):
        return [self.lowered(text) for text in texts], list(map(self.lowered, texts)), sorted(texts, key=self.lowered)

    def of_text(self, text):
        return self.lowered(text)

    @classmethod
    @functools.lru_cache
    def of_class(cls, size):
        return torch.arange(size).float()

    @functools.cache  # noqa: B019  # the form is what is tested
    def lowered(self, text):
        return text.lower()

    def written_into(self, x):
        self.table(x.shape[1]).add_(1)
        return x * self.table(x.shape[1])

    def one_object(self, x):
        return x * (2 if self.table(x.shape[1]) is self.table(x.shape[1]) else 3)

    def without(self, x):
        return x.sum(1) + self.table.__wrapped__(self, x.shape[0])


X = torch.rand(3, 4)
OF_THE_RUN = {
    **dict.fromkeys(
        ("of_sizes", "of_sizes_in_text", "of_class_too", "by_name"), (X, [torch.rand(5, 4), torch.rand(1, 4)])
    ),
    "of_text": ("Ab", ["", "XyZ"]),
    "of_texts": (["Ab", "C"], [[], ["Zx", "b", "A"]]),
}
"""Methods -> an example, and others."""


def test_what_a_method_with_a_cache_gives_for_constants_is_recorded():
    for called_before in (False, True):
        tables = Tables(4)
        if called_before:
            tables.table(4)
        mod = loaded(tables.of_constants, X)
        x = torch.rand(5, 4)
        assert torch.equal(mod(x), tables.of_constants(x))


@pytest.mark.parametrize("name", OF_THE_RUN)
def test_a_method_with_a_cache_that_is_asked_with_a_value_of_the_run_is_computed_in_each_run(name):
    """However it is called; its cache keeps nothing of the trace."""
    process, given, others = getattr(Tables(4), name), *OF_THE_RUN[name]
    mod = loaded(process, given)
    for cache in (Tables.table, Tables.doubled, Tables.of_class, Tables.lowered):
        assert not any(map(is_traced, gc.get_referents(cache)))
    for other in (given, *others):
        assert difference(process(other), mod(other)) == ""


def test_a_cache_in_a_closure_or_in_a_variable_is_computed_in_each_run():
    @functools.lru_cache
    def table(size):
        return torch.arange(size).float()

    def process(x):
        window = table
        return x * table(x.shape[1]) + window(x.shape[1])

    mod = loaded(process, X)
    x = torch.rand(5, 6)
    assert difference(process(x), mod(x)) == ""


def test_a_dict_beside_a_cache_still_fixes_what_is_its_key():
    sizes = {3: 1.0, 5: 2.0}

    def process(x):
        return x.sum(1) + Tables(4).table(x.shape[0]) + sizes.get(x.shape[0] + 0, 3.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, X)
    for rows in (3, 5, 6):
        x = torch.rand(rows, 4)
        try:
            found = mod(x)
        except tracepack.TracepackError:
            continue
        assert torch.equal(found, process(x))


@pytest.mark.parametrize("name", ["written_into", "one_object"])
def test_a_result_that_the_cache_shall_give_again_is_refused(name):
    with pytest.raises(tracepack.RecordError, match="the recorded graph does not answer as the function does"):
        tracepack.trace(getattr(Tables(4), name), X)


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
