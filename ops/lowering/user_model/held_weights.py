"""Weights that a model holds elsewhere than as its parameters: in a list, a dictionary, a closure.

torch.export gives such a tensor anew, without gradients and without its name. Where it lies in memory tells which one
it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...graph.graph import Constant, Graph
from ...graph.sharing.tensor_places import place
from ...graph.traverse import own_constants


class HeldWeights:
    """The weights that a call of a model was seen to use, and what it holds of these without gradients."""

    def __init__(self) -> None:
        self._weights: dict[Any, torch.Tensor] = {}
        self._plain: set[Any] = set()
        self._made: dict[int, torch.Tensor] = {}  # what the call made of a weight, kept so that ids stay taken

    def note(self, arguments: Any, result: Any) -> None:
        """Takes the tensors that a function of torch was given, and what it returned."""
        for tensor in _tensors(arguments):
            key = place(tensor)
            if tensor.requires_grad and tensor.is_leaf:
                self._weights[key] = tensor
            elif id(tensor) not in self._made:
                self._plain.add(key)
        for tensor in _tensors(result):
            if place(tensor) in self._weights and not (tensor.is_leaf and tensor.requires_grad):
                self._made[id(tensor)] = tensor

    def tie(self, graph: Graph) -> None:
        """Puts the weights back where the export has a tensor without gradients."""
        for constant in own_constants(graph):
            found = self._weight(constant)
            if found is not None and place(found) not in self._plain:
                constant.tensor, constant.parameter = found, True

    def are_unclear(self, graph: Graph) -> bool:
        """Whether a constant may be a weight, or the same tensor without gradients: the model uses both."""
        return any(self._weight(constant) is not None for constant in own_constants(graph))

    def _weight(self, constant: Constant) -> torch.Tensor | None:
        lifted = not constant.parameter and not constant.mutable and constant.name.startswith(_LIFTED)
        return self._weights.get(place(constant.tensor)) if lifted else None


_LIFTED = "lifted_tensor"  # torch's name for a tensor that is no attribute of the model


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    """The dense tensors with memory in the arguments of a function of torch."""
    if isinstance(tree, torch.Tensor):
        if type(tree) in (torch.Tensor, torch.nn.Parameter) and tree.layout is torch.strided:
            yield tree
    elif isinstance(tree, list | tuple | dict):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensors(each)
