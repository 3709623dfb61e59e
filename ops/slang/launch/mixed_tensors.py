"""Torch's tensors beside SlangPy's in one call, which SlangPy serves: lent as tensors of its device, then read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..language.errors import SlangArgumentError
from .slangpy_device import import_slangpy


class Shared:
    """The torch tensors of one call as SlangPy's.

    Args:
        device: SlangPy's.
        backward: whether the call is one of `bwds`, which reads and adds to their `.grad`.
        where: the function, for errors.
    """

    def __init__(self, device: Any, backward: bool, where: str) -> None:
        self._device, self._backward, self._where = device, backward, where
        self._pairs: list[tuple[torch.Tensor, Any]] = []

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with SlangPy's tensors in place of torch's."""
        return [self.of(each) for each in args], {name: self.of(each) for name, each in kwargs.items()}

    def of(self, value: Any) -> Any:
        """A tensor of SlangPy with a torch tensor's content; anything else as it is.

        Raises:
            SlangArgumentError: torch would want a gradient through the call.
        """
        if not isinstance(value, torch.Tensor):
            return value
        if value.requires_grad and torch.is_grad_enabled() and not self._backward:
            raise SlangArgumentError(
                "torch's autograd does not reach through a call with tensors of SlangPy",
                where=self._where,
                fix="Pass the torch tensor detached and call .bwds, or pass torch tensors only.",
            )
        lent = self._copied(value)
        if self._backward:
            lent = lent.with_grads(zero=True)
            if value.grad is not None:
                lent.grad.copy_from_numpy(_array(value.grad))
        self._pairs.append((value, lent))
        return lent

    def _copied(self, tensor: torch.Tensor) -> Any:
        return import_slangpy().Tensor.from_numpy(self._device, _array(tensor))

    def give_back(self) -> None:
        """Brings what the call wrote to the torch tensors: their content, or their `.grad` after `bwds`."""
        for tensor, lent in self._pairs:
            if not self._backward:
                found = torch.from_numpy(lent.to_numpy()).to(tensor.device)
                if not torch.equal(found, tensor):
                    tensor.copy_(found)
            elif tensor.requires_grad or tensor.grad is not None:
                tensor.grad = torch.from_numpy(lent.grad.to_numpy()).to(tensor.device).reshape(tensor.shape)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().contiguous().numpy()
