"""Example arguments taken apart into parameters and flat leaves, and put together again from other leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..ops.graph.errors import SignatureError
from ..ops.graph.program import Parameter, Slot
from ..ops.graph.traverse import map_leaves
from ..ops.graph.types import SCALARS
from ..ops.lowering.held_objects import is_held
from ..ops.runtime.primitives.named_tuples import is_record, record_factory, to_record
from .running.binding import as_tensor


def describe(
    given: Sequence[tuple[str, str, Any]],
) -> tuple[tuple[Parameter, ...], list[str], list[Any], frozenset[int]]:
    """Takes example arguments apart: parameters, a name for each leaf, the leaves, and which of these are arrays.

    Args:
        given: name, kind and value of each argument.

    Raises:
        SignatureError: a value that no pipeline can take.
    """
    names: list[str] = []
    leaves: list[Any] = []
    arrays: set[int] = set()

    def tree(value: Any, where: str) -> Any:
        if value is None:
            return None
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return slot(value, where)
        if is_record(value):
            return to_record(
                value, tuple(tree(v, f"{where}.{k}") for k, v in zip(type(value)._fields, value, strict=True))
            )
        if isinstance(value, tuple | list):
            items = [tree(item, f"{where}[{index}]") for index, item in enumerate(value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            return {key: tree(item, f"{where}[{key!r}]") for key, item in value.items()}
        return slot(value, where)

    def slot(value: Any, where: str) -> Slot:
        leaf = as_tensor(value) if not isinstance(value, np.generic) else value.item()
        leaf = value if leaf is None else leaf
        if not isinstance(leaf, torch.Tensor | list) and type(leaf) not in SCALARS:
            raise SignatureError(
                "a value that a pipeline cannot take",
                where=f"input {where!r}",
                got=f"{type(value).__module__}.{type(value).__qualname__}",
                expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
                fix="Pass what it holds, and make it of that in the function." if is_held(value) else "",
            )
        if isinstance(value, np.ndarray):
            arrays.add(len(leaves))
        names.append(where)
        leaves.append(leaf)
        return Slot(len(leaves) - 1)

    items = tuple(Parameter(name, kind, tree(value, name)) for name, kind, value in given)
    return items, names, leaves, frozenset(arrays)


def rebuild(tree: Any, leaves: Sequence[Any]) -> Any:
    """A parameter's value from flat leaves."""
    return map_leaves(
        lambda leaf: leaves[leaf.index] if isinstance(leaf, Slot) else leaf,
        tree,
        lambda record, items: record_factory(record)(*items),
    )
