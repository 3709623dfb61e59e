"""Look-ups in constant tables, and the lists and dicts that a pipeline makes at run time."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import torch

from ...graph.errors import GuardError, MissingEntryError
from ...graph.operators.names import STATISTICS
from .bounded import as_int, mul, require_few, short
from .lists.sorting import FUNCTIONS as ORDERS
from .lists.sorting import bounded_items
from .nesting import check_nesting

_NOTHING: Any = object()
MOST_STATISTIC = 1100
"""The bits of a number that becomes a float: Python's statistics adds them as fractions."""


def _missing(table: Any, key: Any) -> GuardError:
    if isinstance(key, torch.SymInt | torch.SymFloat | torch.SymBool):
        return GuardError(
            "a key that only the data of a run decides cannot be looked up in a table",
            where="an export or a compilation of the pipeline", fix="Index a tensor of the numbers with it instead.",
        )  # fmt: skip
    if isinstance(table, dict):
        expected = f"one of its {len(table)} keys"
        fix = "Use table.get(key, default), or tracepack.lookup(table, key, default=…), where a key may be unknown."
    else:
        expected, fix = f"an index from {-len(table)} to {len(table) - 1}", ""
    return MissingEntryError("the table has no such entry", got=repr(key)[:80], expected=expected, fix=fix)


def _fresh(entry: Any) -> Any:
    """An entry that the caller may change: the table stays as it is."""
    if isinstance(entry, list):
        return list(map(_fresh, entry))
    return {key: _fresh(item) for key, item in entry.items()} if isinstance(entry, dict) else entry


def lookup(table: Any, key: Any, default: Any = _NOTHING) -> Any:
    """``table[key]`` of a list, a tuple or a dict; with a default as `dict.get`.

    Raises:
        MissingEntryError: it has no such entry, and there is no default.
    """
    if not isinstance(table, list | tuple | dict):
        raise GuardError("a table is a list, a tuple or a dict", got=type(table).__name__)
    try:
        if isinstance(table, dict):
            return _fresh(table[key])
        return _fresh(table[operator.index(key)])
    except (KeyError, IndexError, TypeError):
        if default is not _NOTHING:
            return _fresh(default)
        raise _missing(table, key) from None


def lookup_all(table: Any, keys: Any, default: Any = _NOTHING) -> Any:
    """The entries for a tensor or a list of keys: a tensor where they are numbers, else a list.

    Raises:
        MissingEntryError: the table has no entry for a key, and there is no default.
    """
    listed = keys.tolist() if isinstance(keys, torch.Tensor | numpy.ndarray) else list(keys)
    found = _each(table, listed, default)
    given = () if default is _NOTHING else (default,)
    if not holds_numbers(table, *given):
        return found
    entries = table.values() if isinstance(table, dict) else table
    return torch.tensor(found, dtype=dtype_of([*entries, *given]), device="cpu")


def dtype_of(entries: list[Any]) -> torch.dtype:
    """The dtype of the tensor of some entries of a table, which are numbers, and of the default beside them."""
    if any(isinstance(entry, float) for entry in entries):
        return torch.float32
    return torch.bool if entries and all(isinstance(entry, bool) for entry in entries) else torch.int64


def _each(table: Any, keys: Any, default: Any) -> Any:
    if isinstance(keys, list):
        return [_each(table, key, default) for key in keys]
    return lookup(table, keys, default)


def holds_numbers(table: Any, *default: Any) -> bool:
    """Whether the entries of a table are numbers, all of them; of an empty one, whether its default is."""
    if not isinstance(table, list | tuple | dict):
        raise GuardError("a table is a list, a tuple or a dict", got=type(table).__name__)
    entries = table.values() if isinstance(table, dict) else table
    return all(isinstance(entry, int | float) for entry in (entries or default))


def to_list(tensor: Any) -> Any:
    """``tensor.tolist()`` of a tensor or an array."""
    if not isinstance(tensor, torch.Tensor | numpy.ndarray | numpy.generic):
        raise GuardError("tolist takes a tensor or an array", got=type(tensor).__name__)
    require_few(tensor.numel() if isinstance(tensor, torch.Tensor) else tensor.size)
    return tensor.tolist()


def to_rows(rows: Any) -> list[Any]:
    """The rows of a tensor or an array."""
    require_few(len(rows))
    return list(rows if isinstance(rows, numpy.ndarray) else rows.unbind(0))


def listed(items: Any) -> list[Any]:
    """``list(items)``."""
    require_few(len(items))
    return list(items)


def to_dict(keys: Any, entries: Any) -> dict[Any, Any]:
    """A dict of keys and entries: of equal keys the last one counts."""
    _check_hashes(keys)
    return dict(zip(keys, entries, strict=True))


def place_in(items: Any, key: Any) -> int:
    """A place in a list that an item is put to.

    Raises:
        MissingEntryError: the list has no such place.
    """
    index = as_int(key)
    if index is None or not -len(items) <= index < len(items):
        raise _missing(items, key)
    return index


def with_entry(table: Any, key: Any, entry: Any) -> Any:
    """What ``table[key] = entry`` makes of a dict, which may have the key already, or of a list, which has the place.

    Raises:
        MissingEntryError: the list has no such place.
    """
    if isinstance(table, list):
        changed = [*table]
        changed[place_in(table, key)] = entry
        check_nesting(changed)
        return changed
    if not isinstance(table, dict):
        raise GuardError("an entry is put into a dict or a list", got=type(table).__name__)
    found = {**table, _keys([key])[0]: entry}
    if isinstance(entry, list | tuple | dict):
        check_nesting(found)
    return found


MOST_ALIKE = 64
"""The different keys of a large dict that may have one hash."""


