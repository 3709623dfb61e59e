"""Equal numbers that are ordered: torch leaves open in which order, and runtimes choose another one.

The numbers that come out are the same, their places are not, nor what is looked up by these. ONNX Runtime sorts as
torch does on the CPU, the first of equal numbers first, which `topk` of torch does not keep to; OpenVINO does not sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch


def without_ties(name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
    """Whether no two numbers are equal of which a function gives the places, as tensors.

    Args:
        name: the plain name of the function.
        args: its arguments.
        given: those by name.
        found: its result.
    """
    if name != "topk" or not found[0].numel() or not found[0].dim():
        return
    values, dim = found[0], args[2] if len(args) > 2 else given.get("dim", -1)
    least, most = values.amin(dim, keepdim=True), values.amax(dim, keepdim=True)
    inside = (args[0] >= least) & (args[0] <= most)
    ordered = values.sort(dim)[0].movedim(dim, -1)
    yield (inside.sum(dim) == values.shape[dim]).all()
    yield (ordered[..., 1:] != ordered[..., :-1]).all()
