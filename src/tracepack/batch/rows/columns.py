"""Columns to inputs: which column each input of a pipeline takes, and the values that the rows of a part give it.

A pipeline takes rows together where every input has one item for each row along its first size, which is free; else
each row is a run. A row that cannot become an input is a bad row: it holds a null, a list of another length than those
before it, or a number that the input's dtype cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from ...ops.graph.errors import BatchError
from ...ops.graph.program import Parameters
from ...ops.graph.types import STRINGS, ListType, TensorType, Type
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.feeds import build_feed, plain_name, to_input
from ..reading.parts import undecodable
from .arrow_types import innermost, is_number, is_text, list_depth


@dataclass(frozen=True)
class InputColumns:
    """An input with the columns that it takes.

    Attributes:
        name: the input, without brackets.
        kind: its type.
        columns: one, or several that become the items of each row.
        sizes: those of a row's value along its dimensions; of a free one what the first row has.
        default: whether the input has one, which stands for a null of its column where each row is a run.
    """

    name: str
    kind: Type
    columns: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    default: bool = False


Values = list[tuple[str, Any]]
Feed = Callable[[Values], Mapping[str, Any]]


@dataclass(frozen=True)
class ColumnBinding:
    """How rows become feeds.

    Attributes:
        inputs: each input that columns give.
        by_row: whether each row is a run.
        feed: makes a feed of the values of the inputs.
        exact: whether whole numbers among decimals are to be held, as those of JSON are, which Arrow makes float64.
    """

    inputs: tuple[InputColumns, ...]
    by_row: bool
    feed: Feed
    exact: bool = False

    def columns(self) -> list[str]:
        """The columns that are read."""
        return [name for each in self.inputs for name in each.columns]

    def bad(self, rows: pa.Table) -> dict[int, str]:
        """What is wrong with the rows that cannot become inputs, by their index."""
        found: dict[int, str] = {}
        for each in self.inputs:
            for name in each.columns:
                column = _whole(rows[name])
                if not is_number(innermost(column.type)):
                    found |= dict.fromkeys(undecodable(column), f"input {each.name!r}: column {name!r} is not in UTF-8")
                for row in np.flatnonzero(~_sound(column, each.sizes)).tolist() if not self._may_lack(each) else ():
                    found.setdefault(row, f"input {each.name!r}: {_fault(rows[name][row].as_py(), name, each.sizes)}")
        return found

    def _may_lack(self, each: InputColumns) -> bool:
        return self.by_row and each.default

    def values(self, rows: pa.Table) -> tuple[Values, dict[int, str]]:
        """The values of all inputs for sound rows, and the rows that the dtype of an input cannot hold."""
        lost: dict[int, str] = {}
        found: Values = []
        for each in self.inputs:
            if self.by_row:
                found.append((each.name, [rows[name].to_pylist() for name in each.columns]))
            elif isinstance(each.kind, TensorType):
                tensor, wrong = _tensor(each, each.kind, rows, self.exact)
                found.append((each.name, tensor))
                for row in np.flatnonzero(wrong).tolist():
                    got = ", ".join(str(rows[name][row].as_py())[:80] for name in each.columns)
                    lost.setdefault(row, f"input {each.name!r}: {each.kind.dtype} cannot hold {got}")
            else:
                found.append((each.name, rows[each.columns[0]].to_pylist()))
        return found, lost

    def sliced(self, values: Values, begin: int, end: int) -> Mapping[str, Any]:
        """The feed for some of the rows; for one row where each is a run.

        Raises:
            SignatureError: a value of a row is none of the input's.
        """
        if not self.by_row:
            return self.feed(
                [
                    (each.name, _items(value[begin:end], each))
                    for each, (_, value) in zip(self.inputs, values, strict=True)
                ]
            )
        found: Values = []
        for each, (name, lists) in zip(self.inputs, values, strict=True):
            value = lists[0][begin] if len(lists) == 1 else [items[begin] for items in lists]
            if value is None and self._may_lack(each):
                continue
            found.append((name, to_input(value, each.kind, name)))
        return self.feed(found)


def _items(value: Any, each: InputColumns) -> Any:
    return to_input(value, each.kind, each.name) if isinstance(each.kind, ListType) else value


def bind(
    pipeline: Pipeline, schema: pa.Schema, named: Mapping[str, str | Sequence[str]], first: pa.Table, exact: bool
) -> ColumnBinding:
    """Finds the columns of each input.

    Args:
        pipeline: whose inputs they are.
        schema: the columns of the source.
        named: the columns of inputs that are called otherwise.
        first: rows from the beginning, which fix the length of lists where the pipeline leaves it free.
        exact: whether the source is of JSON.

    Raises:
        BatchError: an input has no column, or one that it cannot take.
    """
    parameters = pipeline.program.parameters
    fields = [field for field in pipeline.inputs if field.kind != "fixed"]
    known = {plain_name(field.name): field for field in fields}
    if unknown := [name for name in named if name not in known]:
        raise BatchError("the pipeline has no such input", where=f"map of {unknown[0]!r}", expected=", ".join(known))
    kinds = {plain_name(name): kind for name, kind in zip(parameters.names, parameters.types, strict=True)}
    found, depths = [], []
    for name, field in known.items():
        given = named.get(name, name)
        columns = (given,) if isinstance(given, str) else tuple(given)
        if not columns:
            raise BatchError("an input takes no column", where=f"map of {name!r}", expected="one or more columns")
        lacking = [each for each in columns if each not in schema.names]
        if lacking and name not in named and not field.required:
            continue
        if lacking:
            raise BatchError(
                f"the source has no column {lacking[0]!r}", where=f"input {name!r}", expected=", ".join(schema.names),
                fix=f"Name the column: --map {name}=COLUMN.",
            )  # fmt: skip
        default = not field.required and len(columns) == len(field.path) == 1 and (exact or field.default is None)
        found.append(InputColumns(name, kinds[name], columns, default=default))
        depths.append(_together(found[-1], schema))
    if not found:
        raise BatchError("the pipeline has no inputs", where=f"pipeline {pipeline.name!r}")
    if len(set(depths)) > 1:
        names = [each.name for each, together in zip(found, depths, strict=True) if not together]
        raise BatchError(
            "some inputs take a row at a time and others many",
            where=f"inputs {', '.join(map(repr, names))} and the others",
            fix="Trace the function so that all inputs have the rows along their first dimension.",
        )
    by_row = not depths[0]
    if not by_row:
        check_rows(pipeline, found)
    sized = tuple(_with_sizes(each, first, by_row) for each in found)
    return ColumnBinding(sized, by_row, _feed(parameters, [each.name for each in sized]), exact)


def _together(each: InputColumns, schema: pa.Schema) -> bool:
    """Whether the input takes many rows at once.

    Raises:
        BatchError: it cannot take its columns.
    """
    types = [schema.field(name).type for name in each.columns]
    depth = list_depth(types[0]) + (len(types) > 1)
    several = len(types) > 1
    if isinstance(each.kind, TensorType):
        inner = {innermost(kind) for kind in types}
        rank = len(each.kind.shape)
        numbers = all(is_number(kind) and pa.types.is_boolean(kind) == (each.kind.dtype == "bool") for kind in inner)
        if numbers and depth in (rank - 1, rank) and len({list_depth(kind) for kind in types}) == 1:
            return depth == rank - 1
    elif not several and isinstance(each.kind, ListType):
        return True
    elif not several and each.kind == STRINGS and is_text(innermost(types[0])) and depth <= 1:
        return depth == 0
    elif not several and each.kind != STRINGS and depth == 0:
        return False
    raise BatchError(
        "the input cannot take the column", where=f"input {each.name!r}",
        got=", ".join(f"{name}: {kind}" for name, kind in zip(each.columns, types, strict=True)),
        expected=f"a column for {each.kind}",
    )  # fmt: skip


def check_rows(pipeline: Pipeline, inputs: Sequence[InputColumns]) -> None:
    """Checks that the first sizes of all inputs are free, and that every output has one of them, or one of data's.

    How many items an output has is checked in each run, too.

    Raises:
        BatchError: not so.
    """
    firsts = {each.kind.shape[0] for each in inputs if isinstance(each.kind, TensorType)}
    relied = pipeline.signature.partition(" where ")[2]
    if any(isinstance(size, int) or re.search(rf"\b{re.escape(size)}\b", relied) for size in firsts):
        raise BatchError(
            "the pipeline does not take any number of rows", where=f"pipeline {pipeline.name!r}",
            got=pipeline.signature, fix="Trace a function for any number of rows, with examples of two or more.",
        )  # fmt: skip
    for field in pipeline.outputs:
        if field.kind == "tensor" and not (field.shape and (field.shape[0] is None or field.shape[0] in firsts)):
            raise BatchError(
                "an output has not one item for each row", where=f"pipeline {pipeline.name!r}, output {field.name!r}",
                got=pipeline.signature, fix="Return what belongs to the rows, along the first dimension.",
            )  # fmt: skip


def _with_sizes(each: InputColumns, first: pa.Table, by_row: bool) -> InputColumns:
    if by_row or not isinstance(each.kind, TensorType):
        return each
    wanted = each.kind.shape[1:] if len(each.columns) == 1 else each.kind.shape[2:]
    if len(each.columns) > 1 and isinstance(each.kind.shape[1], int) and each.kind.shape[1] != len(each.columns):
        raise BatchError(
            "an input has another number of columns", where=f"input {each.name!r}", got=len(each.columns),
            expected=each.kind,
        )  # fmt: skip
    sizes: list[int] = []
    seen = next((value for value in first[each.columns[0]].to_pylist() if value is not None), None)
    for size in wanted:
        sizes.append(size if isinstance(size, int) else len(seen) if isinstance(seen, list) else 0)
        seen = seen[0] if isinstance(seen, list) and seen else None
    return InputColumns(each.name, each.kind, each.columns, tuple(sizes))


def _feed(parameters: Parameters, names: Sequence[str]) -> Feed:
    """What makes a feed of values by their plain names."""
    top = {item.name for item in parameters.items}
    if set(names) <= top and len(parameters.names) == len({plain_name(name) for name in parameters.names} & top):
        return dict
    return lambda values: build_feed(parameters, {name: _plain(value) for name, value in values})


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, torch.Tensor) else value


# -- values ----------------------------------------------------------------------------------------------------


def _whole(column: pa.ChunkedArray) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _sound(array: Any, sizes: Sequence[int]) -> Any:
    """For each row whether it holds no null, and lists of these lengths."""
    good = array.is_valid().to_numpy(zero_copy_only=False)
    if not sizes:
        return good
    lengths = pc.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False)
    good = good & (lengths == sizes[0])
    sub = array if good.all() else array.filter(pa.array(good))
    inner = _sound(sub.flatten(), sizes[1:])
    if not inner.all():
        good[good] = inner.reshape(int(good.sum()), sizes[0]).all(1)
    return good


def _fault(value: Any, column: str, sizes: Sequence[int]) -> str:
    """What is wrong with a row that is not sound."""
    level = [value]
    for size in sizes:
        if any(each is None for each in level):
            break
        if wrong := [len(each) for each in level if len(each) != size]:
            return f"column {column!r} has a list of {wrong[0]}, expected {size}"
        level = [item for each in level for item in each]
    return f"column {column!r} is null" if value is None else f"column {column!r} holds a null"


def _tensor(each: InputColumns, kind: TensorType, rows: pa.Table, exact: bool) -> tuple[torch.Tensor, Any]:
    """The tensor of sound rows, and for each row whether the dtype cannot hold it."""
    arrays = [_array(_whole(rows[name]), each.sizes) for name in each.columns]
    array = arrays[0] if len(arrays) == 1 else np.stack(arrays, 1)
    target = np.dtype(kind.dtype) if hasattr(np, kind.dtype) or kind.dtype == "bool" else np.dtype("float32")
    with np.errstate(all="ignore"):  # what is lost is found below
        made = array if array.dtype == target else array.astype(target)
    wrong = np.zeros(len(array), bool)
    if made is not array:
        differs = _differs(array, made, exact)
        wrong = differs.reshape(len(array), -1).any(1) if len(array) else wrong
    if not made.flags.writeable:
        made = made.copy()  # memory of Arrow is read only, and a run may write into its inputs
    tensor = torch.from_numpy(made)
    wanted: torch.dtype = getattr(torch, kind.dtype)
    if tensor.dtype == wanted:
        return tensor, wrong
    narrow = tensor.to(wanted)  # bfloat16, which numpy lacks
    back = narrow.to(tensor.dtype)
    lost = back.isinf() & ~tensor.isinf() if array.dtype.kind == "f" else back != tensor
    return narrow, wrong | lost.reshape(len(array), -1).any(1).numpy() if len(array) else wrong


def _array(array: Any, sizes: Sequence[int]) -> Any:
    count = len(array)
    for _ in sizes:
        array = array.flatten()
    return array.to_numpy(zero_copy_only=False).reshape(count, *sizes)


@np.errstate(all="ignore")
def _differs(before: Any, after: Any, exact: bool = False) -> Any:
    """Where a value was lost; a float that is rounded to a narrower one is not, unless it is infinite, or was whole."""
    if before.dtype.kind == "f" and after.dtype.kind == "f":
        whole = (before == np.rint(before)) & (np.abs(before) <= 1 << 53) & (after != before)
        return np.isinf(after) & ~np.isinf(before) | (whole & exact)
    if (before.dtype.kind == "b") != (after.dtype.kind == "b"):
        return np.ones(before.shape, bool)
    return (after.astype(before.dtype) != before) | ((after < 0) != (before < 0))
