"""Constant tables of a recorded function, in the form of the IR."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import torch

from ..proxies.tracer import Refuser
from ..rules.advice.named_attributes import BY_DTYPE

MOST_ENTRIES = 1 << 20
OF_RUN_TIME = "is asked by a traced key"
_TENSORS = (
    "Give it at most 32 tensors of one dtype and rank, and nothing else: {'a': rows['a'].x, 'b': rows['b'].x}[key]; of "
    "more write torch.stack([*table.values()])[{'a': 0, 'b': 1}[key]]."
)
_KEYS = (str, int, float, bool)
_ENTRIES = (str, int, float, bool)


def plain_table(recorder: Refuser, table: Any) -> Any:
    """A list, a tuple, a dict or an array as a list or a dict of plain entries of one type.

    Raises:
        RecordError: an entry or a key is of a type that no table can have.
    """
    if isinstance(table, np.ndarray | np.generic):
        table = table.tolist()
    if len(table) > MOST_ENTRIES:
        recorder.refuse(f"a table has {len(table)} entries", f"Keep it below {MOST_ENTRIES}.")
    if isinstance(table, dict):
        table = {_key(key): entry for key, entry in table.items()}
        other = next((key for key in table if type(key) not in _KEYS), None)
        if other is not None:
            recorder.refuse(
                f"a key of a table is a {type(other).__name__}", "Use texts or numbers as keys: {int(k): v …}."
            )
        found: Any = {key: _plain(recorder, entry) for key, entry in table.items()}
        entries = list(found.values())
    else:
        found = entries = [_plain(recorder, entry) for entry in table]
    kinds = dict.fromkeys(type(entry) for entry in entries)
    if len(kinds) > 1:
        names = " and ".join(kind.__name__ for kind in kinds)
        numbers = kinds.keys() == {int, float}
        fix = "Write its whole numbers as floats: 1.0." if numbers else "Give all of them one type."
        recorder.refuse(f"a table has entries of several types, {names}", fix)
    return found


def _key(key: Any) -> Any:
    """A key as a graph holds it: one of Python's own types, to which it is equal."""
    if isinstance(key, np.generic):
        return key.item()
    return key.value if isinstance(key, enum.IntEnum) else key


def columns(table: Any) -> list[Any] | None:
    """A table whose entries are tuples of one length, as a table for each place in them; None for any other."""
    entries = list(table.values()) if isinstance(table, dict) else list(table)
    if not entries or any(type(entry) is not tuple for entry in entries) or len(set(map(len, entries))) != 1:
        return None
    if isinstance(table, dict):
        return [{key: entry[place] for key, entry in table.items()} for place in range(len(entries[0]))]
    return [[entry[place] for entry in entries] for place in range(len(entries[0]))]


def _plain(recorder: Refuser, entry: Any) -> Any:
    if isinstance(entry, np.generic):
        entry = entry.item()
    if isinstance(entry, np.ndarray):
        entry = entry.tolist()
    if type(entry) is list:
        return [_plain(recorder, item) for item in entry]
    if type(entry) is dict and all(type(key) in _KEYS for key in entry):
        return {key: _plain(recorder, item) for key, item in entry.items()}
    if callable(entry):
        what = "a table of functions is asked by a traced key, where they do more, or give several types"
        recorder.refuse(what, "A branch for each key goes all ways: first(x) if key == 'first' else second(x).")
    if type(entry) not in _ENTRIES:
        recorder.refuse(
            f"a table whose entries are {type(entry).__module__}.{type(entry).__qualname__} {OF_RUN_TIME}",
            _TENSORS
            if isinstance(entry, torch.Tensor)
            else BY_DTYPE
            if isinstance(entry, torch.dtype)
            else "Keep texts, numbers and tensors in tables.",
        )
    return entry
