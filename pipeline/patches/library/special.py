"""What stands for functions of `scipy.special` that are written in Python, and know no stand-ins.

Its universal functions come as those of numpy do. scipy is never imported here: where nobody has, nobody calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from ....ops.graph.traverse import leaves
from ...proxies.base import is_traced
from ..hooks import active
from ..redirect import deep_stand_in

NAMES = ("softmax", "log_softmax", "logsumexp")


def module() -> Any:
    """`scipy.special`, where it is imported."""
    return sys.modules.get("scipy.special")


def function(name: str) -> Callable[..., Any]:
    """What stands for one of the functions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recorder, plain = active(), getattr(module(), name)
        given = list(leaves((args, kwargs)))
        if recorder is None or not any(is_traced(leaf) or isinstance(leaf, torch.Tensor) for leaf in given):
            return plain(*args, **kwargs)
        return recorder.array(f"scipy.special.{name}", *args, **kwargs)

    return call


def register() -> None:
    """Makes them known to the code of functions that name them, as after ``from scipy.special import softmax``."""
    for name in NAMES if module() is not None else ():
        deep_stand_in(getattr(module(), name), function(name))
