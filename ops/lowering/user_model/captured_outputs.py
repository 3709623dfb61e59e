"""Hooks with which transformers collects hidden states and attentions, which a model puts into itself when it is asked.

A model that changes while it runs is refused. So they are there before it is lowered, and are taken out afterwards,
where no call of the user's has put them in: they do nothing unless a call asks for such outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_MARK = "_output_capturing_hooks_installed"


@contextmanager
def with_captured_outputs(model: Any) -> Iterator[None]:
    """While it is entered, the models of transformers in a model have these hooks."""
    library: Any = sys.modules.get("transformers.utils.output_capturing")
    install = getattr(library, "maybe_install_capturing_hooks", None)
    known = getattr(library, "_CAN_RECORD_REGISTRY", None)
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) and install and known is not None else []
    capturing = [each for each in modules if _MARK not in vars(each) and known.get(each) is not None]
    before = [(each, set(each._forward_hooks)) for each in modules] if capturing else []
    marked = {id(each) for each in modules if _MARK in vars(each)}
    for each in capturing:
        install(each)
    try:
        yield
    finally:
        for each, hooks in before:
            for key in [key for key in each._forward_hooks if key not in hooks]:
                del each._forward_hooks[key]
            if id(each) not in marked:
                vars(each).pop(_MARK, None)
