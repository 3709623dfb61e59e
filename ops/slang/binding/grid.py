"""Grid arguments: each call of the function gets its own position, as with SlangPy's `grid` and `call_id`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from ...runtime.torch_compiler import is_traced_here
from ..language.types import SlangType


@dataclass(frozen=True)
class grid:
    """Asks for the positions of a grid of calls.

    An `int` parameter gets the position along the only axis, an `int2` the positions from the last axis to the
    first, as Slang indexes, an `int[2]` from the first to the last.

    Args:
        shape: the sizes of the grid.

    Example:
        >>> from tracepack.slang import grid
        >>> grid(shape=(2, 3)).shape
        (2, 3)
    """

    shape: tuple[int, ...]


def grid_shape(value: Any) -> tuple[int, ...] | None:
    """The sizes of a grid of tracepack or of SlangPy; None for any other value."""
    if isinstance(value, grid):
        return tuple(value.shape)
    if type(value).__module__.startswith("slangpy") and type(value).__name__ == "GridArg":
        return tuple(value.shape)
    return None


def index_tensor(shape: tuple[int, ...], type_: SlangType, device: torch.device | None) -> torch.Tensor:
    """The positions of a grid as a tensor of the parameter's type."""
    if (
        (torch.compiler.is_compiling() and is_traced_here())
        or torch._C._len_torch_dispatch_stack()
        or torch._C._is_torch_function_mode_enabled()
    ):
        return _make(shape, type_.kind == "vector", type_.kind == "scalar", type_.dtype, device)
    return _cached(shape, type_.kind == "vector", type_.kind == "scalar", type_.dtype, device)


def _make(
    shape: tuple[int, ...], reverse: bool, scalar: bool, dtype: torch.dtype, device: torch.device | None
) -> torch.Tensor:
    axes = [torch.arange(size, dtype=dtype, device=device) for size in shape]
    if scalar:
        return axes[0]
    behind = range(len(shape) - 1, -1, -1)
    positions = [axis.reshape(-1, *[1] * count).expand(shape) for axis, count in zip(axes, behind, strict=True)]
    return torch.stack(positions[::-1] if reverse else positions, dim=-1)


_cached = lru_cache(maxsize=64)(_make)
