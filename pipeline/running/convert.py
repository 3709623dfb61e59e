"""Conversion of inputs, as `load(..., convert=True)` asks for it: of lists, numbers, columns of tables, other dtypes.

Nothing is lost: a value must be the same number in the dtype of the input. Python's floats, and those of a table, have
no dtype that anybody chose, so they alone are rounded to a narrower one, as `torch.tensor` rounds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import SignatureError
from ...ops.graph.types import STRINGS, ListType, ScalarType, TensorType, Type


def converted(value: Any, kind: Type, where: str) -> Any:
    """An input of the type that a pipeline takes, where the caller's value can become one; else the value itself.

    Raises:
        SignatureError: a number has no equal in the dtype of the input, or lists are ragged or hold no numbers.
    """
    table = not isinstance(value, torch.Tensor | np.ndarray) and hasattr(value, "to_numpy")
    if table:
        value = value.to_numpy()
    if isinstance(kind, TensorType):
        return _to_tensor(value, kind, where, table)
    if isinstance(kind, ListType):
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(items, list | tuple):
            return [_item(item, kind.item, f"{where}[{index}]") for index, item in enumerate(items)]
        return value
    if kind == STRINGS:
        return value.tolist() if isinstance(value, np.ndarray) else value
    return _to_scalar(value, kind)


def _item(value: Any, kind: Any, where: str) -> Any:
    """An item of a list, converted where it has the structure of its type."""
    if isinstance(kind, dict):
        alike = isinstance(value, Mapping) and value.keys() == kind.keys()
        return {key: _item(value[key], kind[key], f"{where}[{key!r}]") for key in kind} if alike else value
    if isinstance(kind, tuple):
        alike = isinstance(value, list | tuple) and len(value) == len(kind)
        return tuple(_item(*pair, where) for pair in zip(value, kind, strict=True)) if alike else value
    return converted(value, kind, where)


def _to_tensor(value: Any, kind: TensorType, where: str, table: bool) -> Any:
    wanted, rounds = getattr(torch, kind.dtype), table
    if isinstance(value, bool | int | float | complex | list | tuple):
        value, rounds = _array(value, kind, where), True
    if isinstance(value, np.ndarray):
        value = _tensor(value, kind, where)
    if not isinstance(value, torch.Tensor) or value.dtype == wanted or value.is_meta:
        return value
    if value.is_complex() and not wanted.is_complex:
        kept = False
    else:
        found = value.to(wanted)
        if rounds and value.is_floating_point() and found.is_floating_point():
            kept = torch.equal(found.isfinite(), value.isfinite())
        else:
            kept = _equal(found.to(value.dtype), value)
    if not kept:
        got = str(value.dtype).removeprefix("torch.")
        raise SignatureError(
            f"values are lost in the conversion from {got} to {kind.dtype}",
            where=f"input {where!r}", expected=kind, fix="Convert them yourself, as you want them rounded.",
        )  # fmt: skip
    return found


def _array(value: Any, kind: TensorType, where: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise SignatureError(
            "lists are of different lengths", where=f"input {where!r}", expected=kind, fix="Pad them to one length."
        ) from None
    return array if array.size else array.astype(bool)  # numbers of no dtype fit every one


def _tensor(array: np.ndarray[Any, Any], kind: TensorType, where: str) -> torch.Tensor:
    if array.dtype.kind not in "biufc":
        raise SignatureError("not numbers", where=f"input {where!r}", got=f"numpy {array.dtype}", expected=kind)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise SignatureError("torch has no dtype for the array", got=f"numpy {array.dtype}")
    plain = array.flags.writeable and array.flags.c_contiguous
    return torch.from_numpy(array if plain else array.copy())


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one dtype hold the same numbers; a NaN is equal to a NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _to_scalar(value: Any, kind: ScalarType) -> Any:
    """A number of Python from a tensor or an array without dimensions; a float for an int and back where equal."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    match kind.kind, value:
        case "float", int() if not isinstance(value, bool) and abs(value) <= 2**53:
            return float(value)
        case "int", float() if value.is_integer():
            return int(value)
    return value
