"""Questions about the modes that torch.export is on while a model runs: a model hears of its own modes only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import _C, _guards, overrides
from torch.fx import _symbolic_trace
from torch.fx.experimental import proxy_tensor
from torch.utils import _python_dispatch

from ..lock import Patch
from .askers import hearing, is_answered_plainly

_function_modes, _operator_modes = _C._len_torch_function_stack, _C._len_torch_dispatch_stack
_function_mode_at, _operator_mode_at = _C._get_function_stack_at, _C._get_dispatch_stack_at


def modes_around() -> tuple[int, int]:
    """How many modes there are for functions, and for operators."""
    return _function_modes(), _operator_modes()


def _own_functions(*args: Any) -> list[Any]:
    return [_function_mode_at(at) for at in range(hearing[-1].modes[0], _function_modes())]


def _own_operators(*args: Any) -> list[Any]:
    return [_operator_mode_at(at) for at in range(hearing[-1].modes[1], _operator_modes())]


def _last(modes: list[Any]) -> Any:
    return modes[-1] if modes else None


def _overrides(*things: Any) -> bool:
    """Whether a mode of the model's is on, or an argument has a function of torch of its own."""
    return bool(_own_functions()) or any(_overrides_itself(thing) for thing in things)


def _overrides_itself(thing: Any) -> bool:
    own = getattr(type(thing), "__torch_function__", None)
    if own is None or type(thing) is torch.Tensor or own is _C._disabled_torch_function_impl:
        return False
    return bool(_C._is_torch_function_enabled())


_PLAIN: dict[str, tuple[Any, Callable[..., Any]]] = {
    "has_torch_function": (overrides, lambda things: _overrides(*things)),
    "has_torch_function_unary": (overrides, _overrides),
    "has_torch_function_variadic": (overrides, _overrides),
    "_get_current_function_mode": (overrides, lambda: _last(_own_functions())),
    "_get_current_function_mode_stack": (overrides, _own_functions),
    "_len_torch_function_stack": (_C, lambda: len(_own_functions())),
    "_len_torch_dispatch_stack": (_C, lambda: len(_own_operators())),
    "is_in_torch_dispatch_mode": (_python_dispatch, lambda *args, **kwargs: bool(_own_operators())),
    "is_in_any_mode_without_ignore_compile_internals": (_python_dispatch, lambda: bool(_own_operators())),
    "any_torch_dispatch_mode_on_stack": (_python_dispatch, lambda: bool(_own_operators())),
    "_get_current_dispatch_mode": (_python_dispatch, lambda: _last(_own_operators())),
    "_get_current_dispatch_mode_stack": (_python_dispatch, _own_operators),
    "get_proxy_mode": (proxy_tensor, lambda: None),
    "is_fx_tracing": (_symbolic_trace, lambda: False),
    "detect_fake_mode": (_guards, lambda *args: None),
    "active_fake_mode": (_guards, lambda: None),
}
"""Functions of torch, each with the module that has it and what it answers in a plain run."""


def _replacing(name: str, original: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        if is_answered_plainly(sys._getframe(1), name):
            return plain(*args, **kwargs)
        return original(*args, **kwargs)

    return ask


_asks = {
    name: (owner, getattr(owner, name), _replacing(name, getattr(owner, name), plain))
    for name, (owner, plain) in _PLAIN.items()
    if hasattr(owner, name)
}
LENT: dict[int, Any] = {id(original): ask for _, original, ask in _asks.values()}
"""What stands for these functions where a model holds them by a name of its own, by the id of the original."""


def _instead(ask: Any) -> Callable[[Any, Patch], Any]:
    return lambda original, patch: ask


def _context(original: Any, patch: Patch) -> Any:
    """`TracingContext.try_get`, which is a static method."""

    def try_get() -> Any:
        return None if is_answered_plainly(sys._getframe(1), "TracingContext.try_get") else original.__func__()

    return staticmethod(try_get)


PATCHES = (
    *(Patch(owner, name, _instead(ask)) for name, (owner, _, ask) in _asks.items()),
    Patch(_guards.TracingContext, "try_get", _context),
)
