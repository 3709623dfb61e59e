"""The bytes of a tensor."""

from __future__ import annotations

import torch


def flat_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor's items, in their order, as a flat tensor; over its memory where that has no gaps.

    A single item counts as contiguous whatever its step is, and torch views no other step than 1 as bytes.
    """
    flat = tensor.detach().contiguous().reshape(-1)
    return (flat.as_strided((1,), (1,)) if flat.numel() == 1 else flat).view(torch.uint8)
