"""The guard around a verb: after an exception of any kind, everything is as it was before the call.

`with` and `try` see to that for ordinary errors. An interrupt can come between any two bytecodes, so here is the one
place that needs no luck: nothing is changed before its `try` begins, and after an exception it undoes the journal
(`changes`), lets go of generators that torch left suspended in a `with`, and puts the thread's modes back.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

import torch
from torch.fx import graph_module

from ..user_code import is_users
from .changes import made, undo_from
from .modes import Modes, Outside

P = ParamSpec("P")
R = TypeVar("R")
_MOST_TRIES = 8  # interrupts that come while the first one is dealt with


def undisturbed(verb: Callable[P, R]) -> Callable[P, R]:
    """Makes a verb that leaves nothing behind where an exception or an interrupt ends it."""

    @wraps(verb)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _Before()
        try:
            result = verb(*args, **kwargs)
            if made() > before.made:  # an interrupt was caught below
                before.restore(None)
            return result
        except BaseException as error:
            _insist(before, error)
            raise

    return guarded


def journaled(function: Callable[P, R]) -> Callable[P, R]:
    """The guard for what is called often and enters no mode but by a Change: it looks at next to nothing beforehand."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        before, grad = made(), torch.is_grad_enabled()
        try:
            return function(*args, **kwargs)
        except BaseException:
            undo_from(before)
            torch._C._set_grad_enabled(grad)
            raise

    return guarded


class _Before:
    """What a verb found."""

    def __init__(self) -> None:
        self.made, self.modes = made(), Modes()
        self.compiles = graph_module._forward_from_src

    def restore(self, error: BaseException | None) -> None:
        """Makes it so again; to call it once more does no harm."""
        if error is not None and not (isinstance(error, Exception) and made() == self.made):
            _let_go(error)
        self.modes.restore()
        if made() > self.made:
            with Outside():
                undo_from(self.made)
            self.modes.restore()
        # torch's compiler replaces it a few bytecodes before the `try` that puts it back.
        graph_module._forward_from_src = self.compiles


def _insist(before: _Before, error: BaseException) -> None:
    """Restores, also if more interrupts come; the first of them is on its way already."""
    for _ in range(_MOST_TRIES):
        try:
            before.restore(error)
            return
        except Exception:
            raise
        except BaseException:
            continue


def _let_go(error: BaseException) -> None:
    """Ends the generators that an interrupt left suspended: what they undo would otherwise come at any later time.

    The frames of the user keep their variables, for a debugger.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        found = pending.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            _clear(found.__traceback__)
            pending += [found.__context__, found.__cause__]
    gc.collect()


def _clear(trace: TracebackType | None) -> None:
    while trace is not None:
        if not is_users(trace.tb_frame.f_code.co_filename):
            with suppress(RuntimeError):  # it is running: it is a caller of ours
                trace.tb_frame.clear()
        trace = trace.tb_next
