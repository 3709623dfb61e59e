"""Whether a tensor was written to: by torch's count, and by what it holds where torch does not count.

A tensor that is made under `torch.inference_mode` has no count; models and examples of a server may all be such.
"""

from __future__ import annotations

import torch


class WriteMark:
    """A tensor as it is now.

    Args:
        tensor: any tensor.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.count = None if tensor.is_inference() else tensor._version
        self.content = copied(tensor) if self.count is None else None

    @property
    def is_written(self) -> bool:
        """Whether something was written to it since."""
        if self.content is None:
            return self.tensor._version != self.count
        with torch.inference_mode(False), torch._C.DisableTorchFunction():
            return not torch.equal(self.tensor.nan_to_num(), self.content.nan_to_num())


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy whose writes are counted, and which may be written to outside of inference mode, too."""
    with torch.inference_mode(False), torch._C.DisableTorchFunction():
        return tensor.detach().clone()
