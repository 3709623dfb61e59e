"""Regions through which a NaN and an infinity go in ONNX Runtime as they do in torch, so that inputs need no check.

Of a small network the pass over an input that looks for them is a twentieth of a run. Sums and products, and `relu`,
carry them in every runtime that does not compute the bound first. Whether this build does is tried where the artefact
is made: it is shown such inputs, and only with this build, on such a processor, is the check left out.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence

import torch

from ...graph.graph import BodyCall, Graph, Operator
from ...graph.traverse import constants, every_node
from ...graph.types import TensorType

CARRIES = "carries NaN"
"""The key of an artefact's description that holds the build for which that was tried."""

CARRIERS = frozenset(
    "linear matmul rmatmul mm bmm relu add radd sub rsub mul rmul neg t transpose permute view reshape flatten "
    "unsqueeze squeeze contiguous clone detach size".split()
)
"""The plain names of functions."""

_SHOWN = (float("nan"), float("inf"), float("-inf"), 1e30)
_WITHIN = 1e-3  # of the largest number
_MOST_SHOWN = 1 << 20  # numbers of an input: beyond that the pass costs little beside the run


def may_carry(graph: Graph) -> bool:
    """Whether a region has nothing but such functions, of float32."""
    nodes = [node for node in every_node(graph) if not isinstance(node.target, BodyCall)]
    named = all(isinstance(node.target, Operator) and _plain(node.target.name) in CARRIERS for node in nodes)
    kinds = [value.type for value in graph.inputs]
    single = all(isinstance(kind, TensorType) and kind.dtype == "float32" for kind in kinds)
    return named and single and all(held.tensor.dtype == torch.float32 for held in constants(graph))


def _plain(name: str) -> str:
    """``"linear"`` of ``"aten.linear.default"``, ``"mul"`` of ``"torch.Tensor.mul"``."""
    return name.split(".")[1 if name.startswith("aten.") else -1]


def build(package: str) -> str:
    """What decides which code of a package runs: its version, the system and the processor."""
    return f"{package} {platform.system()} {platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def carries(
    function: Callable[..., Sequence[torch.Tensor]], wanted: Callable[..., Sequence[torch.Tensor]],
    examples: Sequence[Sequence[torch.Tensor]],
) -> bool:  # fmt: skip
    """Whether a function gives what another one gives for examples that hold a NaN, an infinity, or large numbers."""
    return all(_same(function(*shown), wanted(*shown)) for given in examples for shown in _shown(given))


def _shown(given: Sequence[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The inputs with each of these numbers in the first, a middle, the last, and every place of each input."""
    for number in _SHOWN:
        for index, value in enumerate(given):
            if not 0 < value.numel() <= _MOST_SHOWN:
                continue
            for place in (0, value.numel() // 2, value.numel() - 1, slice(None)):
                changed = value.detach().contiguous().clone()
                changed.view(-1)[place] = number
                yield [*given[:index], changed, *given[index + 1 :]]


def _same(found: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> bool:
    return all(_same_tensor(mine, theirs) for mine, theirs in zip(found, wanted, strict=True))


def _same_tensor(mine: torch.Tensor, theirs: torch.Tensor) -> bool:
    finite = theirs[theirs.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(mine, theirs, rtol=_WITHIN, atol=_WITHIN * scale, equal_nan=True)
