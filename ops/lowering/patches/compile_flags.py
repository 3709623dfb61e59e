"""torch's flags and modes of an export, for one thread only.

They are variables of the process. While they are set, TorchScript modules that other threads call run as Python
code, which fails, and loops and choices on data go through torch's compiler.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch
from torch.export import _trace

from ...runtime.user_code import TORCHS
from .lock import Patch, Patched
from .plain.askers import is_answered_plainly


class ThreadFlag:
    """A flag that is true in the thread that made it, but for a model that asks, which runs as it does plainly."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()

    def __bool__(self) -> bool:
        if threading.get_ident() != self.thread:
            return False
        asking, name = _asking(sys._getframe(1))
        return not is_answered_plainly(asking, f"torch.compiler.{name}()")


def _asking(frame: FrameType | None) -> tuple[FrameType | None, str]:
    """The frame that asks a function of torch for a flag, and the function's name."""
    name = _FUNCTIONS[0]
    while frame is not None and frame.f_code.co_filename.startswith(TORCHS):
        if frame.f_code.co_name.removeprefix("_") not in _FUNCTIONS:
            break
        name, frame = frame.f_code.co_name.removeprefix("_"), frame.f_back
    return frame, name


_FUNCTIONS = ("is_compiling", "is_exporting")


_FLAGS = ("_is_compiling_flag", "_is_exporting_flag")
_is_compiling_flag = _is_exporting_flag = False  # the code below finds torch's in their place


def _is_compiling() -> bool:
    if torch.jit.is_scripting():  # type: ignore[attr-defined]  # Torch does not list it.
        return False
    else:
        return bool(_is_compiling_flag)


def _is_exporting() -> bool:
    return bool(_is_exporting_flag)


def _giving_bools(code: CodeType) -> Callable[[CodeType, Patch], CodeType]:
    """What replaces the code of a function of torch that returns a flag: models hold the function, and need a bool."""

    def replace(original: CodeType, patch: Patch) -> CodeType:
        return code.replace(co_filename=original.co_filename, co_firstlineno=original.co_firstlineno)

    return replace


def _in_one_thread(original: Callable[[], Any], patch: Patch) -> Callable[[], Any]:
    """The context in which torch.export sets its flags."""

    @contextmanager
    def context() -> Iterator[None]:
        if not patch.needed:
            with original():
                yield
            return
        compiler: Any = torch.compiler
        before = [getattr(compiler, name) for name in _FLAGS]
        try:
            for name in _FLAGS:
                setattr(compiler, name, ThreadFlag())
            yield
        finally:
            for name, flag in zip(_FLAGS, before, strict=True):
                setattr(compiler, name, flag)

    return context


def _of_this_thread(original: Callable[[], int], patch: Patch) -> Callable[[], int]:
    """The number of modes before dispatch: torch has one stack of them, and a key in the thread that they belong to.

    Other threads would take them off for a while, as `repr` of a tensor does, and put them on for themselves.
    """
    key = torch._C.DispatchKey.PreDispatch

    def count() -> int:
        return original() if torch._C._dispatch_tls_is_dispatch_key_included(key) else 0

    return count


_patches = (
    Patch(torch._ops, "_len_torch_dispatch_stack_pre_dispatch", _of_this_thread),
    Patch(_trace, "_compiling_state_context", _in_one_thread),
    Patch(torch.compiler.is_compiling, "__code__", _giving_bools(_is_compiling.__code__)),
    Patch(torch.compiler.is_exporting, "__code__", _giving_bools(_is_exporting.__code__)),
)


class CompileFlags(Patched):
    """While it is entered, torch.export sets its flags, and its modes before dispatch, for this thread only."""

    def __init__(self) -> None:
        super().__init__(*_patches)
