"""Tensors of torch as values of ONNX Runtime, and its values as tensors: by DLPack, in the same memory.

An array of numpy on the way costs twice, when it is made and when its memory is read by functions that nothing else
calls: with the weights of a small model the caches hold little else. What comes in is lent for a run; what comes out
lies in memory that ONNX Runtime took for this run, and belongs to the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

to_dlpack: Callable[[torch.Tensor], Any] = torch._C._to_dlpack
"""Memory of a tensor with its dtype and its sizes. Tensors that are not `plain` lose what makes them so."""

from_dlpack: Callable[[Any], torch.Tensor] = torch._C._from_dlpack


value_of: Callable[[Any], Any] = getattr(runtime.OrtValue, "from_dlpack", repr)
"""The value of ONNX Runtime in the memory that `to_dlpack` names."""


@cache
def is_understood() -> bool:
    """Whether this ONNX Runtime and this torch understand each other: releases differ in arguments, and in bools."""
    try:
        for given in (torch.tensor([True, False]), torch.arange(2)):
            value = runtime.OrtValue.from_dlpack(to_dlpack(given))
            found = from_dlpack(value.to_dlpack())
            if found.dtype != given.dtype or found.data_ptr() != given.data_ptr() or not torch.equal(found, given):
                return False
        return all(hasattr(runtime.OrtValueVector, name) for name in ("dlpack_at", "__getitem__"))
    except Exception:  # any: it is of another release
        return False


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether the memory of a tensor holds its numbers one after the other, and as they are."""
    return tensor.is_contiguous() and not tensor.is_neg() and not tensor._is_zerotensor()


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A plain tensor of the same numbers.

    Raises:
        RuntimeError: it is one without memory.
    """
    if tensor._is_zerotensor():
        raise RuntimeError("the tensor has no memory")
    return tensor.resolve_neg().contiguous()
