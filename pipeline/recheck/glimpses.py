"""What a replay looks at of an argument, a result or an object: which objects are in it, a text, the shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

MOST_CHARACTERS = 200


def parameter(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as a Parameter."""
    return torch.nn.Parameter(tensor, requires_grad=False)


def itself(leaf: Any) -> Any:
    """What it is given."""
    return leaf


def outline(tree: Any) -> Any:
    """The containers of a tree and which objects are in them."""
    if isinstance(tree, tuple | list):
        return [outline(item) for item in tree]
    return {key: outline(item) for key, item in tree.items()} if isinstance(tree, dict) else id(tree)


def brief(value: Any) -> Any:
    """What tells a value from the one that stood there before: a number itself, other things by a short text."""
    if type(value) in (int, float):
        return value
    if isinstance(value, torch.Tensor):
        return f"{id(value)} {value._version if not value.is_inference() else 0}"
    if isinstance(value, np.ndarray):
        return f"{value.shape} {hash(value.tobytes())}"
    if isinstance(value, str | bytes):
        return f"{len(value)} {hash(value)}"
    if isinstance(value, list | dict | set):
        return f"{type(value)} {len(value)}"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{len(text)} {hash(text)}"


def shapes(leaves: Sequence[Any]) -> list[Any]:
    """The shapes of the tensors among some leaves."""
    return [leaf.shape if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
