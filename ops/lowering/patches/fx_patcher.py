"""The functions that torch.fx replaces while it traces: for one thread only, and restored also after an interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import Any

import torch
from torch.fx import _symbolic_trace

from .lock import Patch, Patched


def _in_one_thread(original: Any, patch: Patch) -> Callable[..., Any]:
    """`patch_method` of torch.fx, whose replacement other threads do not see: they may be calling modules."""

    def patch_method(self: Any, cls: type, name: str, replacement: Any, *rest: Any, **options: Any) -> Any:
        if not patch.needed:
            return original(self, cls, name, replacement, *rest, **options)
        plain, mine = getattr(cls, name), threading.get_ident()

        def chosen(*args: Any, **kwargs: Any) -> Any:
            return (replacement if threading.get_ident() == mine else plain)(*args, **kwargs)

        return original(self, cls, name, chosen, *rest, **options)

    return patch_method


_is_fx_tracing_flag = False  # the code below finds torch's in its place


def _is_fx_symbolic_tracing() -> bool:
    from tracepack.ops.lowering.patches.fx_patcher import is_tracing_here

    return _is_fx_tracing_flag and is_tracing_here() and not torch.compiler.is_compiling()


def _asking_for_the_thread(original: CodeType, patch: Patch) -> CodeType:
    """What replaces the code of a function of torch.fx: what torch compiled cannot be called while it says yes."""
    return _is_fx_symbolic_tracing.__code__.replace(
        co_filename=original.co_filename, co_firstlineno=original.co_firstlineno
    )


_methods = Patch(_symbolic_trace._Patcher, "patch_method", _in_one_thread)
_question = Patch(_symbolic_trace.is_fx_symbolic_tracing, "__code__", _asking_for_the_thread)


def is_tracing_here() -> bool:
    """Whether what torch.fx traces now may be traced by this thread: no other one lowers."""
    return _question.needed or not _question.used


class FxPatcher(Patched):
    """While it is entered torch.fx may trace; at the end what it replaced is restored, also where it did not do so."""

    def __init__(self) -> None:
        super().__init__(_methods, _question)
        self._before: Any = _symbolic_trace.CURRENT_PATCHER

    def undo(self) -> None:
        """Restores what a patcher replaced that is still there, the last first."""
        super().undo()
        patcher = _symbolic_trace.CURRENT_PATCHER
        if patcher is None or patcher is self._before:
            return
        for patch in reversed(patcher.patches_made):
            with suppress(KeyError):  # a name that was added, and is gone already
                patch.revert()
        _symbolic_trace.CURRENT_PATCHER = self._before
