"""Equal numbers that are ordered: torch leaves open in which order, and runtimes choose another one.

The numbers that come out are the same, their places are not, nor what is looked up by these. ONNX Runtime gives the
first of equal numbers first, which `topk` of torch does not keep to, nor its sorts of more than 16 numbers, unless they
are asked to be stable; OpenVINO does not sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

STABLE = 16  # so many numbers torch sorts in an order that is stable


def without_ties(name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
    """Whether no two numbers are equal of which a function gives the places, as tensors.

    Args:
        name: the plain name of the function.
        args: its arguments.
        given: those by name.
        found: its result.
    """
    values = found[0] if isinstance(found, tuple) else (*args, given.get("input"))[0]
    if name not in ("topk", "sort", "argsort") or given.get("stable") or not values.numel() or not values.dim():
        return
    place = 2 if name == "topk" else 1
    dim = args[place] if len(args) > place else given.get("dim", -1)
    ordered = values if name == "sort" else values.sort(dim)[0]
    size = ordered.shape[dim]
    if name == "topk":
        least, most = values.amin(dim, keepdim=True), values.amax(dim, keepdim=True)
        inside = (args[0] >= least) & (args[0] <= most)
        yield (inside.sum(dim) == size).all()
        ordered = ordered.movedim(dim, -1)
        yield (ordered[..., 1:] != ordered[..., :-1]).all()
    else:  # the first one is beside the last, which is another one unless all are equal; slices would fix the size
        apart = (ordered != ordered.roll(1, dim)).all()
        yield apart | (torch.ones_like(values).sum(dim) <= STABLE).all()
