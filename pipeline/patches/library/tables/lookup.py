"""`lookup`: the entries of a table for one key or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from .....ops.runtime.primitives import tables
from .....ops.tracing_hook import current
from ....lists.constant_look_ups import entries_at
from ....lists.mapping import each
from ....proxies.arrays import TracedArray
from ....proxies.base import is_traced
from ....proxies.dicts import TracedDict
from ....proxies.lists import TracedList
from ....proxies.trees import concrete
from ....proxies.values.members import TracedMember
from ....recording.recorder import Recorder
from ....rules.number_or_tensor import number_of
from .asked_table import AskedTable, as_dict
from .tuple_keys import of_parts


def lookup(table: Any, keys: Any, default: Any = ...) -> Any:
    """Looks keys up in a table, such as the names of classes or a vocabulary.

    In a trace a constant table becomes part of the pipeline, and the keys may be values of run time. Eagerly it does
    the same.

    Args:
        table: a list or a tuple, whose keys are indices, a dict with texts, numbers or tuples of them as keys, an
            array of one dimension, or a tensor, whose keys are the places of its rows. All entries are of one type:
            str, int, float, bool, tensors of one dtype and rank, or lists of them.
        keys: a number, a text or a tuple of them; a list of those, of any length; or a tensor or an array of integers
            of any shape.
        default: the entry of a key that the table lacks.

    Returns:
        For one key its entry. For a list or a tensor of keys a tensor of their shape where the entries are numbers
        (int64, float32 or bool), else a list, nested as the tensor is. Of a tensor its rows, as ``table[keys]``.

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
    if isinstance(table, torch.Tensor):
        return _rows(table, keys, *rest)
    many = isinstance(keys, list | torch.Tensor)
    if isinstance(recorder, Recorder) and (_is_of_run(table) or isinstance(keys, torch.Tensor) or _is_of_run(keys)):
        return _recorded(recorder, table, keys, many, *rest)
    plain = table.tolist() if hasattr(table, "tolist") else table
    return tables.lookup_all(plain, keys, *rest) if many else tables.lookup(plain, keys, *rest)


def _is_of_run(tree: Any) -> bool:
    """Whether a key, a list of keys or a table is, or holds, what is decided at run time."""
    if is_traced(tree) or type(tree) is TracedMember:
        return True
    if type(tree) in (list, tuple):
        return any(map(_is_of_run, tree))
    return isinstance(tree, dict) and any(map(_is_of_run, tree.values()))


def _rows(table: torch.Tensor, keys: Any, *default: Any) -> Any:
    """The rows of a tensor at some places, which may lie outside of it where there is a default."""
    places = keys if isinstance(keys, torch.Tensor) else torch.tensor(keys, dtype=torch.int64)
    places = places.long() if places.dtype == torch.bool else places  # as a list takes them
    if not default:
        return table[places]
    count = table.shape[0]
    inside = (places >= -count) & (places < count)
    more = torch.cat([table, table.new_zeros((1, *table.shape[1:]))])  # the last one is for places outside
    found = more[torch.where(inside, torch.where(places < 0, places + count, places), count)]
    return torch.where(inside.reshape(*inside.shape, *(1,) * (table.dim() - 1)), found, default[0])


def _recorded(recorder: Recorder, table: Any, keys: Any, many: bool, *default: Any) -> Any:
    table = table.tolist() if isinstance(table, np.ndarray | np.generic) else as_dict(table)
    entries = _entries(table)
    if not many:
        return _entry(recorder, table, keys, *default)
    if not is_traced(table) and not any(map(_is_taken_alone, [*entries, *_keys(table)])):
        return entries_at(recorder, table, keys, *default)
    numbers = tables.holds_numbers(entries, *default)
    if is_traced(table) and not numbers and not default:
        what = "a table of any length without numbers is asked for many keys: of an empty one lookup gives a tensor"
        listed = "keys.tolist()" if isinstance(keys, torch.Tensor) else "keys"
        recorder.refuse(what, f"Give a default, or write [table[key] for key in {listed}].")
    keys = keys.tolist() if isinstance(keys, torch.Tensor) else keys
    found = _each(recorder, lambda key: _entry(recorder, table, key, *default), keys)
    return torch.tensor(found, dtype=tables.dtype_of([*entries, *default])) if numbers else found


def _entries(table: Any) -> list[Any]:
    """The entries of a table on the example."""
    plain = concrete(table) if is_traced(table) else table
    return list(plain.values() if isinstance(plain, Mapping) else plain)


def _keys(table: Any) -> list[Any]:
    return [*table] if type(table) is dict else []


def _is_taken_alone(thing: Any) -> bool:
    """Whether an entry is taken by itself, or a key looked up so: no table of the graph holds such."""
    plain = (str, int, float, bool, np.generic, list, np.ndarray)
    return is_traced(thing) or not isinstance(thing, plain) or isinstance(thing, TracedArray)


def _each(recorder: Recorder, function: Callable[[Any], Any], keys: Any) -> Any:
    """What a function gives for each key of a list, or of lists in it."""
    if type(keys) is TracedList:
        return each(recorder, lambda key: _each(recorder, function, key), keys)
    return [_each(recorder, function, key) for key in keys] if type(keys) is list else function(keys)


def _entry(recorder: Recorder, table: Any, key: Any, *default: Any) -> Any:
    """``table[key]`` or ``table.get(key, default)``, of a table or a key of the recording."""
    if type(key) is TracedMember and type(table) is dict:
        table, key = key.table(table), key.key
    if type(table) is dict:
        table, key = of_parts(recorder, table, key)
    key = number_of(recorder, key)
    if issubclass(type(table), TracedDict):
        return table.get(key, *default) if default else table[key]
    if type(table) is TracedList and not default:
        return table[key]
    if not is_traced(key) and not is_traced(table):
        return tables.lookup(table, key, *default)
    if type(table) is TracedList:
        return recorder.scalar("lookup", table, key, *default)
    return AskedTable(recorder, table).get(key, *default) if default else AskedTable(recorder, table)[key]
