"""Torch's modes in this thread: saves and restores them, and runs functions outside of them.

Tensors that a pipeline keeps from run to run must be made outside of the modes of its first caller: a tensor made under
a fake or tracing mode stays fake.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import torch
from torch.utils import _python_dispatch as dispatching

from .changes import Change

_C: Any = torch._C
_operators: Any = torch._ops
_dispatching: Any = dispatching


class Modes:
    """The modes of this thread as they are when this is made."""

    def __init__(self) -> None:
        self.grad = torch.is_grad_enabled()
        self.functions = [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]
        self.dispatch = [_C._get_dispatch_stack_at(i) for i in range(_C._len_torch_dispatch_stack())]
        self.pre_dispatch = _pre_dispatch()
        self.function_state = _C._get_torch_function_state()
        self.included = _C._dispatch_tls_local_include_set()
        self.excluded = _C._dispatch_tls_local_exclude_set()
        self.autocast = _autocast()

    def restore(self) -> None:
        """Restores the modes."""
        take_off()
        for mode in self.dispatch:
            _C._push_on_torch_dispatch_stack(mode)
        for mode in self.pre_dispatch:
            _dispatching._push_mode(mode)
        for mode in self.functions:
            _C._push_on_torch_function_stack(mode)
        _C._set_torch_function_state(self.function_state)
        _restore_python_dispatcher(self.included.has(_C.DispatchKey.PythonDispatcher))
        _restore_keys(self.included, _C._dispatch_tls_local_include_set, _C._dispatch_tls_set_dispatch_key_included)
        _restore_keys(self.excluded, _C._dispatch_tls_local_exclude_set, _C._dispatch_tls_set_dispatch_key_excluded)
        _restore_autocast(self.autocast)
        _say_which()
        _C._set_grad_enabled(self.grad)


def take_off() -> None:
    """Takes the function and dispatch modes of this thread off."""
    if _has_pre_dispatch():
        while _operators._len_torch_dispatch_stack_pre_dispatch():
            _operators._pop_mode_from_pre_dispatch()
    while _C._len_torch_dispatch_stack():
        _C._pop_torch_dispatch_stack(None)
    while _C._len_torch_function_stack():
        _C._pop_torch_function_stack()


def _has_pre_dispatch() -> bool:
    """Whether this thread has modes before dispatch: torch keeps those of all threads in one place."""
    return bool(_C._dispatch_tls_is_dispatch_key_included(_C.DispatchKey.PreDispatch))


def _pre_dispatch() -> list[Any]:
    if not _has_pre_dispatch():
        return []
    state = _operators.mode_stack_state_for_pre_dispatch()
    found = [state._schema_check_mode, state.get(0), state.get(1)]
    return [mode for mode in found if mode is not None]


# Every call of an engine asks these.
_PROXY, _PRE_DISPATCH = _C._TorchDispatchModeKey.PROXY, _C.DispatchKey.PreDispatch
count_modes: Callable[[], int] = _C._len_torch_dispatch_stack
is_tracing: Callable[[], bool] = _C._is_tracing
is_functional: Callable[[torch.Tensor], bool] = torch._is_functional_tensor
_has_key = _C._dispatch_tls_is_dispatch_key_included


def _infra_modes() -> list[Any]:
    """The list in which torch keeps the modes before dispatch of all threads; one with a mode where it has no such."""
    found = vars(_operators.mode_stack_state_for_pre_dispatch()).get("_ModeStackStateForPreDispatch__infra_modes")
    return found if isinstance(found, list) and found else [True]


before_dispatch = _infra_modes()
"""Its first item is None unless `makes_graph` has to be asked."""


def makes_graph() -> bool:
    """Whether torch makes a graph of what this thread runs, as `make_fx` and `torch.export` do."""
    if count_modes() and _C._get_dispatch_mode(_PROXY) is not None:
        return True
    return _has_key(_PRE_DISPATCH) and _operators._get_dispatch_mode_pre_dispatch(_PROXY) is not None


def is_followed(values: Iterable[torch.Tensor]) -> bool:
    """Whether torch follows what becomes of plain tensors: code that is none of its operators would freeze, or lose it.

    `make_fx` and `torch.jit.trace` hand over plain tensors, and `functionalize` some that only look like plain ones.
    """
    return makes_graph() or is_tracing() or any(map(is_functional, values))


def _say_which() -> None:
    """Sets torch's own flags for the dispatch modes that are on."""
    stack = [_C._get_dispatch_stack_at(i) for i in range(_C._len_torch_dispatch_stack())]
    notes = {
        "_is_in_torch_dispatch_mode": bool(stack),
        "_is_in_non_infra_torch_dispatch_mode": any(not mode.is_infra_mode() for mode in stack),
        "_is_in_any_mode_without_ignore_compile_internals": any(not mode.ignore_compile_internals() for mode in stack),
    }
    for name, value in notes.items():
        if hasattr(_dispatching, name):
            setattr(_dispatching, name, value)
    tell = getattr(_dispatching, "set_is_in_mode_without_ignore_compile_internals", None)
    if tell is not None:
        tell(notes["_is_in_any_mode_without_ignore_compile_internals"])


