"""The signatures of a layer's earlier calls, so that a call like one of them needs no further checks.

Checks of inputs are most of the cost of a small kernel's call, so each is made once, the cheapest first.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

PLAIN = (torch.Tensor, torch.nn.Parameter)


class Signature:
    """Shapes and dtypes of inputs that generated code can read without a copy.

    Args:
        tensors: the inputs of a call; `covers` says whether they are of the kind.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._kinds = [(t.shape, t.dtype) for t in tensors]

    def covers(self, inputs: Sequence[object]) -> bool:
        """Whether these inputs are plain contiguous tensors on the CPU of the shapes and dtypes seen."""
        if len(inputs) != len(self._kinds):
            return False
        for x, (shape, dtype) in zip(inputs, self._kinds, strict=False):
            if type(x) not in PLAIN or x.shape != shape or x.dtype is not dtype:  # type: ignore[attr-defined]  # by type
                return False
            if not x.is_cpu or not x.is_contiguous() or x.is_neg():  # type: ignore[attr-defined]  # a tensor, see above
                return False
        return True
