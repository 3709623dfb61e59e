"""What a model of transformers gives a block: a table that is asked by attributes, by texts and by places."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

import torch
from torch.utils._pytree import tree_leaves

from ..one_run.block_refusals import refuse

OUTPUTS = "outputs"
"""What stands first in a pair of the graph of a model whose second part is such a table."""


LEFT: dict[str, Any] = {}
"""In place of a result that no graph gives, such as a cache of keys and values."""


def without_caches(found: Any) -> Any:
    """What a model gave, with `LEFT` in place of all in a table that holds more than tensors."""
    if not (isinstance(found, OrderedDict) and hasattr(type(found), "to_tuple")):
        return found
    made = type(found).__new__(type(found))
    for name, item in found.items():  # the table's own way to set an item looks at the class of the first
        held = all(isinstance(each, torch.Tensor) for each in tree_leaves(item))
        OrderedDict.__setitem__(made, name, item if held else LEFT)
    return made


def is_outputs(kind: type) -> bool:
    """Whether a class is one of transformers' outputs, or that of what the op of a tokenizer gives."""
    return issubclass(kind, dict) and (hasattr(kind, "to_tuple") or getattr(kind, "is_named_columns", False))


def _is_left(item: Any) -> bool:
    return type(item) is dict and item == LEFT


class ModelOutputs:
    """A table of results; it cannot be gone through, for that gives its keys in Python.

    Args:
        items: the results by their names.
    """

    __slots__ = ("items",)

    def __init__(self, items: dict[str, Any]) -> None:
        self.items = items

    def get(self, name: str) -> Any:
        """A result by its name."""
        return self._refuse(name) if _is_left(self.items.get(name, LEFT)) else self.items[name]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.get(key)
        found = tuple(self.items.values())[key]
        if _is_left(found) or (isinstance(key, slice) and any(map(_is_left, found))):
            self._refuse(key)
        return found

    def __iter__(self) -> NoReturn:
        self._refuse("its items")

    def __contains__(self, _: Any) -> bool:
        self._refuse("in")

    def __len__(self) -> int:
        return len(self.items)

    @staticmethod
    def _refuse(what: str) -> NoReturn:
        refuse(f"a block of plain Python asks the outputs of a model for {what!r}", fix="Ask for a tensor by its name.")
        raise AssertionError  # says `refuse`


def as_outputs(found: Any) -> Any:
    """What a model or the graph of one gave, as the block gets it."""
    if isinstance(found, dict) and is_outputs(type(found)):
        return ModelOutputs(dict(found))
    match found:
        case (str(mark), dict(items)) if mark == OUTPUTS:
            return ModelOutputs(items)
    return found
