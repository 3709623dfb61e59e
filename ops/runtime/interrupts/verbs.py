"""The guard around a verb: after an exception of any kind, everything is as it was before the call.

`with` and `try` ensure that for ordinary errors, but an interrupt can come between any two bytecodes. So this guard
changes nothing before its `try` begins. After an exception it undoes the journal (`changes`), ends generators that
torch left suspended in a `with`, and restores the modes of the thread.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import torch
from torch.fx import graph_module

from ..user_code import is_users
from .alarm import ALARM, Alarm, is_of_handler, rings
from .changes import made, undo_from
from .modes import Modes, Outside

P = ParamSpec("P")
R = TypeVar("R")
_MASKS = hasattr(signal, "pthread_sigmask")
_BLOCK, _SET = (signal.SIG_BLOCK, signal.SIG_SETMASK) if _MASKS else (0, 0)
_MOST_TRIES = 32  # interrupts that come during the restoring after the first one


def undisturbed(verb: Callable[P, R]) -> Callable[P, R]:
    """Makes a verb that leaves nothing behind where an exception or an interrupt ends it."""

    @wraps(verb)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _Before()
        try:
            with Alarm() if rings() else nullcontext():
                result = verb(*args, **kwargs)
            if made() > before.made:  # the verb caught an interrupt
                before.restore(None)
            return result
        except BaseException as error:
            _insist(before, error)
            raise

    return guarded


def journaled(function: Callable[P, R]) -> Callable[P, R]:
    """The cheap guard for functions that are called often: it undoes the journal, and restores grad mode only."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        before, grad = made(), torch.is_grad_enabled()
        try:
            return function(*args, **kwargs)
        except BaseException:
            _undo(before, grad)
            raise

    return guarded


def _undo(before: int, grad: bool) -> None:
    """Undoes what the journal has more than before, also if more interrupts come."""
    for left in reversed(range(_MOST_TRIES)):
        try:
            undo_from(before)
            torch._C._set_grad_enabled(grad)
            return
        except BaseException:
            if not left:
                raise


class _Before:
    """The state of the thread before a verb."""

    def __init__(self) -> None:
        self.made, self.modes = made(), Modes()
        self.mask = _mask_signals(_BLOCK, ())
        self.compiles = graph_module._forward_from_src

    def restore(self, error: BaseException | None) -> None:
        """Restores that state; it may be called again."""
        errors = _chain(error)
        if made() > self.made or any(not isinstance(each, Exception) or is_of_handler(each) for each in errors):
            _let_go(errors)
        self.modes.restore()
        if made() > self.made:
            with Outside():
                undo_from(self.made)
            self.modes.restore()
        # torch's compiler replaces it a few bytecodes before the `try` that puts it back.
        graph_module._forward_from_src = self.compiles


def _insist(before: _Before, error: BaseException) -> None:
    """Restores, also if more interrupts come; the caller raises the first one.

    Signals wait meanwhile: an alarm that rings again and again would come between two tries.
    """
    try:
        for left in reversed(range(_MOST_TRIES)):
            try:
                _mask_signals(_BLOCK, (signal.SIGINT, ALARM))
                before.restore(error)
                return
            except Exception:  # what the handler of an alarm raises is often an ordinary one
                if not left:
                    raise
            except BaseException:
                continue
    finally:
        _mask_signals(_SET, before.mask)


def _mask_signals(how: int, signals: Iterable[int]) -> set[Any]:
    """Changes which signals wait in this thread; returns those that waited before. Windows has none that wait."""
    return signal.pthread_sigmask(how, signals) if _MASKS else set()


def _chain(error: BaseException | None) -> list[BaseException]:
    """An error with those that it came from."""
    found: dict[int, BaseException] = {}
    pending = [error]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in found:
            found[id(each)] = each
            pending += [each.__context__, each.__cause__]
    return list(found.values())


def _let_go(errors: list[BaseException]) -> None:
    """Ends the generators that an interrupt left suspended, which would otherwise undo their changes at a later time.

    One of torch's that ends late includes its dispatch key again, for good, where it was entered inside of another.
    Frames of the user keep their variables, for a debugger.
    """
    for error in errors:
        _clear(error.__traceback__)
    gc.collect()


def _clear(trace: TracebackType | None) -> None:
    while trace is not None:
        if not is_users(trace.tb_frame.f_code.co_filename):
            with suppress(RuntimeError):  # the frame still runs: it called this function
                trace.tb_frame.clear()
        trace = trace.tb_next
