"""Kernels as operators of `torch.library`: torch.export, torch.compile and recorders see one node for each.

Every operator has a kernel for tensors, a fake one for their sizes and, where it can be differentiated, a gradient that
is an operator too. torch keeps operators until the process ends, so the name identifies what an operator computes:
where an equal kernel defines it again, the first definition stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

NAMESPACE = "tracepack"
_defined: set[str] = set()
_LIBRARY: Any = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]  # torch leaves it untyped


@dataclass(frozen=True)
class Gradient:
    """How an operator is differentiated.

    Attributes:
        backward: given the context and the outputs' gradients, the gradients of the arguments.
        save: given the context, the arguments and the outputs, keeps what `backward` needs; None keeps nothing.
    """

    backward: Callable[..., Any]
    save: Callable[..., None] | None = None


def define(
    base: str,
    schema: str,
    run: Callable[..., Any],
    fake: Callable[..., Any],
    *,
    gradient: Gradient | None = None,
    batching: Callable[..., Any] | None = None,
) -> Any:
    """Defines an operator.

    Args:
        base: its name in the namespace.
        schema: its arguments and results, `"(Tensor x, int n) -> Tensor"`; it changes none of its arguments.
        run: computes it on any device.
        fake: gives results of the right sizes without computing them.
        gradient: how it is differentiated; None leaves it without.
        batching: the rule of `torch.vmap`.

    Returns:
        The operator, to be called.
    """
    if base not in _defined:
        _define(base, schema, run, fake, gradient, batching)
        _defined.add(base)
    return getattr(torch.ops.tracepack, base)


def _define(
    base: str,
    schema: str,
    run: Callable[..., Any],
    fake: Callable[..., Any],
    gradient: Gradient | None,
    batching: Callable[..., Any] | None,
) -> None:
    name = f"{NAMESPACE}::{base}"
    _LIBRARY.define(f"{base}{schema}", tags=(torch.Tag.pt2_compliant_tag,))
    _LIBRARY.impl(base, run, "CompositeExplicitAutograd")
    torch.library.register_fake(name, fake, lib=_LIBRARY)
    if gradient is not None:
        torch.library.register_autograd(name, gradient.backward, setup_context=gradient.save, lib=_LIBRARY)
    if batching is not None:
        torch.library.register_vmap(name, batching, lib=_LIBRARY)
