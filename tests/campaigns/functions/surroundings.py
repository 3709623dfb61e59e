"""What random functions call by name, in two forms: torch alone, which is the reference, and tracepack."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import tracepack

Pair = namedtuple("Pair", "first second")


class Affine(torch.nn.Module):
    """One tensor of any kind."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1


class Parts(torch.nn.Module):
    """Several results in containers."""

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"sum": x.sum(-1), "parts": (x + 1, x != 0)}


class Mixed(torch.nn.Module):
    """Two tensors, broadcast."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.where(a > 0, a, b) - a


class Scored(torch.nn.Module):
    """Weights, and a choice that a model makes on numbers."""

    def __init__(self) -> None:
        super().__init__()
        weights = torch.arange(12.0).reshape(3, 4) / 7 - 0.8
        self.linear = torch.nn.Linear(4, 3)
        self.linear.load_state_dict({"weight": weights, "bias": torch.tensor([0.5, -0.5, 0.0])})

    def forward(self, x: torch.Tensor, scale: float = 0.5) -> torch.Tensor:
        return self.linear(x.float()).softmax(-1) * scale


MODULES: dict[str, Callable[[], torch.nn.Module]] = {"affine": Affine, "parts": Parts, "mixed": Mixed, "scored": Scored}


def plain() -> dict[str, Any]:
    """Names for Python without tracepack."""
    ops = {name: _contiguous(make()) for name, make in MODULES.items()}
    return {**_common(), **ops, "cond": _cond, "while_loop": _while_loop, "drawing": _drawing}


def packed() -> dict[str, Any]:
    """The same names for a function that is traced."""
    control = {"cond": tracepack.cond, "while_loop": tracepack.while_loop, "drawing": tracepack.drawing}
    return {**_common(), **_ops(), **control}


def _common() -> dict[str, Any]:
    return {"torch": torch, "np": np, "math": math, "Pair": Pair, "CONST": torch.arange(4.0)}


@cache
def _ops() -> dict[str, Any]:
    """Ops made once: what they are lowered to for a kind of input serves all functions."""
    return {name: tracepack.script(make(), device="cpu", contiguous=True) for name, make in MODULES.items()}


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
