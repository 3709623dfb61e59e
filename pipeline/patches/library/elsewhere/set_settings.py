"""Settings of the process that a function sets, and that change its answers: a file sets none where it is loaded.

So are warnings that are raised as errors, or collected: the data of the example may give none. Libraries that do so for
themselves are left alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from .....ops.runtime.user_code import is_own
from ....recording.random import keep_state
from ....recording.recorder import Recorder
from ....rules.settings import RAISES, refuse_raising
from ...hooks import active

_WARNINGS = "warnings that are {} decide here, and a file gives none"
_TEST = "Test for what warns: np.isfinite(x).all(), x.size > 1."
Plain = Callable[..., Any]


def _asking() -> Recorder | None:
    """The recorder where code of the user's makes the call itself."""
    return active() if is_own(sys._getframe(2).f_code.co_filename) else None


def _filtering(plain: Plain) -> Plain:
    @wraps(plain)
    def filtered(action: Any, *args: Any, **named: Any) -> Any:
        if action == "error" and (recorder := _asking()) is not None:
            recorder.refuse(_WARNINGS.format("raised as errors"), _TEST)
        return plain(action, *args, **named)

    return filtered


def _catching(plain: Plain) -> Plain:
    @wraps(plain)
    def caught(context: Any, **named: Any) -> None:
        how = "collected" if named.get("record") else "raised as errors" if named.get("action") == "error" else ""
        if how and (recorder := _asking()) is not None:
            recorder.refuse(_WARNINGS.format(how), _TEST)
        plain(context, **named)

    return caught


def _raising(plain: Plain) -> Plain:
    @wraps(plain)
    def raised(*args: Any, **named: Any) -> Any:
        if not RAISES.isdisjoint((*args, *named.values())) and (recorder := _asking()) is not None:
            refuse_raising(recorder)
        return plain(*args, **named)

    return raised


def _flushing(plain: Plain) -> Plain:
    @wraps(plain)
    def flushed(mode: bool) -> Any:
        if (recorder := _asking()) is not None:
            recorder.refuse(
                "torch.set_flush_denormal is a setting of the process, which no file sets",
                "Set it in the process that runs the file.",
            )
        return plain(mode)

    return flushed


def _seeding(plain: Plain) -> Plain:
    """Seeds torch's global generator, which is as before after the trace."""

    @wraps(plain)
    def seeded(*args: Any, **named: Any) -> Any:
        if active() is not None:
            keep_state(torch.default_generator)
        return plain(*args, **named)

    return seeded


SETTINGS = [
    (warnings, "simplefilter", _filtering),
    (warnings, "filterwarnings", _filtering),
    (warnings.catch_warnings, "__init__", _catching),
    (np, "seterr", _raising),
    (torch, "set_flush_denormal", _flushing),
    (torch, "manual_seed", _seeding),
    (torch, "seed", _seeding),
]
"""The functions that set one, each with its module, its name, and what makes a stand-in of it."""
