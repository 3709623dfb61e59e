"""Settings of the process, and containers of Python's own modules: places that functions name, and that nothing holds.

A function that counts in one keeps state there, as in an object of its own: `sys.path`, the handlers of a logger, how
numpy prints.
"""

from __future__ import annotations

import csv
import gc
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ..places import items_in, put_back, refill

Held = dict[Any, Any]
_LEAST_DEPTH = 1000  # of recursion: a trial with less would end the trace


@dataclass(frozen=True)
class ProcessPlace:
    """Something of the process that code sets and reads.

    Attributes:
        name: what to call it in a message.
        read: gives it as a dict.
        write: sets it.
    """

    name: str
    read: Callable[[], Held]
    write: Callable[[Held], None]


def _one(name: str, get: Callable[[], Any], put: Callable[[Any], object]) -> ProcessPlace:
    return ProcessPlace(name, lambda: {"": get()}, lambda items: _quietly(put, items[""]))


def _quietly(put: Callable[..., object], *values: Any, **named: Any) -> None:
    with suppress(Exception):  # a trial may set what it does not take
        put(*values, **named)


def _set_depth(depth: int) -> None:
    sys.setrecursionlimit(max(depth, _LEAST_DEPTH))


def _dialects(items: Held) -> None:
    for name in csv.list_dialects():
        if name not in items:
            csv.unregister_dialect(name)


def _signals() -> Held:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _set_signals(items: Held) -> None:
    for number, handler in items.items():
        if signal.getsignal(number) is not handler:
            _quietly(signal.signal, number, handler)


def _set_thresholds(items: Held) -> None:
    _quietly(gc.set_threshold, *items.values())


def _set_numpys(items: Held) -> None:
    _quietly(np.set_printoptions, **items)


def _set_deterministic(on: bool) -> None:
    torch.use_deterministic_algorithms(on, warn_only=torch.is_deterministic_algorithms_warn_only_enabled())


_torchs: Any = torch._tensor_str.PRINT_OPTS
_levels: Any = logging
_SETTINGS: dict[str, list[ProcessPlace]] = {
    "setrecursionlimit": [_one("the limit of recursion", sys.getrecursionlimit, _set_depth)],
    "setswitchinterval": [_one("the interval of threads", sys.getswitchinterval, sys.setswitchinterval)],
    "set_threshold": [
        ProcessPlace("the thresholds of gc", lambda: dict(enumerate(gc.get_threshold())), _set_thresholds)
    ],
    "set_int_max_str_digits": [
        _one("the digits of an int", sys.get_int_max_str_digits, sys.set_int_max_str_digits)
    ],
    "field_size_limit": [_one("the limit of csv", csv.field_size_limit, csv.field_size_limit)],
    "register_dialect": [ProcessPlace("the dialects of csv", lambda: dict.fromkeys(csv.list_dialects(), 0), _dialects)],
    "setbufsize": [_one("the buffer of numpy", np.getbufsize, np.setbufsize)],
    "set_printoptions": [
        ProcessPlace("how numpy prints", lambda: dict(np.get_printoptions()), _set_numpys),
        ProcessPlace("how torch prints", lambda: dict(vars(_torchs)), partial(put_back, vars(_torchs))),
    ],
    "addLevelName": [
        ProcessPlace(f"the levels of logging, {name}", partial(dict, held), partial(refill, held))
        for name, held in (("by number", _levels._levelToName), ("by name", _levels._nameToLevel))
    ],
    "use_deterministic_algorithms": [
        _one("torch's choice of algorithms", torch.are_deterministic_algorithms_enabled, _set_deterministic)
    ],
    "set_float32_matmul_precision": [
        _one("torch's precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision)
    ],
    "set_warn_always": [_one("torch's warnings", torch.is_warn_always_enabled, torch.set_warn_always)],
    "set_detect_anomaly": [_one("torch's search for NaN", torch.is_anomaly_enabled, torch.set_anomaly_enabled)],
    "seterr": [ProcessPlace("numpy's errors", lambda: {**np.geterr()}, lambda items: _quietly(np.seterr, **items))],
    "chdir": [_one("the working directory", os.getcwd, os.chdir)],
    "signal": [ProcessPlace("the handlers of signals", _signals, _set_signals)],
}  # fmt: skip
_CONTAINERS = (list, dict, set, deque)
_OF_IMPORTS = frozenset(("modules", "path_importer_cache"))
"""What imports fill, which are done once."""


def settings_of(module: ModuleType, names: Iterable[str]) -> Iterator[ProcessPlace]:
    """The settings that code names of a module, and the containers that one of Python's has."""
    for name in names:
        if name in vars(module):
            yield from _SETTINGS.get(name, ())
    if module.__name__.partition(".")[0] not in sys.stdlib_module_names or module.__name__ == "__main__":
        return
    for name in names:
        if type(vars(module).get(name)) in _CONTAINERS and not name.startswith("_") and name not in _OF_IMPORTS:
            yield _container_of(module, name)
    if module is threading and "current_thread" in names:
        yield _attributes_of(threading.current_thread())


@lru_cache(256)
def _container_of(module: ModuleType, name: str) -> ProcessPlace:
    """A container under the name that it has now: `warnings.catch_warnings` puts another in its place."""

    def read() -> Held:
        return items_in(vars(module)[name])[0]()

    def write(items: Held) -> None:
        items_in(vars(module)[name])[1](items)

    return ProcessPlace(f"{module.__name__}.{name}", read, write)


def _attributes_of(thread: threading.Thread) -> ProcessPlace:
    held = vars(thread)

    def read() -> Held:
        return {name: item for name, item in dict(held).items() if not name.startswith("_")}

    def write(items: Held) -> None:
        put_back(held, {name: item for name, item in dict(held).items() if name.startswith("_")} | items)

    return ProcessPlace("the thread", read, write)


def listeners_of(logger: logging.Logger) -> ProcessPlace:
    """The handlers and the filters of a logger: how many and which, but not what they hold."""
    known = {id(each): each for each in (*logger.handlers, *logger.filters)}

    def read() -> Held:
        kinds = (("handler", logger.handlers), ("filter", logger.filters))
        known.update((id(each), each) for _, held in kinds for each in held)
        return {f"{kind} {place}": id(each) for kind, held in kinds for place, each in enumerate(held)}

    def write(items: Held) -> None:
        lists: tuple[tuple[str, list[Any]], ...] = (("handler", logger.handlers), ("filter", logger.filters))
        for kind, held in lists:
            held[:] = [known[each] for key, each in items.items() if key.startswith(kind) and each in known]

    return ProcessPlace(f"the logger {logger.name!r}", read, write)


def registry_of(function: Any) -> ProcessPlace:
    """The functions that one of `functools.singledispatch` chooses from."""
    held = gc.get_referents(vars(function)["registry"])[0]  # what the view of it is one of

    def write(items: Held) -> None:
        refill(held, items)
        vars(function)["_clear_cache"]()

    return ProcessPlace(f"the registry of {function.__name__}", partial(dict, held), write)
