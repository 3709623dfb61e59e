"""Models and functions that ask for autocast, or have a block of it: their graphs hold for runs outside of autocast.

The casts of a block are written into the graph. Around the run of that graph another autocast would cast again, also
where the block switched it off, as the rotary embeddings of many models do.
"""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

import torch

from ..graph.graph import Body, Graph, Operator
from ..graph.traverse import walk
from ..runtime.user_code import TORCHS, is_users
from .convert.layout_guards import guarded_setting
from .patches.lock import Patch, Patched

AUTOCAST_QUESTIONS: dict[str, Any] = {
    name: getattr(torch, name)
    for name in (
        "is_autocast_enabled", "is_autocast_cpu_enabled", "get_autocast_dtype", "get_autocast_cpu_dtype",
        "get_autocast_gpu_dtype",
    )
}  # fmt: skip
"""What tells the mode or the dtype of autocast; entering a block calls the first of them."""

_BLOCKS = os.path.join(TORCHS, "amp") + os.sep


def is_asked_for_autocast(asking: FrameType) -> bool:
    """Whether code that calls one of these functions is the user's, or a block of autocast: torch itself asks, too."""
    path = asking.f_code.co_filename
    return is_users(path) or path.startswith(_BLOCKS)


def with_autocast_guard(graph: Graph) -> Graph:
    """The graph with a guard that no autocast is on around it."""
    reason = "the results depend on autocast, which was off when this was recorded"
    return guarded_setting(graph, "autocast", False, reason)


_heard: list[bool] = []


def _noting(original: Any, patch: Patch) -> Any:
    def asked(*args: Any, **kwargs: Any) -> Any:
        if patch.needed:  # torch asks, too, before it takes the fast path of a layer
            _heard.append(True)
        return original(*args, **kwargs)

    return asked


class AutocastQuestions:
    """While it is entered, finds out whether a model asks for autocast, or has a block of it."""

    def __init__(self) -> None:
        self._patched = Patched(*(Patch(torch, name, _noting) for name in AUTOCAST_QUESTIONS))
        self.heard = False

    def __enter__(self) -> None:
        _heard.clear()
        self._patched.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._patched.__exit__(*exc)
        self.heard = bool(_heard)

    def guarded(self, body: Body) -> Body:
        """The body of the model, with a guard on autocast if the model has to do with it."""
        names = [node.target.name for node in walk(body.graph) if isinstance(node.target, Operator)]
        if self.heard or any(name.startswith(_BELOW) for name in names):
            body.graph = with_autocast_guard(body.graph)
        return body


# What stands in a graph for operators that autocast casts, and is not cast itself.
_BELOW = ("aten.convolution.", "aten._transformer_encoder_layer_fwd", "aten._native_multi_head_attention")
