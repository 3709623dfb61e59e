"""The entries of a constant table for many keys of a recording."""

from __future__ import annotations

from typing import Any

import torch

from ...ops.graph.graph import Operator
from ...ops.runtime.primitives import tables
from ..proxies.lists import TracedList
from ..recording.recorder import Recorder
from .plain_tables import plain_table


def entries_at(recorder: Recorder, table: Any, keys: Any, *default: Any) -> Any:
    """The entries for a list or a tensor of keys: a tensor where they are numbers, else a list."""
    plain = plain_table(recorder, table)
    if tables.holds_numbers(plain, *default):
        with torch._C.DisableTorchFunction():
            return recorder.apply(Operator("py.lookup_all"), tables.lookup_all, (plain, keys, *default), {})
    found = recorder.scalar("lookup_all", plain, keys, *default)
    if type(keys) is TracedList:
        found.sized_by = keys.length
    elif isinstance(keys, torch.Tensor) and recorder.rank(keys):
        found.sized_by = lambda: recorder.scalar("size", keys, 0)
    return found
