"""Rows that are unlike those at hand, to stand beside them: far larger ones, infinity and NaN, other integers.

What looks at all rows at once may depend on the others only where they are unlike this one, as `x / x.max()` and
`(x > 1).any()` do. So servers and batch jobs try rows beside these, too, before they run rows together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ....ops.graph.graph import Graph, KernelCall
from ....ops.graph.traverse import every_node

FILLS = (1000.0, 1e9, float("inf"), float("nan"))  # what floating numbers of the company are multiplied by
LARGE = (30.0, 1000.0)  # what those of rows are multiplied by that are compared
RANGES = ((0, 10), (0, 100), (0, 1000), (-100, 100))  # of the integers of the company, as far as they run
CHECKED = ("torchscript", "onnx")  # the kernels that run native code, and refuse an index beyond a table

Ranges = dict[str, tuple[int, int]]  # of the integers of each input


def integer_ranges(
    graph: Graph, placement: Mapping[str, str], names: Iterable[str], examples: Sequence[Mapping[str, Any]]
) -> list[Ranges]:
    """The ranges of integers that may stand beside others.

    Any range may be tried where an index beyond a table is an error of its run alone. A GPU, and code of which nobody
    knows, may be broken by one for all that follows: there, only what the examples show.

    Args:
        graph: of the pipeline.
        placement: the device of each of its ops.
        names: its inputs.
        examples: feeds that it takes.
    """
    kernels = [node.target.kernel for node in every_node(graph) if isinstance(node.target, KernelCall)]
    unknown = any(kernel.runs_code and kernel.kind not in CHECKED for kernel in kernels)
    if not unknown and set(placement.values()) <= {"cpu"}:
        return [dict.fromkeys(names, limits) for limits in RANGES]
    seen: Ranges = {}
    for name in names:
        tensors = [feed[name] for feed in examples if isinstance(feed.get(name), torch.Tensor)]
        filled = [tensor for tensor in tensors if is_integer(tensor) and tensor.numel()]
        if filled:
            seen[name] = min(int(each.min()) for each in filled), max(int(each.max()) for each in filled) + 1
    return [seen] if seen else []


def scaled(value: Any, factor: float) -> Any:
    """Floating numbers multiplied by a factor; anything else as it is."""
    return value * factor if is_floating(value) else value


def integers(value: Any, limits: tuple[int, int] | None) -> Any:
    """Random integers of a range in place of those of a tensor; anything else as it is."""
    if limits is None or not is_integer(value):
        return value
    held, generator = torch.iinfo(value.dtype), torch.Generator().manual_seed(0)
    low, high = max(limits[0], held.min), min(limits[1] - 1, held.max)
    return torch.randint(low, high + 1, value.shape, generator=generator).to(value.dtype)


def is_floating(value: Any) -> bool:
    """Whether a value is a tensor of floating numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def is_integer(value: Any) -> bool:
    """Whether a value is a tensor of integers."""
    return isinstance(value, torch.Tensor) and not (
        value.is_floating_point() or value.is_complex() or value.dtype == torch.bool
    )
