"""Kernels as operators of `torch.library`: torch.export, torch.compile and recorders see one node for each.

Every operator has a kernel for tensors, a fake one for their sizes and, where it can be differentiated, a gradient that
is an operator too. torch keeps operators until the process ends, so the name identifies what an operator computes:
where an equal kernel defines it again, the first definition stays.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad

from ..runtime.interrupts.changes import forkable

NAMESPACE = "tracepack"
_defined: set[str] = set()
_registering = forkable(_thread.allocate_lock())
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
        _once(base, lambda: _define(base, schema, run, fake, gradient, batching))
    return getattr(torch.ops.tracepack, base)


def _once(base: str, register: Callable[[], None]) -> None:
    """Registers an operator, in a thread of its own: an interrupt comes to the main thread, and would leave it half."""
    failed: list[Exception] = []
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            with _registering:
                if base not in _defined:
                    register()
                    _defined.add(base)
        except Exception as error:
            failed.append(error)
        finally:
            done.release()

    _thread.start_new_thread(work, ())  # a Thread has locks that an interrupt would leave locked
    done.acquire()
    if failed:
        raise failed[0]


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


def in_forward_mode() -> bool:
    """Whether a level of forward-mode differentiation is open; of a fake tensor nothing more can be asked."""
    return bool(forward_ad._current_level >= 0)


def have_tangents(arguments: Sequence[Any]) -> bool:
    """Whether a tensor has a tangent of forward-mode differentiation, which the results of a kernel would lack."""
    return in_forward_mode() and any(isinstance(each, torch.Tensor) and _may_have_tangent(each) for each in arguments)


def _may_have_tangent(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a tangent; under torch.func.jvp and torch.vmap nothing tells that it has none."""
    transforms: Any = sys.modules.get("torch._functorch.eager_transforms")  # an import of it costs time
    nested = transforms is not None and transforms.JVP_NESTING
    if nested or torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    unpack: Any = forward_ad.unpack_dual  # torch leaves it untyped
    return unpack(tensor).tangent is not None


def are_batched(gradients: Sequence[torch.Tensor | None], *, also_by_vmap: bool = True) -> bool:
    """Whether gradients come several at once, by `is_grads_batched=True` or torch.vmap, in tensors without memory."""
    functorch = torch._C._functorch
    return any(
        each is not None
        and (functorch.is_legacy_batchedtensor(each) or (also_by_vmap and functorch.is_batchedtensor(each)))
        for each in gradients
    )
