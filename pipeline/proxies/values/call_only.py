"""What stands for one of several functions of the user's: it may be called, and nothing else can be asked of it."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ....ops.runtime.user_code import is_users
from ..tracer import Tracer


class CallOnly:
    """Stands for one of several functions: anything but a call is refused, since Python would ask the stand-in.

    Args:
        tracer: of the recording.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def _refuse_asked(self, *_: Any) -> NoReturn:
        """Refuses what would be asked of the function itself.

        Raises:
            RecordError: always.
        """
        what = "which function a table gives for a traced key is asked, or more of it than a call"
        self._tracer.refuse(what, "Ask the key: name == ... where it says f is ...; else trace a pipeline for each.")

    def __getattribute__(self, name: str) -> Any:
        if is_users(sys._getframe(1).f_code.co_filename):
            object.__getattribute__(self, "_refuse_asked")()
        if name[:1] != "_" or (name[:2] == "__" and name not in ("__class__", "__dict__")):
            raise AttributeError(name)  # a look of Python's or ours, which may find nothing
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        self._refuse_asked()

    def __hash__(self) -> int:  # noqa: PLE0309  # it refuses, always
        self._refuse_asked()

    def __repr__(self) -> str:
        self._refuse_asked()

    def __bool__(self) -> bool:
        return True


def refuse_asked(*things: Any) -> None:
    """Refuses to tell the class, the identity or an attribute of a function that may only be called.

    Raises:
        RecordError: one of the things is such.
    """
    for thing in things:
        if issubclass(type(thing), CallOnly):
            thing._refuse_asked()
