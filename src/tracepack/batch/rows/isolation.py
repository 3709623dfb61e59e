"""Runs a function in a fork of the process, whose end, by a fault in native code for example, is no end of the job."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from typing import Any, NoReturn


def outcome(function: Callable[[], list[Any]]) -> list[Any] | str:
    """What a function returns in a process of its own, or how that process ended.

    An exception of the function is raised here. Where the system has no forks, the function runs in this process.
    """
    if not hasattr(os, "fork"):
        return function()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(function, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0 or not data:
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
    found = pickle.loads(data)  # of our own fork
    if isinstance(found, BaseException):
        raise found
    result: list[Any] = found
    return result


def _answer(function: Callable[[], list[Any]], writer: int) -> NoReturn:
    code = 1
    try:
        try:
            found: Any = function()
        except Exception as error:
            found = error
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(found, pipe)
        code = 0
    finally:
        os._exit(code)
