"""Answers to columns: what a pipeline returns, as columns of Arrow whose types the signature decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from ...ops.graph.errors import BatchError
from ...ops.graph.graph import Value
from ...ops.graph.types import ListType, ScalarType, TensorType
from ...pipeline.pipeline import Pipeline

_SCALARS = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string()}
_WIDENED = {"float16": "float32", "bfloat16": "float32"}  # which few readers of Parquet know


@dataclass(frozen=True)
class OutputColumn:
    """A column of the target.

    Attributes:
        name: of the column.
        path: the way to the value in what a run returns.
        kind: ``"tensor"``, ``"strings"`` and so on, as in `Pipeline.outputs`.
        type: of the column.
        value: of every row, where the output is fixed.
    """

    name: str
    path: tuple[str | int, ...]
    kind: str
    type: pa.DataType
    value: Any = None


class OutputTable:
    """The columns that a pipeline gives.

    Args:
        pipeline: the pipeline.
        by_row: whether a run is one row.

    Raises:
        BatchError: an output has no form in Parquet.
    """

    def __init__(self, pipeline: Pipeline, by_row: bool) -> None:
        self.by_row = by_row
        leaves = _leaves(pipeline.graph.output)
        self.columns = [_column(field, leaf, by_row) for field, leaf in zip(pipeline.outputs, leaves, strict=True)]
        self.schema = pa.schema([pa.field(each.name, each.type) for each in self.columns])

    def arrays(self, result: Any, rows: int) -> list[pa.Array]:
        """What one run returned, as an array for each column.

        Raises:
            BatchError: an output has another number of items than there are rows.
        """
        return [self._array(each, _at(result, each.path), rows) for each in self.columns]

    def _array(self, column: OutputColumn, value: Any, rows: int) -> pa.Array:
        if column.kind == "fixed":
            return pa.array([column.value] * rows, column.type)
        if isinstance(value, np.ndarray):
            value = torch.from_numpy(value) if value.dtype != object else value.tolist()
        if self.by_row:
            value = value.unsqueeze(0) if isinstance(value, torch.Tensor) else [value]
        if len(value) != rows:
            raise BatchError(
                "an output has not one item for each row", where=f"output {column.name!r}", got=len(value),
                expected=rows, fix="Run each row alone: batch_size=1.",
            )  # fmt: skip
        return _nested(value, column.type) if isinstance(value, torch.Tensor) else _listed(value, column.type)


def _leaves(tree: Any) -> list[Any]:
    from ...ops.graph.traverse import leaves

    return list(leaves(tree))


def _column(field: Any, leaf: Any, by_row: bool) -> OutputColumn:
    path = field.path
    name = ".".join(map(str, path)) if path and isinstance(path[0], str) else ".".join(("output", *map(str, path)))
    if field.kind == "fixed":
        try:
            return OutputColumn(name, path, "fixed", pa.scalar(field.default).type, field.default)
        except (pa.ArrowException, TypeError, ValueError):
            return OutputColumn(name, path, "fixed", pa.string(), str(field.default))
    kind = leaf.type if isinstance(leaf, Value) else None
    return OutputColumn(name, path, field.kind, _type_of(kind, field.name, by_row))


def _type_of(kind: Any, name: str, by_row: bool) -> pa.DataType:
    """The type of a column for the values of a row.

    Raises:
        BatchError: Parquet has none.
    """
    match kind:
        case TensorType(dtype, shape):
            return _lists(_number(dtype, name), len(shape) if by_row else len(shape) - 1)
        case ListType(item):
            inner = _item(item, name)
            return pa.list_(inner) if by_row else inner
        case ScalarType("strings"):
            return pa.list_(pa.string()) if by_row else pa.string()
        case ScalarType(scalar) if scalar in _SCALARS and by_row:
            return _SCALARS[scalar]
    raise BatchError(
        "the output has no form in Parquet", where=f"output {name!r}", got=kind,
        fix="Return tensors, lists of texts or of records, with one item for each row.",
    )  # fmt: skip


def _item(item: Any, name: str) -> pa.DataType:
    match item:
        case dict():
            return pa.struct([pa.field(str(key), _item(part, name)) for key, part in item.items()])
        case tuple():
            return pa.struct([pa.field(f"item{index}", _item(part, name)) for index, part in enumerate(item)])
    return _type_of(item, name, by_row=True)


def _number(dtype: str, name: str) -> pa.DataType:
    if dtype == "bool":
        return pa.bool_()
    dtype = _WIDENED.get(dtype, dtype)
    if dtype.startswith(("float8", "complex")):
        raise BatchError("the output has no form in Parquet", where=f"output {name!r}", got=dtype)
    return pa.from_numpy_dtype(np.dtype(dtype))


def _lists(kind: pa.DataType, depth: int) -> pa.DataType:
    return pa.list_(_lists(kind, depth - 1)) if depth else kind


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value[key] if isinstance(value, Mapping) or isinstance(key, int) else getattr(value, key)
    return value


def _nested(tensor: torch.Tensor, kind: pa.DataType) -> pa.Array:
    """An array of lists of lists, over the numbers of the tensor."""
    tensor = tensor.detach().cpu()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _WIDENED:
        tensor = tensor.to(getattr(torch, _WIDENED[name]))
    shape, flat = list(tensor.shape), tensor.contiguous().reshape(-1).numpy()
    kinds = [kind]
    while pa.types.is_list(kinds[-1]):
        kinds.append(kinds[-1].value_type)
    found = pa.array(flat, kinds[-1])
    for depth in range(len(shape) - 1, 0, -1):
        count = int(np.prod(shape[:depth], dtype=np.int64))
        offsets = pa.array(np.arange(count + 1, dtype=np.int64) * shape[depth]).cast(pa.int32())
        found = pa.ListArray.from_arrays(offsets, found)
    return found.cast(kind) if found.type != kind else found


def _listed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([_plain(value, kind) for value in values], kind)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow takes it: tuples as structs, tensors as lists."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if pa.types.is_struct(kind):
        names = [kind.field(index).name for index in range(kind.num_fields)]
        parts = [value[name] for name in names] if isinstance(value, Mapping) else list(value)
        return {n: _plain(v, kind.field(n).type) for n, v in zip(names, parts, strict=True)}
    return [_plain(item, kind.value_type) for item in value] if pa.types.is_list(kind) else value
