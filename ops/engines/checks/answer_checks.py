"""Whether the answer of an engine is like that of the nodes of its region."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...graph.graph import Graph
from ...graph.traverse import leaves
from ...graph.types import TensorType


def has_nan(values: Sequence[torch.Tensor]) -> bool:
    """Whether there is a NaN among the numbers of some tensors."""
    return any(bool(value.isnan().any()) for value in values if value.dtype.is_floating_point)


def allowed(graph: Graph, tolerance: float) -> float:
    """By how much a number may differ, of the largest of its tensor: ten times what a search allows in an output."""
    kinds = [leaf.type for node in graph.nodes for leaf in leaves(node.output) if leaf is not None]
    rough = any(isinstance(kind, TensorType) and kind.dtype in ("float16", "bfloat16") for kind in kinds)
    return max(5e-2 if rough else 1e-3, 10 * tolerance)


def is_alike(wanted: torch.Tensor, found: torch.Tensor, tolerance: float) -> bool:
    """Whether a tensor is like the wanted one: equal where it holds no fractions."""
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        return False
    if not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
        return torch.equal(wanted, found)
    finite = wanted[wanted.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


def tells(value: torch.Tensor) -> bool:
    """Whether an answer could have differed: zeros are zeros whatever they were multiplied with."""
    return not value.dtype.is_floating_point or bool(value.any())
