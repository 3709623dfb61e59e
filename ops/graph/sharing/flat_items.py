"""The items of a tensor in a row."""

from __future__ import annotations

from typing import Any


def flat_items(tensor: Any) -> Any:
    """The items of a tensor in their order, one beside the other; over its memory where that has no gaps.

    A single item counts as contiguous whatever its step is, and torch views no other step than 1 as bytes.
    """
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.as_strided((1,), (1,)) if flat.numel() == 1 else flat
