"""Nested tensors, which `nn.TransformerEncoder` makes of a padded batch: a way that hangs on where the padding is.

Torch makes them where all padding is on the right, and gives zeros in its places then; of other masks it goes the way
of the export. An example without padding shows neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....graph.errors import LoweringError
from ..lock import Patch, Patched

_FIX = "Set `encoder.use_nested_tensor = False` before, for each nn.TransformerEncoder: it keeps to one way then."
_asked: list[bool] = []


def _heard(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if patch.needed:
            _asked.append(True)
        return original(*args, **kwargs)

    return call


_patches = [
    Patch(torch, name, _heard) for name in ("_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_mask")
]


class NestedRows(Patched):
    """While it is entered, hears whether this thread's model asks where its padding is."""

    def __init__(self) -> None:
        super().__init__(*_patches)

    def make(self) -> None:
        """Begins to listen."""
        _asked.clear()
        super().make()

    @staticmethod
    def refuse(name: str) -> None:
        """Refuses a model that asked.

        Raises:
            LoweringError: it did.
        """
        if _asked:
            what = "the model answers otherwise where all padding is on the right: torch makes it nested tensors then"
            raise LoweringError(what, where=f"op {name!r}", fix=_FIX)
