"""Splits one call of an op into its structure and its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .held_objects import pack, state, unpack

Leaves = Sequence[Any]


@dataclass(frozen=True)
class Call:
    """The structure of one call of an op: everything but its tensors.

    Attributes:
        spec: torch's description of the containers of ``(args, kwargs)``.
        fixed: the leaves, with None in place of tensors.
        kinds: dtype and rank of each tensor; None for a number that is decided at run time, which counts as one.
        names: a name for each tensor.
        first: for each tensor the place of the first one that is the same object; empty where that does not count.
    """

    spec: Any
    fixed: tuple[Any, ...]
    kinds: tuple[tuple[torch.dtype, int] | None, ...]
    names: tuple[str, ...]
    first: tuple[int, ...] = ()

    def rebuild(self, tensors: Leaves) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
        """The arguments built from tensors, and the objects among them that hold tensors."""
        supply = iter([tensors[place] for place in self.first] if self.first else tensors)
        leaves = [next(supply) if fixed is _TENSOR else fixed for fixed in self.fixed]
        objects: list[Any] = []
        args, kwargs = unpack(pytree.tree_unflatten(leaves, self.spec), objects)
        return tuple(args), kwargs, objects


class _Tensor:
    """Marks the place of a tensor in `Call.fixed`."""

    def __repr__(self) -> str:
        return "tensor"


_TENSOR = _Tensor()


def flatten_call(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    parameters: Sequence[str] = (),
    plain: Callable[[Any], Any] = lambda leaf: leaf,
    free: Callable[[Any], bool] = lambda leaf: False,
) -> tuple[Call, list[Any]]:
    """Splits a call into its structure and its tensors.

    Args:
        args: positional arguments.
        kwargs: keyword arguments.
        parameters: names of the positional parameters, for messages.
        plain: makes a plain value of a leaf that is neither a tensor nor free.
        free: whether a leaf is a number that is decided at run time.
    """
    pairs, spec = pytree.tree_flatten_with_path(pack((args, kwargs), []))
    fixed, tensors, names = [], [], []
    for path, leaf in pairs:
        if isinstance(leaf, torch.Tensor) or free(leaf):
            fixed.append(_TENSOR)
            tensors.append(leaf)
            names.append(_leaf_name(path, parameters))
        else:
            fixed.append(plain(leaf))
    kinds = tuple((t.dtype, t.dim()) if isinstance(t, torch.Tensor) else None for t in tensors)
    ids = [id(tensor) for tensor in tensors]
    first = tuple(map(ids.index, ids)) if len({*ids}) < len(ids) else ()  # the model may ask which are one object
    return Call(spec, tuple(fixed), kinds, tuple(names), first), tensors


def _leaf_name(path: tuple[Any, ...], parameters: Sequence[str]) -> str:
    root, first, *rest = path
    if root.idx == 0:
        index = first.idx
        name = parameters[index] if index < len(parameters) else f"arg{index}"
    else:
        name = str(first.key)
    return name + "".join(str(step) for step in rest)


def returned(result: Any, objects: Sequence[Any]) -> Any:
    """All results of a call: its result, and the new attributes of objects among its arguments."""
    met = list(objects)
    return state(list(objects), met), pack(result, met)


def separate(tensors: Leaves) -> list[Any]:
    """Copies with memory of their own, which has the layout of the originals."""
    return [copied(tensor) if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]


def dense(tensors: Leaves) -> list[Any]:
    """Copies without gaps, for an export, which otherwise asks about strides without need.

    They share no memory: torch.export would take two inputs that are one tensor for one input.
    """
    return [tensor.detach().clone() if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides; `clone` alone closes gaps and gives an expanded tensor memory for every element."""
    tensor = tensor.detach()
    copy = tensor.clone()
    if tensor.layout is not torch.strided or tensor.device.type == "meta" or copy.stride() == tensor.stride():
        return copy
    if tensor.is_conj() or tensor.is_neg() or not tensor.numel():
        return copy
    reach = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    whole = tensor.as_strided((reach,), (1,)).clone()
    return whole.as_strided(tensor.shape, tensor.stride())
