"""What random functions call by name, in two forms: torch alone, which is the reference, and tracepack.

Every function gets things of its own, so that state which it leaves in them is its own as well.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import tracepack
from tests.campaigns.functions.modules import FREE, STATEFUL, Affine

Pair = namedtuple("Pair", "first second")
Swapped = namedtuple("Swapped", "second first")
POOL = ThreadPoolExecutor(1)


class State:
    """What a function may keep from call to call."""

    def __init__(self) -> None:
        self.n, self.calls, self.mean, self.factor = 0, 0, 0.0, 1.5
        self.first: float | None = None
        self.scale: float | None = None
        self.known: torch.Tensor | None = None
        self.last: torch.Tensor | None = None
        self.seen: list[Any] = []
        self.table: dict[Any, Any] = {}
        self.array, self.total = np.zeros(3, np.float32), torch.zeros(())


class Straight(torch.autograd.Function):
    """Rounds, with the gradient of what it was given."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class Options:
    """A helper with settings."""

    def factor(self, flag: Any) -> int:
        return 2 if flag is True else 3


def kind_of(n: Any) -> int:
    """A helper that asks for a type."""
    return 2 if type(n) is int else 5 if type(n) is float else 1


def looked_up(n: Any) -> int:
    """The same by a table."""
    return {int: 2, float: 5, bool: 7}.get(type(n), 1)


def told(flag: Any) -> int:
    """A helper that asks for identity."""
    return 2 if flag is True else 4 if flag is False else 1


def plain(source: str = "") -> dict[str, Any]:
    """Names for Python without tracepack, those that a source names."""
    made = {name: make() for name, make in {**FREE, **STATEFUL}.items() if name in source}
    ops = {name: _contiguous(module) for name, module in made.items()}
    control = {"cond": _cond, "while_loop": _while_loop, "drawing": _drawing}
    return {**_common(source, made), **ops, **control}


def packed(source: str = "") -> dict[str, Any]:
    """The same names for a function that is traced."""
    made = {name: make() for name, make in STATEFUL.items() if name in source}
    ops = {name: _op(name) for name in FREE if name in source}
    ops |= {name: tracepack.script(module, device="cpu", contiguous=True) for name, module in made.items()}
    control = {"cond": tracepack.cond, "while_loop": tracepack.while_loop, "drawing": tracepack.drawing}
    return {**_common(source, made), **ops, **control}


def _common(source: str, models: dict[str, torch.nn.Module]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "torch": torch, "np": np, "math": math, "operator": operator, "functools": functools, "Pair": Pair,
        "Swapped": Swapped, "OrderedDict": OrderedDict, "CONST": torch.arange(4.0), "POOL": POOL, "Straight": Straight,
        "kind_of": kind_of, "looked_up": looked_up, "told": told, "options": Options(), "state": State(), "ZERO": 0,
        "models": models, "unpacked": Affine(),
    }  # fmt: skip
    if "hooked" in models:
        seen: dict[str, torch.Tensor] = {"out": torch.zeros(())}
        models["hooked"].register_forward_hook(lambda module, args, out: seen.update(out=out))
        found["seen"] = seen
    if "jitted" in source or "rows" in source:
        found |= _scripts()
    return found


@cache
def _op(name: str) -> Any:
    """An op made once: what it is lowered to for a kind of input serves all functions."""
    return tracepack.script(FREE[name](), device="cpu", contiguous=True)


@cache
def _scripts() -> dict[str, Any]:
    """TorchScript functions."""

    def jitted(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + x.abs()

    def rows(x: torch.Tensor) -> int:
        return x.size(0) * 10

    return {"jitted": torch.jit.script(jitted), "rows": torch.jit.script(rows)}


def _contiguous(module: torch.nn.Module) -> Callable[..., Any]:
    return lambda *args, **kwargs: pytree.tree_map_only(torch.Tensor, torch.Tensor.contiguous, module(*args, **kwargs))


def _cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *args: Any) -> Any:
    return true_fn(*args) if pred else false_fn(*args)


def _while_loop(test: Callable[..., Any], body: Callable[..., Any], *carried: Any) -> Any:
    while test(*carried):
        found = body(*carried)
        carried = found if isinstance(found, tuple) else (found,)
    return carried if len(carried) != 1 else carried[0]


@contextmanager
def _drawing(generator: torch.Generator) -> Iterator[None]:
    before = torch.get_rng_state()
    torch.set_rng_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(torch.get_rng_state())
        torch.set_rng_state(before)
