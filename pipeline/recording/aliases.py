"""Operators that sometimes give back their argument itself: `contiguous`, `to`, `float`, dropout that is off.

Which Python object comes back depends on strides and dtypes. A recording that took the two names for one would go
wrong on inputs where they are two, so the result is made another object, over the same memory.
"""

from __future__ import annotations

from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.traverse import leaves
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced

_RESHAPING = ("squeeze_", "unsqueeze_", "transpose_", ".t_", "swapaxes_", "swapdims_", "as_strided_")


def versions(tree: Any) -> dict[int, int]:
    """How often each tensor in a tree was written, by id.

    A traced list of strings, which pretends to be a list, is not looked into: that would read its length.
    """
    return {id(leaf): version(leaf) for leaf in leaves(tree, is_traced) if isinstance(leaf, torch.Tensor)}


def version(tensor: torch.Tensor) -> int:
    """How often a tensor was written; tensors made in inference mode do not count."""
    return -1 if tensor.is_inference() else tensor._version


class Twins:
    """Tensors of one recording that may be, or may not be, one object."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._alive: list[torch.Tensor] = []  # ids stay taken

    def separate(self, result: Any, before: dict[int, int], function: str) -> Any:
        """The result with a new tensor object in place of an argument that was given back.

        Args:
            result: what the function returned.
            before: the versions of its arguments before; one that writes gives its argument back always.
            function: its name.

        Raises:
            RecordError: the function changes the shape of one of two that may be one.
        """
        if isinstance(result, torch.Tensor):
            if id(result) not in before:
                return result
            if version(result) != before[id(result)] or function.endswith("_"):
                self._refuse_reshaping(result, function)
                return result
            return self.twin(result)
        if type(result) in (tuple, list):
            return type(result)(self.separate(item, before, function) for item in result)
        return result

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """Another object over the memory of a tensor."""
        twin = tensor.detach()
        self._ids |= {id(tensor), id(twin)}
        self._alive += (tensor, twin)
        return twin

    def _refuse_reshaping(self, tensor: torch.Tensor, function: str) -> None:
        if id(tensor) in self._ids and function.endswith(_RESHAPING):
            raise RecordError(
                f"{function} changes the shape of a tensor that may be another one too",
                where=str(user_line() or ""),
                fix="Use the form that returns a new view, without the underscore.",
            )
