"""What a replay puts in the place of an argument, and looks at of one, a result or an object: a text, the shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import torch

MOST_CHARACTERS, MOST_INTS = 200, 6


def parameter(leaf: Any) -> Any:
    """A tensor as a Parameter, also each in a list."""
    return of_class(lambda tensor: torch.nn.Parameter(tensor, requires_grad=False), leaf)


def of_class(make: Callable[[torch.Tensor], Any], leaf: Any) -> Any:
    """A leaf with what is made of the plain tensors in it."""
    if type(leaf) in (list, tuple):
        return type(leaf)(of_class(make, item) for item in leaf)
    if type(leaf) is dict:
        return {key: of_class(make, item) for key, item in leaf.items()}
    return make(leaf) if type(leaf) is torch.Tensor else leaf


def has_tensor(leaf: Any) -> bool:
    """Whether a leaf is or holds a plain tensor."""
    if isinstance(leaf, list | tuple | dict):
        return any(map(has_tensor, leaf.values() if isinstance(leaf, dict) else leaf))
    return type(leaf) is torch.Tensor


def itself(leaf: Any) -> Any:
    """What it is given."""
    return leaf


def whole(leaf: Any, to: Callable[[float], int]) -> Any:
    """A leaf with ints in place of its floats, in lists, tuples and dicts, too."""
    return _whole(leaf, to, iter(()))


def _whole(leaf: Any, to: Callable[[float], int], kept: Iterator[Any]) -> Any:
    if type(leaf) is float and math.isfinite(leaf):
        return leaf if next(kept, None) is not None else to(leaf)
    if type(leaf) in (list, tuple):
        return type(leaf)(_whole(item, to, kept) for item in leaf)
    return {key: _whole(item, to, kept) for key, item in leaf.items()} if type(leaf) is dict else leaf


def one_whole(leaf: Any, to: Callable[[float], int]) -> Any:
    """A leaf with an int in place of one float: of a list, in its first item only."""
    return [*whole(leaf[:1], to), *leaf[1:]] if isinstance(leaf, list) else whole(leaf, to)


def one_float(leaf: Any, to: Callable[[float], int]) -> Any:
    """A leaf with ints in place of all its floats but the first."""
    return _whole(leaf, to, iter((leaf,)))


def named_ints(constants: Sequence[Any], beside: bool = False) -> list[Callable[[float], int]]:
    """What puts an int that code names in the place of a float, as ``n is 1`` may want it; of a few ints.

    Args:
        constants: what the code names.
        beside: whether those next to each are tried as well, which may lead past a condition.
    """
    found = sorted({each for each in constants if type(each) is int}, key=abs)[:MOST_INTS]
    found += [each + step for each in found for step in (1, -1)] * beside
    return [partial(lambda number, _: number, number) for number in found]


def has_float(leaf: Any) -> bool:
    """Whether a leaf is or holds a float that an int could stand for."""
    if isinstance(leaf, list | tuple | dict):
        return any(map(has_float, leaf.values() if isinstance(leaf, dict) else leaf))
    return type(leaf) is float and math.isfinite(leaf)


def outline(tree: Any) -> Any:
    """The containers of a tree and which objects are in them."""
    if isinstance(tree, tuple | list):
        return [outline(item) for item in tree]
    return {key: outline(item) for key, item in tree.items()} if isinstance(tree, dict) else id(tree)


def brief(value: Any, glimpse: Callable[[Any], Any]) -> Any:
    """What tells a value from the one that stood there before: a number itself, other things by a short text.

    Args:
        value: any.
        glimpse: what tells a container from another one by what it holds.
    """
    if type(value) in (int, float):
        return value
    if isinstance(value, torch.Tensor):
        return f"{id(value)} {value._version if not value.is_inference() else 0}"
    if isinstance(value, np.ndarray):
        return f"{value.shape} {hash(value.tobytes())}"
    if isinstance(value, str | bytes):
        return f"{len(value)} {hash(value)}"
    if isinstance(value, list | dict | set):
        return f"{type(value)} {len(value)} {hash(repr(glimpse(value)))}"
    if isinstance(value, type | FunctionType):
        return f"{type(value)} {hash(repr(glimpse(value)))}"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{len(text)} {hash(text)}"


def shapes(leaves: Sequence[Any]) -> list[Any]:
    """The shapes of the tensors among some leaves."""
    return [leaf.shape if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
