"""The outputs whose gradients a named backward takes, in its order: a list of names, so that a file can hold it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..expr.errors import DerivativeError
from .plan import Reorder


def selected(reorder: Reorder | Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """The names of the outputs whose gradients a backward takes.

    Args:
        reorder: a function of the list of the outputs' gradients that gives some of them in another order; it is
            called once, on tensors without contents. Or the names themselves.
        outputs: all of them, in order.

    Raises:
        DerivativeError: the function gives anything else, or a name is none of the outputs'.
    """
    if not callable(reorder):
        unknown = [name for name in reorder if name not in outputs]
        if unknown:
            raise DerivativeError(f"there is no output '{unknown[0]}' to take the gradient of", expected=list(outputs))
        return tuple(reorder)
    with torch._C.DisableTorchFunction():  # outside of a recording that may run
        probes = [torch.empty(0, device="meta") for _ in outputs]
    try:
        found = [next(n for n, p in zip(outputs, probes, strict=True) if p is given) for given in reorder(list(probes))]
    except Exception as error:
        raise DerivativeError(
            "the reorder_function does not give some of the gradients that it is given",
            got=error if str(error) else "other tensors",
            fix="Compute in the backward; a function that computes can be given to a call, where it is not recorded.",
        ) from error
    return tuple(found)
