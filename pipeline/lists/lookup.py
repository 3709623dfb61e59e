"""`lookup`: the entries of a constant table for one key or many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Operator
from ...ops.runtime.primitives import tables
from ...ops.tracing_hook import current
from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..recording.recorder import Recorder
from .plain_tables import plain_table


def lookup(table: Any, keys: Any, default: Any = ...) -> Any:
    """Looks keys up in a constant table, such as the names of classes or a vocabulary.

    In a trace the table becomes part of the pipeline, and the keys may be values of run time. Eagerly it does the same.

    Args:
        table: a list or a tuple, whose keys are indices, a dict with texts or numbers as keys, or an array of one
            dimension. All entries are of one type, which is str, int, float, bool, or lists of them.
        keys: a number or a text; a list of them, of any length; or a tensor or an array of integers of any shape.
        default: the entry of a key that the table lacks.

    Returns:
        For one key its entry. For a list or a tensor of keys a tensor of their shape where the entries are numbers
        (int64, float32 or bool), else a list, nested as the tensor is.

    Raises:
        GuardError: the table lacks a key, and there is no default.
        RecordError: in a trace, where the table has entries or keys of another type.

    Example:
        >>> import torch, tracepack
        >>> tracepack.lookup(["cat", "dog", "fox"], torch.tensor([2, 0]))
        ['fox', 'cat']
        >>> tracepack.lookup({"hello": 5, "world": 7}, ["hello", "there"], default=0)
        tensor([5, 0])
    """
    rest = () if default is ... else (default,)
    recorder = current()
    if isinstance(keys, np.ndarray):
        keys = torch.from_numpy(keys.copy()) if is_traced(keys) else torch.tensor(keys)
    many = isinstance(keys, list | torch.Tensor)
    if not isinstance(recorder, Recorder) or not (is_traced(keys) or isinstance(keys, torch.Tensor)):
        plain = table.tolist() if hasattr(table, "tolist") else table
        return tables.lookup_all(plain, keys, *rest) if many else tables.lookup(plain, keys, *rest)
    _refuse_tensors(recorder, table, many)
    plain = plain_table(recorder, table)
    if not many:
        return recorder.scalar("lookup", plain, keys, *rest)
    if tables.holds_numbers(plain):
        with torch._C.DisableTorchFunction():
            return recorder.apply(Operator("py.lookup_all"), tables.lookup_all, (plain, keys, *rest), {})
    found = recorder.scalar("lookup_all", plain, keys, *rest)
    if type(keys) is TracedList:
        found.sized_by = keys.length
    elif isinstance(keys, torch.Tensor) and recorder.rank(keys):
        found.sized_by = lambda: recorder.scalar("size", keys, 0)
    return found


def _refuse_tensors(recorder: Recorder, table: Any, many: bool) -> None:
    """Refuses tables that hold, or are, tensors or values of the recording, with the form that takes them."""
    if isinstance(table, torch.Tensor):
        recorder.refuse("a tensor is given as a table", "Write table[keys].")
    entries = list(table.values() if isinstance(table, Mapping) else table)
    if any(isinstance(entry, torch.Tensor) for entry in entries):
        form = "torch.stack([*table.values()])[ids], of ids of its rows" if many else "table[key]"
        recorder.refuse("a table of tensors is given", f"Write {form}.")
    if any(map(is_traced, entries)):
        recorder.refuse("a table whose entries are decided at run time is given", "Make it before the function.")
