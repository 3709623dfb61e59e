"""What a fork of the process leaves to its parent: threads of OpenMP, and runtimes with threads of their own.

A fork has the memory of its parent and none of its threads. OpenMP's next parallel region would wait for them for ever,
and so would the destructor of a session of ONNX Runtime. So a fork computes with one thread where its parent has run a
pipeline, and opens its runtimes anew.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import Any, Protocol
from weakref import WeakSet

import torch


class Threaded(Protocol):
    """What holds objects with threads of their own."""

    def forget(self) -> Iterable[object]:
        """Lets go of these objects, so that the next use makes others, and returns them."""
        ...


_threaded: WeakSet[Any] = WeakSet()
_ran = False


def forgets_in_forks(holder: Threaded) -> None:
    """Has a holder forget its objects in every fork of the process."""
    _threaded.add(holder)


def runs_here() -> None:
    """Says that this process runs pipelines, so that its threads may be waited for."""
    global _ran  # noqa: PLW0603 - a fact of the process
    _ran = True


def _forked() -> None:
    for holder in list(_threaded):
        for each in holder.forget():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))  # its destructor would wait for its threads
    if _ran:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
