"""What code wrote goes back, and counts as changed, by whatever instruction, method or name it did so."""

from __future__ import annotations

import collections
import heapq
import logging
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from tests.recheck.written_ways import LISTED, ON_KEPT, Described, Fills, Frozen, Kept, Net
from tracepack.pipeline.recheck.reach.objects import Objects

PUSH = heapq.heappush
ADD = LISTED.append


pytestmark = pytest.mark.usefixtures("another_thread")  # where no other one runs, all goes back


def _shown(thing: Any) -> str:
    return repr((vars(thing), type(thing).total if isinstance(thing, Kept) else 0))


@pytest.mark.parametrize("write", ON_KEPT)
def test_what_code_writes_into_an_object_goes_back(write: Callable[[Any], None]) -> None:
    held = Kept()
    before = _shown(held)
    objects = Objects(lambda: write(held))
    write(held)
    assert _shown(held) != before
    assert objects.changes()
    objects.restore()
    assert _shown(held) == before


def _case(make: Callable[[], tuple[Any, Callable[[], Any]]]) -> Any:
    return pytest.param(make, id=make.__name__)


def _groups() -> tuple[Any, Callable[[], Any]]:
    groups: Any = collections.defaultdict(list, a=[1])
    return groups, lambda: groups["b"]


def _ordered() -> tuple[Any, Callable[[], Any]]:
    order = collections.OrderedDict(a=1, b=2)
    return order, lambda: order.move_to_end("a")


def _turned() -> tuple[Any, Callable[[], Any]]:
    held = {"a": 1, "b": 2}

    def process() -> None:
        del held["a"]
        held["a"] = 1

    return held, process


def _heap() -> tuple[Any, Callable[[], Any]]:
    held = [1, 2]
    return held, lambda: PUSH(held, 0)


def _bound() -> tuple[Any, Callable[[], Any]]:
    return LISTED, lambda: ADD(1)


def _array() -> tuple[Any, Callable[[], Any]]:
    array = np.zeros(3)
    return array, lambda: np.add.at(array, [1], 1)


def _array_of_tensor() -> tuple[Any, Callable[[], Any]]:
    array = np.zeros(3)
    return array, lambda: torch.from_numpy(array).add_(1)


def _array_out() -> tuple[Any, Callable[[], Any]]:
    array = np.zeros(3)
    return array, lambda: np.add(array, 1, out=array)


def _union() -> tuple[Any, Callable[[], Any]]:
    held = {1}

    def process() -> None:
        nonlocal held
        held |= {2}

    return held, process


def _handler() -> tuple[Any, Callable[[], Any]]:
    log = logging.Logger("tests.written")
    log.addHandler(Fills())
    return LISTED, lambda: (log.warning("text"), len(LISTED))


def _warned() -> tuple[Any, Callable[[], Any]]:
    def process() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda *args, **kwargs: LISTED.append(1)
            warnings.warn("text", stacklevel=1)
        return len(LISTED)

    return LISTED, process


def _frozen() -> tuple[Any, Callable[[], Any]]:
    held = Frozen()
    return vars(held), lambda: object.__setattr__(held, "n", 1)


def _descriptor() -> tuple[Any, Callable[[], Any]]:
    held = Described()

    def process() -> None:
        held.value = 1

    return vars(held), process


def _counter() -> tuple[Any, Callable[[], Any]]:
    held = collections.Counter("ab")

    def process() -> None:
        nonlocal held
        held += collections.Counter("c")

    return held, process


def _table() -> tuple[Any, Callable[[], Any]]:
    held: list[int] = []
    table = {"add": held.append}
    return held, lambda: table["add"](1)


def _generator() -> tuple[Any, Callable[[], Any]]:
    held: list[int] = []

    def notes() -> Iterator[int]:
        while True:
            held.append(1)
            yield 1

    kept = notes()
    return held, lambda: (next(kept), held)


def _module() -> tuple[Any, Callable[[], Any]]:
    net = Net()
    return net._buffers, lambda: net(torch.ones(1))


def _module_attribute() -> tuple[Any, Callable[[], Any]]:
    net = Net()
    return vars(net), lambda: net(torch.ones(1))


def _namespace() -> tuple[Any, Callable[[], Any]]:
    held = types.SimpleNamespace(n=0)

    def process() -> None:
        held.n += 1

    return vars(held), process


def _on_function() -> tuple[Any, Callable[[], Any]]:
    def process() -> None:
        process.n = 1  # type: ignore[attr-defined]  # that is what is tried

    return vars(process), process


_OTHERS = [
    _groups, _ordered, _turned, _heap, _bound, _array, _array_of_tensor, _array_out, _union, _handler, _warned, _frozen,
    _descriptor, _counter, _table, _generator, _module, _module_attribute, _namespace, _on_function,
]  # fmt: skip


@pytest.mark.parametrize("make", [*map(_case, _OTHERS)])
def test_what_code_writes_goes_back(make: Any) -> None:
    held, process = make()
    before = repr(held)
    objects = Objects(process)
    process()
    assert repr(held) != before
    assert objects.changes()
    objects.restore()
    assert repr(held) == before
