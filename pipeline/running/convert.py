"""Conversion of inputs, as `load(..., convert=True)` asks for it: of lists, numbers, columns of tables, other dtypes.

Nothing is lost: a value must be the same number in the dtype of the input. Python's floats, and those of a table, have
no dtype that anybody chose, so they alone are rounded to a narrower one, as `torch.tensor` rounds them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import SignatureError
from ...ops.graph.types import STRINGS, ListType, ScalarType, TensorType, Type
from ...ops.runtime.user_code import attribute


def converted(value: Any, kind: Type, where: str) -> Any:
    """An input of the type that a pipeline takes, where the caller's value can become one; else the value itself.

    Raises:
        SignatureError: a number has no equal in the dtype of the input, or lists are ragged or hold no numbers.
    """
    table = not isinstance(value, torch.Tensor | np.ndarray) and attribute(value, "to_numpy") is not None
    if table:
        array = value.to_numpy()
        if isinstance(kind, TensorType) and _is_large(array, kind):
            _require_exact([item for column in _columns(value) for item in _listed(column)], kind, where)
        value = array
    if isinstance(kind, TensorType):
        return _to_tensor(value, kind, where, table)
    if isinstance(kind, ListType):
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(items, list | tuple):
            return [_item(item, kind.item, f"{where}[{index}]") for index, item in enumerate(items)]
        return value
    if kind == STRINGS:
        return value.tolist() if isinstance(value, np.ndarray) else value
    return _to_scalar(value, kind, where)


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
    if not isinstance(value, torch.Tensor) or value.dtype == wanted or not _is_dense(value):
        return value
    if value.is_floating_point() and value.itemsize == 1:  # torch computes next to nothing in them
        value = value.float()
    found = value.to(wanted) if wanted.is_complex or not value.is_complex() else None
    if found is None or not _kept(value, found, rounds):
        raise _lost(value.dtype, kind, where)
    return found


def _is_dense(value: torch.Tensor) -> bool:
    """Whether a tensor has numbers that can be compared; others are refused where inputs are bound."""
    return value.layout == torch.strided and not (value.is_meta or value.is_nested or value.is_quantized)


def rounded(array: np.ndarray[Any, Any], kind: TensorType, where: str) -> Any:
    """A tensor of a dtype that numpy lacks, from an array of numbers; floats are rounded to it.

    Raises:
        SignatureError: as `converted`.
    """
    return _to_tensor(array, kind, where, table=True)


def _array(value: Any, kind: TensorType, where: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise SignatureError(
            "lists are of different lengths", where=f"input {where!r}", expected=kind, fix="Pad them to one length."
        ) from None
    if not array.size:
        return array.astype(bool)  # numbers of no dtype fit every one
    if array.dtype.kind not in "biufc":
        raise _no_number(value, kind, where)
    if _is_large(array, kind):
        array = _exact(array, [_plain(item) for item in np.asarray(value, object).flat], kind, where)
    return array.astype(f"{array.dtype.kind}{array.dtype.itemsize}")  # torch knows no other name of a dtype


def _no_number(value: Any, kind: TensorType, where: str) -> SignatureError:
    """The error for the first item of a list that is no number, with its place."""
    for index, item in np.ndenumerate(np.asarray(value, object)):
        if not isinstance(item, bool | int | float | complex | np.generic):
            place = f"input {where + ''.join(f'[{i}]' for i in index)!r}"
            return SignatureError("not a number", where=place, got=repr(item)[:60], expected=kind)
    return SignatureError("an integer of more than 64 bits", where=f"input {where!r}", expected=kind)


def _is_large(array: Any, kind: TensorType) -> bool:
    """Whether some floats are so large that, had they been integers, not all would be the same in the dtype."""
    is_float = isinstance(array, np.ndarray) and array.dtype.kind == "f"
    limit = 2.0 ** _bits(kind)  # beyond the numbers of a float16, to which numpy would cast it
    return is_float and bool(np.any(np.abs(array.astype(np.float64)) >= limit))


def _bits(kind: TensorType) -> int:
    """The binary digits of a dtype's numbers; of integers those of numpy's floats, which they come through."""
    dtype = getattr(torch, kind.dtype)
    return 1 - int(math.log2(torch.finfo(dtype).eps)) if dtype.is_floating_point else 53


def _exact(array: np.ndarray[Any, Any], items: Sequence[Any], kind: TensorType, where: str) -> np.ndarray[Any, Any]:
    """The array that numpy made of some items: it makes floats of integers where others are floats, or beyond 2**63."""
    if all(isinstance(item, int) and 0 <= item < 2**64 for item in items):
        return np.array(items, np.uint64).reshape(array.shape)
    _require_exact(items, kind, where)
    return array


def _require_exact(items: Iterable[Any], kind: TensorType, where: str) -> None:
    """Refuses integers that are other numbers in a dtype: floats alone are rounded.

    Raises:
        SignatureError: there is one.
    """
    dtype, bits = getattr(torch, kind.dtype), _bits(kind)
    dtype = dtype if dtype.is_floating_point else torch.float64
    for item in items:
        if not isinstance(item, int) or abs(item) <= 2**bits:
            continue
        if abs(item) > sys.float_info.max or torch.tensor(float(item), dtype=dtype).item() != item:
            raise _lost(f"integers beyond 2**{bits}", kind, where)


def _columns(table: Any) -> list[Any]:
    """The columns of a table, or the one that is given."""
    items = attribute(table, "items") if attribute(table, "columns") is not None else None
    return [table] if items is None else [column for _, column in items()]


def _listed(column: Any) -> Iterable[Any]:
    """The items of a column, as Python knows them: integers stay so beside missing ones."""
    reader = next((found for name in ("tolist", "to_list", "to_pylist") if (found := attribute(column, name))), None)
    return map(_plain, reader() if reader is not None else ())


def _plain(item: Any) -> Any:
    """A number of Python for one of numpy or torch."""
    single = isinstance(item, np.generic) or (isinstance(item, torch.Tensor | np.ndarray) and item.ndim == 0)
    return item.item() if single else item


def _lost(got: Any, kind: TensorType, where: str) -> SignatureError:
    source = str(got).removeprefix("torch.")
    return SignatureError(
        f"values are lost in the conversion from {source} to {kind.dtype}",
        where=f"input {where!r}", expected=kind, fix="Convert them yourself, as you want them rounded.",
    )  # fmt: skip


def _tensor(array: np.ndarray[Any, Any], kind: TensorType, where: str) -> torch.Tensor:
    if array.dtype.kind not in "biufc":
        raise SignatureError("not numbers", where=f"input {where!r}", got=f"numpy {array.dtype}", expected=kind)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise SignatureError("torch has no dtype for the array", got=f"numpy {array.dtype}")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        got = "a masked array"
        raise SignatureError("a tensor has no mask", where=f"input {where!r}", got=got, fix="Pass array.filled(...).")
    array = np.asarray(array).astype(array.dtype.newbyteorder("="), copy=False)
    plain = array.flags.writeable and array.flags.c_contiguous
    return torch.from_numpy(array if plain else array.copy())


def _kept(value: torch.Tensor, found: torch.Tensor, rounds: bool) -> bool:
    """Whether a conversion kept the numbers: equal ones, or where floats may be rounded the nearest ones."""
    if value.is_complex():
        value, found = torch.view_as_real(value), torch.view_as_real(found)
    elif found.is_complex():
        found = found.real
    back = found.to(value.dtype)
    same = (back == value) | ((back != back) & (value != value))
    if rounds and value.is_floating_point() and found.is_floating_point():
        # A finite number beyond the dtype becomes an infinity, a NaN or the largest number, which are not near it.
        limits = torch.finfo(found.dtype)
        near = (back - value).abs() <= (value.abs() * (0.501 * limits.eps)).clamp(min=limits.smallest_normal)
        same |= near & value.isfinite()
    elif not value.is_floating_point() and value.dtype != torch.bool:
        same &= (found.to(torch.float64) < 0) == (value.to(torch.float64) < 0)  # -1 and 2**64 - 1 have the same bits
    if value.is_floating_point() != found.is_floating_point():  # the least integer and minus infinity turn back, too
        same &= value.isfinite() & found.isfinite()
    return bool(same.all())


def _to_scalar(value: Any, kind: ScalarType, where: str) -> Any:
    """A number of Python from a tensor or an array without dimensions; a float for an int and back where equal."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    match kind.kind, value:
        case "float", int() if not isinstance(value, bool):
            if abs(value) > sys.float_info.max or int(float(value)) != value:
                raise SignatureError("no float equals the integer", where=f"input {where!r}", expected=kind)
            return float(value)
        case "int", float() if value.is_integer():
            return int(value)
    return value
