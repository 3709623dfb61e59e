"""The outputs whose gradients a named backward takes, in its order: a list of names, so that a file can hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ..expr.errors import DerivativeError

Reorder = Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]
"""Takes the gradients of all outputs, and gives those that a named backward takes, in its order."""


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
        given = list(reorder(list(probes)))
    except Exception as error:
        raise failed(error, "gradients without contents", _SELECT) from error
    names = [name for each in given for name, probe in zip(outputs, probes, strict=True) if probe is each]
    if len(names) < len(given):
        what = "the reorder_function does not give some of the gradients that it is given"
        raise DerivativeError(what, got="other tensors", fix=_SELECT)
    return tuple(names)


_META = torch.device("meta")
_SELECT = "Select here, lambda g: [g[1]], and compute in the backward; or give it to a call that is not recorded."


def failed(error: Exception, probes: str, fix: str = "") -> DerivativeError:
    """The error of a reorder_function that raised one of its own, or of torch's."""
    said = (str(error).splitlines() or [""])[0]
    return DerivativeError(
        f"the reorder_function fails on {probes}", got=f"{type(error).__name__}: {said}".rstrip("."), fix=fix
    )


def on_probes(
    reorder: Reorder, kinds: Sequence[tuple[tuple[int, ...], torch.dtype]], device: torch.device
) -> tuple[object, torch.device]:
    """What a function gives for gradients of these sizes and types, and the device on which it was asked.

    Tensors without contents tell the sizes. A function that reads values is asked again on ones, whose values may lead
    it elsewhere than those of the gradients: they are held to the sizes found here when they come.

    Raises:
        DerivativeError: the function fails on ones, too.
    """
    try:
        return reorder([torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in kinds]), _META
    except Exception:
        ones = [torch.ones(shape, dtype=dtype, device=device) for shape, dtype in kinds]
    try:
        return reorder(ones), device
    except Exception as error:
        raise failed(error, "ones of the outputs' sizes") from error
