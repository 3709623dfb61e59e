"""State in holders of Python's own, and on classes, functions and settings of libraries."""

from __future__ import annotations

import concurrent.futures
import contextlib
import inspect
import json
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import tracepack
from tests.recheck.made import counting

X = torch.ones(2)
MANY = 40  # calls: more than a trace makes


def _null_context() -> Callable[[], int]:
    holder = contextlib.nullcontext([0])

    def count() -> int:
        with holder as held:
            held[0] += 1
        return held[0]

    return count


def _future() -> Callable[[], int]:
    holder: Any = concurrent.futures.Future()
    holder.set_result([0])

    def count() -> int:
        holder.result()[0] += 1
        return int(holder.result()[0])

    return count


def _slice() -> Callable[[], int]:
    holder: Any = slice([0], None)

    def count() -> int:
        holder.start[0] += 1
        return int(holder.start[0])

    return count


class _Caller:
    def bump(self, held: list[int]) -> int:
        held[0] += 1
        return held[0]


def _method_caller() -> Callable[[], int]:
    call = operator.methodcaller("bump", [0])
    return lambda: int(call(_Caller()))


def _class_of_torch() -> Callable[[], int]:
    def count() -> int:
        kind: Any = torch.nn.Linear
        torch.nn.Linear.calls = getattr(torch.nn.Linear, "calls", 0) + 1
        return int(kind.calls)

    return count


def _function_of_python() -> Callable[[], int]:
    def count() -> int:
        json.dumps.calls = getattr(json.dumps, "calls", 0) + 1
        return int(json.dumps.calls)

    return count


def _of_a_text() -> Callable[[], int]:
    return lambda: int(eval("counting.count()"))


def _found_statically() -> Callable[[], int]:
    return lambda: int(inspect.getattr_static(counting, "count")())


def _interval() -> Callable[[], int]:
    def count() -> int:
        sys.setswitchinterval(sys.getswitchinterval() + 1)
        return int(sys.getswitchinterval())

    return count


def _cell() -> Callable[[], int]:
    holder = types.CellType([0])

    def count() -> int:
        holder.cell_contents[0] += 1
        return int(holder.cell_contents[0])

    return count


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    counting.CALLS, interval = 0, sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    for thing in (torch.nn.Linear, json.dumps):
        if hasattr(thing, "calls"):
            del thing.calls


HOLDERS = [
    _null_context, _future, _slice, _method_caller, _class_of_torch, _function_of_python, _of_a_text,
    _found_statically, _interval, _cell,
]  # fmt: skip


@pytest.mark.parametrize("make", HOLDERS)
def test_state_in_odd_holders_is_refused_and_given_back(make: Callable[[], Callable[[], int]]) -> None:
    count = make()

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if count() > MANY else x

    with pytest.raises(tracepack.RecordError, match="keeps state"):
        tracepack.trace(process, X)
    assert count() == 1


def test_a_class_of_torch_that_is_only_used_is_no_place_of_state() -> None:
    kept: list[Any] = []

    def process(x: torch.Tensor) -> torch.Tensor:
        kept.append(torch.nn.Linear)
        return torch.nn.functional.relu(x)

    assert torch.equal(tracepack.trace(process, X)(-X), 0 * X)
    assert kept == []
