"""The leaves of a result: their names, arrays for files, plain values for JSON, and short texts for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ..pipeline.running.binding import as_tensor
from .exit_codes import UsageError

_LONGEST_INTEGER = 14_000  # bits; Python writes integers of at most 4300 digits


def named(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of a result with names: a dict's keys, ``out`` and positions elsewhere.

    A list of texts is one leaf, and so is an empty container.

    Raises:
        UsageError: two leaves have one name.

    Example:
        >>> [n for n, _ in named({"probs": 1, "state": (2, 3)})], [n for n, _ in named(1)]
        (['probs', 'state[0]', 'state[1]'], ['out'])
    """
    found: dict[str, Any] = {}
    places: dict[str, str] = {}
    for name, place, leaf in _leaves(tree, None, "out"):
        if name in found:
            raise UsageError(
                "two outputs have one name", where=f"output {name!r}", got=f"{places[name]} and {place}",
                fix="Run the pipeline from Python, or trace it with other keys.",
            )  # fmt: skip
        found[name], places[name] = leaf, place
    return list(found.items())


def _leaves(tree: Any, name: str | None, place: str) -> Iterator[tuple[str, str, Any]]:
    """The leaves with their names and where they are; ``name`` is None at the top."""
    if isinstance(tree, Mapping) and tree:
        for key, item in tree.items():
            short = key if name is None and isinstance(key, str) else f"{name or ''}[{key!r}]"
            yield from _leaves(item, short, f"{place}[{key!r}]")
    elif isinstance(tree, tuple | list) and not all(isinstance(item, str) for item in tree):
        for index, item in enumerate(tree):
            yield from _leaves(item, f"{'out' if name is None else name}[{index}]", f"{place}[{index}]")
    else:
        leaf = as_tensor(tree) if isinstance(tree, np.ndarray | np.generic) else tree
        yield "out" if name is None else name, place, leaf


def as_array(value: Any) -> np.ndarray[Any, Any] | None:
    """A leaf as an array; dtypes that numpy lacks are widened to float32 or complex64, without loss.

    Returns:
        None where no array holds the leaf: None, an integer of more than 64 bits, a text that ends in NUL.
    """
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().resolve_neg()
        name = str(value.dtype).removeprefix("torch.")
        if not hasattr(np, "bool_" if name == "bool" else name):
            value = value.to(torch.complex64) if value.is_complex() else value.float()
        array: np.ndarray[Any, Any] = value.numpy()
        return array
    if isinstance(value, Mapping | tuple | list) and not value:
        return np.zeros(0)
    array = np.asarray(value)
    lossless = array.dtype.kind in "biufc" or (array.dtype.kind == "U" and array.tolist() == value)
    return array if lossless else None


def as_json(value: Any) -> Any:
    """A leaf for JSON; NaN and infinities as JavaScript names them, complex numbers as pairs, a dtype by its name.

    Raises:
        UsageError: an integer is too long to be written.
    """
    match value:
        case int() if value.bit_length() > _LONGEST_INTEGER:
            raise UsageError("an integer is too long to be written", got=f"{value.bit_length()} bits")
        case torch.Tensor():
            return (torch.view_as_real(value.resolve_conj()) if value.is_complex() else value).tolist()
        case complex():
            return [value.real, value.imag]
        case None | bool() | int() | float() | str() | list() | tuple():
            return value
        case Mapping():
            return dict(value)
    return str(value).removeprefix("torch.")


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
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return f"{value.bit_length()} bits"
    if not isinstance(value, torch.Tensor):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    flat = value.detach().cpu().reshape(-1)
    shown = [f"{v:.5g}" if isinstance(v, float) else str(v) for v in flat[:4].tolist()]
    return ", ".join(shown) + (", …" if flat.numel() > 4 else "")
