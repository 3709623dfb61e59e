"""A plain container of constants that is asked for an entry by a key of the recording."""

from __future__ import annotations

import enum
from collections import ChainMap, Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import torch

from .....ops.runtime.user_code import user_line
from ....lists.plain_tables import columns, plain_table
from ....proxies.arrays import TracedArray
from ....proxies.base import is_traced
from ....proxies.lists import TracedList
from ....proxies.make import sample_of
from ....proxies.values.changing import Growing
from ....proxies.values.known_values import form_of_values
from ....proxies.values.members import TracedMember, member_kind
from ....proxies.values.plain_objects import ObjectForm, form_of
from ....recording.guards import HELD
from ....recording.recorder import Recorder
from .chosen_functions import chosen_function, chosen_tensor


class AskedTable:
    """Stands for a plain container that is asked for an entry by a traced key."""

    def __init__(self, recorder: Recorder, plain: Any) -> None:
        self.recorder, self.plain = recorder, plain

    def __getitem__(self, key: Any) -> Any:
        recorder, plain = self.recorder, self.plain
        if isinstance(plain, np.ndarray) and plain.dtype.kind in "biufc":
            return self._part(recorder.array("py.getitem", plain, key))
        if isinstance(plain, str) or (type(key) is slice and type(plain) is list):
            return recorder.scalar("getitem", plain, key)
        if type(plain) in (list, tuple) and any(map(is_traced, plain)):
            return recorder.scalar("getitem", list(plain), key)
        if (kind := _members(plain)) is not None:
            return TracedMember(recorder, kind, AskedTable(recorder, _names(plain))[key])
        if (function := chosen_function(recorder, plain, key)) is not None:
            return function
        if (tensor := chosen_tensor(recorder, plain, key)) is not None:
            return tensor
        if (form := self._form()) is not None:
            return form(AskedTable(recorder, self._tuples(form))[key])
        if (parts := columns(plain)) is not None:
            return tuple(AskedTable(recorder, part)[key] for part in parts)
        return self._part(recorder.scalar("lookup", self._table(plain), key))

    def _part(self, found: Any) -> Any:
        """An entry that is an array or a list: in Python it is the table's own, so neither it nor the table changes."""
        is_view = type(found) is TracedArray and np.may_share_memory(found.concrete, self.plain)
        if is_view or isinstance(found, Growing):
            found.handed_on = True
            self.recorder.values.keep(self.plain, user_line())
        return found

    def _form(self, *more: Any) -> Any:
        """The form of entries that are objects; None for any others."""
        if type(self.plain) not in (dict, list, tuple):
            return None
        entries = [*(self.plain.values() if type(self.plain) is dict else self.plain), *more]
        if (values := form_of_values(self.recorder, entries)) is not None:
            return values
        form = form_of(entries)
        return form if isinstance(form, ObjectForm) else None

    def _tuples(self, form: Any) -> Any:
        """The table with tuples for objects."""
        if type(self.plain) is dict:
            return {key: tuple(form.plain(entry)) for key, entry in self.plain.items()}
        return [tuple(form.plain(entry)) for entry in self.plain]

    def _table(self, plain: Any) -> Any:
        """The table for a look-up: one of constants, or a dict with entries of the recording."""
        traced = any(map(is_traced, plain.values() if type(plain) is dict else plain))
        return plain if traced else plain_table(self.recorder, plain)

    def get(self, key: Any, default: Any = None) -> Any:
        """As for dict."""
        if (function := chosen_function(self.recorder, self.plain, key, default)) is not None:
            return function
        if (tensor := chosen_tensor(self.recorder, self.plain, key, default)) is not None:
            return tensor
        if default is None and not self._has_plain_entries():
            return self[key] if self._has(key) else None
        if (kind := _members(self.plain)) is not None and member_kind(default) is kind:
            return TracedMember(
                self.recorder, kind, AskedTable(self.recorder, _names(self.plain)).get(key, default.name)
            )
        if (form := self._form(default)) is not None:
            return form(AskedTable(self.recorder, self._tuples(form)).get(key, tuple(form.plain(default))))
        parts = columns(self.plain)
        if parts is not None and type(default) is tuple and len(default) == len(parts):
            return tuple(
                AskedTable(self.recorder, part).get(key, each) for part, each in zip(parts, default, strict=True)
            )
        return self._part(self.recorder.scalar("lookup", self._table(self.plain), key, default))

    def _has_plain_entries(self) -> bool:
        """Whether the entries are numbers or texts of one type, so that one of them or None can be followed."""
        return type(self.plain) is dict and sample_of([*self.plain.values(), None]) is not None

    def _has(self, key: Any) -> bool:
        """Whether the table has the key, guarded: what `get` then gives, None or an entry, is of two types."""
        if key.varies or self.recorder.rounds.open:
            self.recorder.refuse(
                "table.get(key) gives None for a key that is missing, which cannot be followed",
                "Give a default of the kind that the entries have: table.get(key, default).",
            )
        held = self.recorder.scalar("contains", list(self.plain), key)
        return bool(self.recorder.pin(held, HELD))

    def index(self, item: Any) -> Any:
        """As for list."""
        places = {entry: place for place, entry in reversed(list(enumerate(self.plain)))}
        return self.recorder.scalar("lookup", places, item)


_KINDS = (Counter, OrderedDict, defaultdict, ChainMap, torch.nn.ModuleDict, torch.nn.ParameterDict)
"""Other kinds of dicts, which are asked as a dict is, but for what is missing."""
_LISTS = (torch.nn.ModuleList, torch.nn.ParameterList, torch.nn.Sequential)


def as_dict(table: Any) -> Any:
    """A dict with the entries of another kind of dict; anything else as it is."""
    return dict(table.items()) if type(table) in _KINDS else table


def table_at(recorder: Recorder, table: Any, key: Any) -> tuple[Any, Any]:
    """What is to be asked, and for what: a Counter, which has 0 for what is missing, is asked already."""
    if type(table) is Counter:
        return (AskedTable(recorder, dict(table)).get(key, 0),), 0
    if type(table) in _LISTS:
        return table if type(key) is slice else [*table], key
    return table if type(table) is defaultdict else as_dict(table), key


def _members(plain: Any) -> type[enum.Enum] | None:
    """The class of entries that are members of one Enum; None for any others."""
    entries = plain.values() if type(plain) is dict else plain
    kinds = {type(entry) for entry in entries}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind is not None and issubclass(kind, enum.Enum) else None


def _names(plain: Any) -> Any:
    """The same table with the names of its members."""
    if type(plain) is dict:
        return {key: entry.name for key, entry in plain.items()}
    return [entry.name for entry in plain]


def as_plain(items: Any) -> tuple[Any, Any]:
    """Some items as a graph holds them, and what gives the objects for those; nothing where they are no objects."""
    if type(items) is TracedList:
        return items, items.objects
    form = form_of(items) if type(items) in (list, tuple) else None
    return (items, None) if form is None else ([form.plain(item) for item in items], form)