def _check_hashes(keys: Any) -> None:
    """Refuses many different keys of one hash, each of which Python compares with all before it.

    Numbers and tuples of them have hashes that a file can choose: all tuples of -1 and -2 of one length have the same.
    """
    if len(keys) <= 16 * MOST_ALIKE:
        return
    hashes = Counter(map(hash, keys))
    often = {number for number, count in hashes.items() if count > MOST_ALIKE}
    alike: dict[int, dict[Any, None]] = {number: {} for number in often}
    for key in keys if often else ():
        group = alike.get(hash(key))
        if group is not None:
            group[key] = None
            if len(group) > MOST_ALIKE:
                raise GuardError(
                    "too many keys of a dict have one hash", got=repr(key)[:80], expected=f"{MOST_ALIKE} at most"
                )


def pairs(*lists: Any) -> list[Any]:
    """``list(zip(*lists))``."""
    require_few(min(map(len, lists), default=0) * len(lists))
    return list(zip(*lists, strict=False))


def pairs_of_one_length(*lists: Any) -> list[Any]:
    """``list(zip(*lists, strict=True))``."""
    require_few(min(map(len, lists), default=0) * len(lists))
    return list(zip(*lists, strict=True))


def numbered(items: Any, start: int = 0) -> list[Any]:
    """``list(enumerate(items, start))``."""
    return list(enumerate(items, start))


def counted(items: Any, item: Any) -> int:
    """``items.count(item)``."""
    bounded_items(items)
    found: int = items.count(item)
    return found


def totalled(items: Any, start: Any = 0) -> Any:
    """``sum(items, start)``; lists and tuples are joined in one pass, where `sum` copies all before each of them."""
    if not isinstance(start, list | tuple):
        return sum(items, start)
    kind = list if isinstance(start, list) else tuple
    found = [*start]
    for item in items:
        if not isinstance(item, kind):
            raise TypeError(f"can only concatenate {kind.__name__}, not {type(item).__name__}")
        found += item
        require_few(len(found))
    return kind(found)


def place_of(items: Any, item: Any) -> int:
    """``items.index(item)``."""
    bounded_items(items)
    found: int = items.index(item)
    return found


def product(items: Any, start: Any = 1) -> Any:
    """``math.prod(items)``."""
    if isinstance(start, list | tuple | str | bytes):
        raise GuardError("a product starts with a number", got=type(start).__name__)
    return functools.reduce(mul, items, start)


def statistic(name: str, items: Any, n: int = 4) -> Any:
    """A function of Python's statistics."""
    if name not in STATISTICS:
        raise GuardError("there is no such statistic", got=repr(name)[:80], expected=str(STATISTICS))
    if any(isinstance(item, int) and item.bit_length() > MOST_STATISTIC for item in items):
        raise GuardError("a number is too large for a statistic", expected=f"at most {MOST_STATISTIC} bits")
    if not set(map(type, items)) <= {int, float}:
        items = list(map(short, items))
    if name in ("mode", "multimode"):  # which count the items in a dict
        _check_hashes(items)
    import statistics  # with fractions and decimal behind it, which few pipelines need

    if name == "quantiles":
        require_few(as_int(n) or 0)
        return statistics.quantiles(items, n=n)
    return getattr(statistics, name)(items)


def _keys(items: Any) -> list[Any]:
    found = list(items)
    if not all(isinstance(item, str | int | float | bool | tuple) for item in found):
        raise GuardError(
            "a key is a text, a number or a tuple of them", got=str(sorted({type(item).__name__ for item in found}))
        )
    _check_hashes(found)
    return found


def unique(items: Any) -> list[Any]:
    """The items without repeats, in the order in which they come first."""
    return list(dict.fromkeys(_keys(items)))


def kept(items: Any, others: Any) -> list[Any]:
    """The items that are among others."""
    known = set(_keys(others))
    return [item for item in _keys(items) if item in known]


def dropped(items: Any, others: Any) -> list[Any]:
    """The items that are not among others."""
    known = set(_keys(others))
    return [item for item in _keys(items) if item not in known]


def counts(items: Any) -> dict[Any, int]:
    """How often each item is there, in the order in which they come first."""
    found: dict[Any, int] = {}
    for item in _keys(items):
        found[item] = found.get(item, 0) + 1
    return found


def most_common(table: Any, n: int | None = None) -> list[Any]:
    """The pairs of a Counter, those of the largest count first; of equal ones in their order."""
    found = sorted(table.items(), key=lambda pair: pair[1], reverse=True)
    return found if n is None else found[: max(as_int(n) or 0, 0)]


def from_keys(keys: Any, value: Any = None) -> dict[Any, Any]:
    """`dict.fromkeys`."""
    return dict.fromkeys(_keys(keys), _fresh(value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **ORDERS,
    "unique": unique, "kept": kept, "dropped": dropped, "counts": counts, "most_common": most_common,
    "from_keys": from_keys, "with_entry": with_entry,
    "lookup": lookup, "lookup_all": lookup_all, "tolist": to_list, "dict": to_dict, "zip": pairs,
    "zip_strict": pairs_of_one_length, "reversed": lambda items: items[::-1],
    "counted": counted,
    "enumerate": numbered,
    "fsum": math.fsum, "prod": product, "math_pow": math.pow,
    "total": totalled, "any": any, "all": all, "list": listed,
    "rows": to_rows, "keys": lambda table: list(table.keys()),
    "index": place_of,
    "statistics": statistic,
    "values": lambda table: list(table.values()),
    "items": lambda table: list(table.items()),
}  # fmt: skip
"""The operators on tables and lists by their names in the family ``py.…``."""
