"""The leaves of a result: their names, arrays for files, plain values for JSON, and short texts for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ..pipeline.running.binding import as_tensor


def named(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a result with names: a dict's keys, ``out`` and positions elsewhere.

    Example:
        >>> [n for n, _ in named({"probs": 1, "state": (2, 3)})], [n for n, _ in named(1)]
        (['probs', 'state[0]', 'state[1]'], ['out'])
    """
    if isinstance(tree, Mapping):
        for key, item in tree.items():
            yield from named(item, f"{name}[{key!r}]" if name or not isinstance(key, str) else key)
    elif isinstance(tree, tuple | list) and not (tree and all(isinstance(item, str) for item in tree)):
        for index, item in enumerate(tree):
            yield from named(item, f"{name or 'out'}[{index}]")
    else:
        yield name or "out", as_tensor(tree) if isinstance(tree, np.ndarray | np.generic) else tree


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """A leaf as an array; dtypes that numpy lacks are widened to float32, without loss."""
    if isinstance(value, torch.Tensor):
        value = value.cpu().resolve_conj().resolve_neg()
        name = str(value.dtype).removeprefix("torch.")
        wide = not hasattr(np, "bool_" if name == "bool" else name)
        array: np.ndarray[Any, Any] = (value.float() if wide else value).numpy()
        return array
    return np.asarray(value)


def as_json(value: Any) -> Any:
    """A leaf for JSON; NaN and infinities as JavaScript names them, complex numbers as pairs."""
    if isinstance(value, torch.Tensor):
        value = torch.view_as_real(value) if value.is_complex() else value
        return value.tolist()
    return [value.real, value.imag] if isinstance(value, complex) else value


def type_text(value: Any) -> str:
    """The dtype of a tensor, or the name of a Python type."""
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__


def sizes_of(value: Any) -> list[int] | None:
    """The sizes of a tensor; None for anything else."""
    return list(value.shape) if isinstance(value, torch.Tensor) else None


def shape_text(value: Any) -> str:
    """The shape of a tensor, such as ``2x3``; nothing for anything else."""
    return "x".join(map(str, value.shape)) if isinstance(value, torch.Tensor) else ""


def excerpt(value: Any) -> str:
    """The first values of a tensor, or the start of any other value, in one line."""
    if not isinstance(value, torch.Tensor):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    flat = value.detach().cpu().reshape(-1)
    shown = [f"{v:.5g}" if isinstance(v, float) else str(v) for v in flat[:4].tolist()]
    return ", ".join(shown) + (", …" if flat.numel() > 4 else "")
