"""Who asks about the export that runs a model: a question of the model is answered as in a plain run.

torch needs to know that it exports, and so do we. A model that knows goes another way than in a plain run, and the file
would keep that way. Only where the plain way cannot be exported, as where a library looks at its data first, libraries
are told of the export; their two ways are then held against each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from ....graph.graph import SourceLine
from ....runtime.user_code import OURS, TORCHS, is_own, is_users, source_line

_PATCHES = str(Path(os.path.abspath(__file__)).parents[1]) + os.sep
_TOOLS = ("sympy", "mpmath", "torchgen", "functorch")


class _Code(Enum):
    TOOL = auto()  # torch, what it is made of, and ours
    OWN = auto()
    LIBRARY = auto()
    PASSED = auto()  # asks for whoever called it


@cache
def _kind(path: str) -> _Code:
    if path.startswith(_PATCHES):
        return _Code.PASSED
    if path.startswith((TORCHS, OURS)) or any(f"-packages{os.sep}{name}{os.sep}" in path for name in _TOOLS):
        return _Code.TOOL
    if is_own(path):
        return _Code.OWN
    return _Code.LIBRARY if is_users(path) or path.endswith(".pyx") or "-packages" in path else _Code.PASSED


@dataclass(eq=False)
class Heard:
    """What a model asked about its export.

    Attributes:
        told: whether libraries are told of the export.
        compares_bools: whether a function of the model compares with True or False by `is`.
        chooses_by_sizes: whether other code than torch's chose by sizes that are computed.
        choices: that by which such code chose: a number or a condition over sizes, how it is asked, and the answer.
        own: the questions of the user's own code, with the line of each.
        libraries: those of installed packages.
        modes: how many modes for functions and for operators there are around the model.
        thread: that lowers.
    """

    told: bool = False
    compares_bools: bool = False
    chooses_by_sizes: bool = False
    choices: list[tuple[Any, Callable[[Any], bool], bool]] = field(default_factory=list)
    own: dict[tuple[str, int], tuple[str, SourceLine]] = field(default_factory=dict)
    libraries: dict[tuple[str, int], tuple[str, SourceLine]] = field(default_factory=dict)
    modes: tuple[int, int] = (0, 0)
    thread: int = field(default_factory=threading.get_ident)

    def note(self, question: str, frame: FrameType, kind: _Code) -> None:
        """Keeps a question, with its line."""
        kept = self.own if kind is _Code.OWN else self.libraries
        key = frame.f_code.co_filename, frame.f_lineno
        if key not in kept:
            kept[key] = question, source_line(frame, frame.f_lineno)


hearing: list[Heard] = []
"""That of the model which is exported now, last; one thread exports at a time."""


def is_answered_plainly(frame: FrameType | None, question: str = "") -> bool:
    """Whether code gets the answer of a plain run, as a model does, and not that of the export, as torch does.

    Args:
        frame: the frame that asks.
        question: what is asked, to be kept with the line; empty where libraries get the answer of a plain run always.
    """
    heard = hearing[-1] if hearing else None
    if heard is None or heard.thread != threading.get_ident():
        return False
    while frame is not None and (kind := _kind(frame.f_code.co_filename)) is _Code.PASSED:
        frame = frame.f_back
    if frame is None or kind is _Code.TOOL:
        return False
    if not question:
        return True
    heard.note(question, frame, kind)
    return kind is _Code.OWN or not heard.told