def _restore_keys(before: Any, now: Callable[[], Any], assign: Callable[[Any, bool], None]) -> None:
    """Restores the dispatch keys that a thread includes, or excludes."""
    found = now()
    if found == before:
        return
    for key in _C.DispatchKey.__members__.values():
        if found.has(key) != before.has(key):
            assign(key, before.has(key))


_entered: list[Any] = []


def _restore_python_dispatcher(on: bool) -> None:
    """Includes the key of torch's Python dispatcher, or not, with the state that belongs to it.

    With the key alone, torch's next guard would take that state for what it found, and include the key when it ends.
    """
    key = _C.DispatchKey.PythonDispatcher
    if _C._dispatch_tls_is_dispatch_key_included(key) == on:
        return
    guard = (_C._EnablePythonDispatcher if on else _C._DisablePythonDispatcher)()
    guard.__enter__()
    _entered.append(guard)  # its end would bring the state back


_AUTOCAST = ("cpu", "cuda")


def _autocast() -> tuple[bool, list[tuple[str, bool, torch.dtype]]]:
    devices = [(name, torch.is_autocast_enabled(name), torch.get_autocast_dtype(name)) for name in _AUTOCAST]
    return torch.is_autocast_cache_enabled(), devices


def _restore_autocast(before: tuple[bool, list[tuple[str, bool, torch.dtype]]]) -> None:
    if _autocast() == before:
        return
    cached, devices = before
    torch.set_autocast_cache_enabled(cached)
    for name, enabled, dtype in devices:
        torch.set_autocast_enabled(name, enabled)
        torch.set_autocast_dtype(name, dtype)
    if not any(enabled for _, enabled, _ in devices):
        for _ in range(torch.autocast_increment_nesting()):
            torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()


class Outside(Change):
    """While it is entered, no function or dispatch mode is on: the recorder's, and any that the user has entered.

    Switching torch functions off altogether would break torch.export, whose proxies need them.
    """

    def __init__(self) -> None:
        self.before: Modes | None = None

    def make(self) -> None:
        """Takes the modes off."""
        self.before = Modes()
        take_off()

    def undo(self) -> None:
        """Puts them back."""
        if self.before is not None:
            self.before.restore()
        self.before = None


class _Apart(Outside):
    """`Outside`, and also outside of functorch transforms, inference mode and a trace of TorchScript."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: list[Any] = []
        self.inference: Any = None
        self.tracing: Any = None

    def make(self) -> None:
        self.tracing = _C._get_tracing_state()
        super().make()
        if self.tracing is not None:
            _C._set_tracing_state(None)
        while _C._functorch.peek_interpreter_stack() is not None:
            self.layers.append(_C._functorch.pop_dynamic_layer_stack())
        if torch.is_inference_mode_enabled():
            self.inference = torch.inference_mode(False)
            self.inference.__enter__()

    def undo(self) -> None:
        if self.inference is not None:
            self.inference.__exit__(None, None, None)
            self.inference = None
        while self.layers:
            _C._functorch.push_dynamic_layer_stack(self.layers.pop())
        if self.before is not None and self.tracing is not None:
            _C._set_tracing_state(self.tracing)
        super().undo()


P = ParamSpec("P")
R = TypeVar("R")


def outside(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function run outside of every mode that its caller has entered, for results that are kept."""

    @wraps(function)
    def apart(*args: P.args, **kwargs: P.kwargs) -> R:
        with _Apart():
            return function(*args, **kwargs)

    return apart


def asks_gradients() -> bool:
    """Whether a function of `torch.autograd.functional` runs the caller, with gradients on."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None or not torch.is_grad_enabled():
            return False
        if frame.f_code.co_filename == _FUNCTIONAL:
            return True
        frame = frame.f_back
    return False


_FUNCTIONAL, _MOST_FRAMES = torch.autograd.functional.__file__, 40
