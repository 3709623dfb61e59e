"""Calls with tensors of torch and of SlangPy, which SlangPy runs: torch's are copied to its device, then read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..binding.instances import TYPE, fields_of, struct_name
from ..language.errors import SlangArgumentError
from ..language.types import split_name
from .slangpy_device import import_slangpy


class Shared:
    """The torch tensors of one call as SlangPy's.

    Args:
        device: the device of SlangPy.
        backward: whether the call is one of `bwds`, which reads and adds to their `.grad`.
        where: the function in messages.
    """

    def __init__(self, device: Any, backward: bool, where: str) -> None:
        self._device, self._backward, self._where = device, backward, where
        self._pairs: list[tuple[torch.Tensor, Any]] = []

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with SlangPy's tensors in place of torch's."""
        return [self.of(each) for each in args], {name: self.of(each) for name, each in kwargs.items()}

    def of(self, value: Any) -> Any:
        """A tensor of SlangPy with a torch tensor's content, also in a dict or an instance; anything else as it is.

        Raises:
            SlangArgumentError: torch would want a gradient through the call.
        """
        given = fields_of(value)
        if given is not None:
            fields = {name: self.of(each) for name, each in given.items()}
            if all(fields[name] is each for name, each in given.items()):
                return value
            return {**fields, TYPE: struct_name(value)} if struct_name(value) else fields
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
        """Copies what the call wrote into the torch tensors: their content, or their `.grad` after `bwds`."""
        for tensor, lent in self._pairs:
            if not self._backward:
                found = torch.from_numpy(lent.to_numpy()).to(tensor.device)
                if not torch.equal(found, tensor):
                    tensor.copy_(found)
            elif tensor.requires_grad or tensor.grad is not None:
                tensor.grad = torch.from_numpy(lent.grad.to_numpy()).to(tensor.device).reshape(tensor.shape)


def is_slangpys(args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> bool:
    """Whether tensors of SlangPy are among the arguments, so that SlangPy must run the call."""
    for value in (*args, *kwargs.values(), result):
        kind = type(value)
        if kind is torch.Tensor or kind is float:
            continue
        fields = fields_of(value)
        if fields is not None and is_slangpys(tuple(fields.values()), {}, None):
            return True
        if (kind.__module__ or "").startswith("slangpy") and kind.__name__ != "GridArg":
            return True
    return False


def device_of(value: Any) -> Any:
    """The device of one of SlangPy's tensors, also in a struct, or None."""
    fields = fields_of(value)
    if fields is not None:
        return next(filter(None, map(device_of, fields.values())), None)
    return getattr(value, "device", None) if (type(value).__module__ or "").startswith("slangpy") else None


def sizes_of(values: Sequence[Any]) -> list[int]:
    """The sizes of all tensors of a call, SlangPy's and torch's."""
    sizes: list[int] = []
    for value in values:
        fields = fields_of(value)
        if fields is not None:
            sizes += sizes_of(list(fields.values()))
        elif not isinstance(value, type):  # `_result` may name a class of tensors
            sizes += map(int, getattr(value, "shape", ()))
    return sizes


def slangpy_function(module: Any, name: str) -> Any:
    """SlangPy's function of a name; that of a struct it finds in the struct."""
    owner, own = split_name(name)
    struct = module.find_struct(owner) if owner else None
    return getattr(module, name) if struct is None else struct[own]


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().contiguous().numpy()
