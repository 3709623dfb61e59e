"""Methods that Python's own functions call, where a recorded function calls them itself: ``text.__len__()``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from ...proxies.base import is_traced
from ...proxies.byte_strings import TracedBytes
from ..python.operations import CONTAINS, HandedOver, active
from ..redirect import stand_in_of

_ASKED: dict[str, Callable[..., Any]] = {
    "__len__": len, "__str__": str, "__repr__": repr, "__format__": format, "__bool__": bool, "__int__": int,
    "__float__": float,
}  # fmt: skip
_PLAIN = (str, list, tuple, dict, set, frozenset)


def _receiver(name: str) -> Callable[[Any], Any]:
    """The function that gives what stands for the receiver of such a method."""

    def receiver(thing: Any) -> Any:
        recorder = active()
        own = is_traced(thing) or type(thing) is TracedBytes
        own = own or (recorder is not None and isinstance(thing, torch.Tensor) and thing in recorder.values)
        if recorder is None or not own or (name != "__len__" and isinstance(thing, torch.Tensor)):
            return thing
        return SimpleNamespace(**{name: lambda *args: stand_in_of(_ASKED[name])(thing, *args)})

    return receiver


def _searched(thing: Any) -> Any:
    if active() is None or not (is_traced(thing) or type(thing) in (*_PLAIN, TracedBytes)):
        return thing
    return SimpleNamespace(__contains__=lambda item: CONTAINS[item, thing])


OF_DUNDERS = {**{name: HandedOver(_receiver(name)) for name in _ASKED}, "__contains__": HandedOver(_searched)}
"""What gives the receiver, by the name of the method."""
