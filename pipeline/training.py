"""Training a loaded pipeline further: which of its constants are parameters, and under which names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..ops.graph.graph import Constant, Graph
from ..ops.graph.traverse import bodies, own_constants


def make_trainable(held: Sequence[Constant], origins: Sequence[Any]) -> None:
    """Gives every parameter memory of its own that takes gradients; tied ones stay one.

    Args:
        held: the constants of an archive.
        origins: for each, what tied weights share; weights that are merely equal are stored once but do not.
    """
    made: dict[Any, torch.Tensor] = {}
    for index, (constant, origin) in enumerate(zip(held, origins, strict=True)):
        if constant.parameter and not constant.mutable and constant.tensor.is_floating_point():
            key = index if origin is None else origin
            if key not in made:
                made[key] = constant.tensor.clone().requires_grad_()
            constant.tensor = made[key]


def named_parameters(graph: Graph) -> dict[str, torch.Tensor]:
    """The tensors that take gradients, each once, named by op and parameter."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, constant in _named(graph):
        if constant.tensor.requires_grad and id(constant.tensor) not in seen:
            seen.add(id(constant.tensor))
            count = sum(known == name or known.startswith(f"{name}#") for known in found)
            found[f"{name}#{count + 1}" if count else name] = constant.tensor
    return found


def _named(graph: Graph) -> Iterator[tuple[str, Constant]]:
    for body in bodies(graph):
        for constant in own_constants(body.graph):
            yield f"{body.name}.{constant.name}", constant
    for constant in own_constants(graph):
        yield constant.name, constant
