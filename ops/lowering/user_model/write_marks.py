"""Whether a tensor was written to: by torch's count, and by what it holds where torch does not count.

A tensor that is made under `torch.inference_mode` has no count; models and examples of a server may all be such.
"""

from __future__ import annotations

import torch


class WriteMark:
    """A tensor as it is now.

    Args:
        tensor: any tensor.
        content: a copy of it, to which it is compared where no write was counted: `torch.nn.functional.batch_norm`
            writes its running statistics uncounted. None for a tensor of which all writes are counted.
    """

    def __init__(self, tensor: torch.Tensor, content: torch.Tensor | None = None) -> None:
        self.tensor = tensor
        self.count = None if tensor.is_inference() else tensor._version
        self.content = copied(tensor) if self.count is None and content is None else content

    @property
    def is_written(self) -> bool:
        """Whether something was written to it since."""
        if self.count is not None and self.tensor._version != self.count:
            return True
        if self.content is None:
            return False
        with torch.inference_mode(False), torch._C.DisableTorchFunction():
            return not _are_equal(self.tensor, self.content)


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy whose writes are counted, and which may be written to outside of inference mode, too."""
    with torch.inference_mode(False), torch._C.DisableTorchFunction():
        return tensor.detach().clone()


def _are_equal(tensor: torch.Tensor, content: torch.Tensor) -> bool:
    if tensor.shape != content.shape or tensor.dtype != content.dtype:
        return False
    if tensor.is_sparse:
        tensor, content = tensor.coalesce().values(), content.coalesce().values()
    if tensor.is_floating_point() or tensor.is_complex():
        tensor, content = tensor.nan_to_num(), content.nan_to_num()
    return tensor.is_meta or torch.equal(tensor, content)
