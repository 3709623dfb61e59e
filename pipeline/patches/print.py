"""`print`, logging and warnings during a recording: text of a traced value that cannot come back into the graph.

Any other text of a size is guarded, and of data refused; so is text that is printed to where the function can read it.
While a function is recorded, `print` is replaced by one that allows text, so that a `print` left in the function
does not fix its sizes. While a function is only tried, it prints nothing.
"""

from __future__ import annotations

import builtins
import logging
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import ref

from ...ops.lowering.patches.lock import Patched
from ...ops.runtime.user_code import user_stacklevel
from ...ops.tracing_hook import current
from ..proxies.base import is_traced
from ..recheck.reach.listeners import are_heard
from ..recheck.reach.objects import Objects
from ..recording.recorder import Recorder
from .hooks import Hooks
from .redirect import stand_in

_plain_print, _plain_warn = builtins.print, warnings.warn
_thread = threading.local()


def _print(*args: Any, **kwargs: Any) -> None:
    recorder, outside = current(), _is_read_by_people(kwargs.get("file"))
    if outside and _is_unheard(recorder):
        return
    if not outside:
        _refuse_sometimes(recorder)
    if not isinstance(recorder, Recorder) or not outside:
        _plain_print(*args, **kwargs)
        return
    with recorder.printed():
        _plain_print(*args, **kwargs)


def _is_unheard(recorder: object) -> bool:
    """Whether nothing is told: by a function that is only tried, and on a side that the example does not take."""
    return getattr(_thread, "muted", False) or (isinstance(recorder, Recorder) and recorder.untaken)


def prints(function: Any) -> bool:
    """Whether a function is the `print` or the `warn` of Python, or what stands for it."""
    return any(function is each for each in (_print, _plain_print, _plain_warn, warnings.warn))


def _is_read_by_people(file: Any) -> bool:
    """Whether text goes to the stream of before the function began, and not to one that the function could read."""
    target = sys.stdout if file is None else file
    return any(target is stream for stream in getattr(_thread, "streams", ()))


def reads_messages() -> bool:
    """Whether the function itself may read now what is told: it redirects a stream, or catches warnings or logs."""
    streams, ways = getattr(_thread, "streams", ()), getattr(_thread, "ways", None)
    redirected = any(all(now is not stream for stream in streams) for now in (sys.stdout, sys.stderr))
    return bool(streams) and (redirected or ways != _ways() or _is_heard())


def tell(objects: Objects) -> None:
    """Notes what the function of this thread can reach, among which those who hear its messages may be."""
    _thread.reached, _thread.heard = ref(objects), None


def _is_heard() -> bool:
    objects = found() if (found := getattr(_thread, "reached", None)) is not None else None
    if objects is not None and _thread.heard is None:
        _thread.heard = are_heard(objects)
    return objects is not None and bool(_thread.heard)


def _ways() -> tuple[Any, ...]:
    """What becomes of messages: who shows warnings, whether they are errors, and which logs there are."""
    all_alike = (action for action, text, kind, module, _ in warnings.filters if _is_for_all(text, kind, module))
    errors = next(all_alike, "") == "error"
    shown: Any = warnings
    logs = tuple(id(handler) for each in _handlers() if (handler := each()) is not None)
    return warnings.showwarning, getattr(shown, "_showwarnmsg_impl", None), errors, logs


def _is_for_all(text: Any, kind: Any, module: Any) -> bool:
    return text is None and module is None and issubclass(UserWarning, kind)


def _handlers() -> list[Any]:
    held: Any = logging
    return [*getattr(held, "_handlerList", ())]


def _refuse_sometimes(recorder: object) -> None:
    """Refuses a message that the function may read, on a side of a choice or in a round of a recorded loop."""
    if isinstance(recorder, Recorder) and (recorder.branches or recorder.rounds.open):
        recorder.refuse(
            "text is told on a side of a choice, or in a loop, to what the function may read",
            "Add it to a list: lines.append(text), and return ''.join(lines).",
        )


def _logging(plain: Callable[..., None]) -> Callable[..., None]:
    """What stands for `Logger._log`, through which every message of every logger goes."""

    def log(logger: Any, level: int, message: Any, args: Any, *rest: Any, stacklevel: int = 1, **kwargs: Any) -> None:
        recorder = current()
        if reads_messages():
            _refuse_sometimes(recorder)
        if _is_unheard(recorder) and not _is_heard():
            return
        with recorder.printed() if isinstance(recorder, Recorder) else nullcontext():
            plain(logger, level, message, args, *rest, stacklevel=stacklevel + 1, **kwargs)

    return log


def _warning(plain: Callable[..., None]) -> Callable[..., None]:
    """What stands for `warnings.warn`, which keeps what it is given: a plain text."""

    def warn(message: Any, category: Any = None, stacklevel: int = 1, *rest: Any, **kwargs: Any) -> None:
        recorder = current()
        if isinstance(recorder, Recorder):
            if reads_messages():
                _refuse_sometimes(recorder)
            if recorder.untaken:
                return
            with recorder.printed():
                message = str(message) if is_traced(message) else message
        plain(message, category, stacklevel + 1, *rest, **kwargs)

    return warn


def _warned(message: Any, category: Any = None, stacklevel: int = 1, *rest: Any, **kwargs: Any) -> None:
    """Stands for `warn` of a function that has imported it by name."""
    warnings.warn(message, category, user_stacklevel() + stacklevel - 1, *rest, **kwargs)


# A `print` that the user has replaced stays.
_hooks = Hooks(
    [
        (builtins, "print", lambda plain: _print if plain is _plain_print else plain),
        (logging.Logger, "_log", _logging),
        (warnings, "warn", _warning),
    ]
)


stand_in(_plain_warn, _warned)


class _Telling(Patched):
    """While it is entered, this thread knows the streams that people read.

    Args:
        muted: whether the function prints nothing.
    """

    def __init__(self, muted: bool) -> None:
        super().__init__(*_hooks.patches)
        self.muted = muted
        self.before = getattr(_thread, "streams", ()), getattr(_thread, "muted", False), getattr(_thread, "ways", None)

    def make(self) -> None:
        """Remembers the present streams."""
        super().make()
        _thread.streams, _thread.muted = (sys.stdout, sys.stderr), self.muted or self.before[1]
        _thread.ways = _ways()

    def undo(self) -> None:
        """Forgets them."""
        _thread.streams, _thread.muted, _thread.ways = self.before
        super().undo()


def printable() -> Patched:
    """Lets the function print sizes and tensors without a guard."""
    return _Telling(muted=False)


def muted() -> Patched:
    """Lets a function that is only tried print nothing."""
    return _Telling(muted=True)
