"""Functions with async, and generators: trace says what to write in their place."""

from __future__ import annotations

import asyncio
import warnings

import pytest
import torch

import tracepack


async def doubled(x):
    return x * 2


async def counted(x):
    yield x


def multiples(x):
    for n in range(3):
        yield x * n


class Service:
    async def __call__(self, x):
        return x * 2

    async def answer(self, x):
        return x * 2


def run_inside(x):
    return asyncio.run(doubled(x))


@pytest.mark.parametrize("process", [doubled, counted, Service(), Service().answer])
def test_functions_with_async_are_refused(process) -> None:
    with pytest.raises(tracepack.RecordError, match=r"async def .*: trace takes a plain function; got one with async"):
        tracepack.trace(process, torch.rand(2))


def test_a_generator_is_refused_and_its_list_is_not() -> None:
    with pytest.raises(tracepack.RecordError, match="got a generator, which yields. Trace one that returns a list"):
        tracepack.trace(multiples, torch.rand(2))
    x = torch.rand(4)
    assert torch.equal(tracepack.trace(lambda x: list(multiples(x)), torch.rand(2))(x)[2], x * 2)


def test_a_coroutine_that_is_returned_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tracepack.RecordError, match="returns a coroutine. Call a function without async in its"):
            tracepack.trace(lambda x: doubled(x), torch.rand(2))


def test_a_coroutine_that_is_run_is_refused_with_its_line() -> None:
    words = "in run_inside: return .*: the function runs a coroutine, which cannot be recorded. Call a function without"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(run_inside, torch.rand(2))
    assert torch.equal(run_inside(torch.ones(2)), torch.full((2,), 2.0))
