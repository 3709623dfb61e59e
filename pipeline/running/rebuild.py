"""Builds the arguments of a call from flat leaves: the way back of `binding`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...ops.graph.graph import Literal
from ...ops.graph.program import Slot
from ...ops.graph.traverse import map_leaves
from ...ops.graph.types import DTYPES
from ...ops.runtime.primitives.named_tuples import record_factory


def rebuild(tree: Any, leaves: Sequence[Any], objects: Mapping[Literal, Any] | None = None) -> Any:
    """A parameter's value from flat leaves; fixed values that a signature holds by name are objects again."""
    return map_leaves(
        lambda leaf: leaves[leaf.index] if isinstance(leaf, Slot) else _object(leaf, objects or {}),
        tree,
        lambda record, items: record_factory(record)(*items),
    )


def _object(leaf: Any, objects: Mapping[Literal, Any]) -> Any:
    """A fixed value of a parameter as the function gets it."""
    if isinstance(leaf, Literal) and leaf in objects:
        return objects[leaf]
    match leaf:
        case Literal("dtype", name) if name in DTYPES:
            return getattr(torch, name)
        case Literal("device", name):
            with torch._C.DisableTorchFunction():  # it is made outside of the function, and not to be recorded
                return torch.device(name)
    return leaf
