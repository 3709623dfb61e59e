"""What stands for the receiver of a method that a recorded function calls with stand-ins: a text, a module, a logger.

A method of a plain text takes plain texts only; so do the functions of `re` and `json`. Where a recorded function looks
up such a method, the object of this module takes the place of its receiver. It records the call where a stand-in takes
part, and leaves any other call to the receiver itself.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.graph.operators.names import MATH, TEXT_METHODS
from ...lists import mapping
from ...lists.formats import FilledIn
from ...lists.pieces import Pieces
from ...lists.walking.iterators import collected
from ...proxies.base import is_free_shape, is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.sets import TracedSet, items_of
from ...proxies.strings import method_of
from ...proxies.values.members import TracedMember
from ...recording.recorder import Recorder
from ...rules.number_or_tensor import number_of
from ..expressions import EXPRESSIONS, RegularExpressions
from ..library import special
from ..library.class_methods import CLASSES_OF_PYTHON, MethodsOfClass
from ..library.codes.structs import of_object
from ..library.dunder_calls import OF_DUNDERS
from ..library.elsewhere import progress_bars
from ..library.replacements import MODULES, OF_NUMPY, naming_device
from ..library.tables.asked_table import AskedTable, as_dict
from ..library.tables.frames import SeriesOfRun, is_series
from ..library.tables.table_rows import ROWS, rows_method
from ..library.tables.tuple_keys import of_parts
from ..library.values.dates import CLASSES, OF_CLASSES
from ..library.values.numpy_types import OF_NUMBERS
from ..library.values.percent import PlainBytes, filled_template, is_filled_anew
from ..library.values.templates import FilledTemplate
from ..library.values.typed_tensors import OF_DTYPES, new_of
from ..redirect import stand_in_of
from .conditions.asked_shapes import METHODS_OF_SHAPES, ShapeOfRun
from .entries import filled, items_of_any_length, updated, with_own_entry
from .operations import HandedOver, active, formatted, holds_traced, joined

_FORMATS = ("format", "format_map")


class PlainText(str):
    """A plain text whose methods are recorded where an argument is traced."""

    def __mod__(self, values: Any) -> Any:
        recorder = active()
        if recorder is None or not is_filled_anew(values):
            return str.__mod__(self, values)
        return filled_template(recorder, str(self), values)

    def format(self, *args: Any, **kwargs: Any) -> Any:
        """As for str."""
        recorder = active()
        if recorder is None or not is_filled_anew((args, kwargs)):
            return str.format(self, *args, **kwargs)
        return recorder.scalar("join_texts", *FilledIn(str(self), args, kwargs, formatted, joined).parts)

    def format_map(self, mapping: Any) -> Any:
        """As for str."""
        return self.format(**mapping) if type(mapping) is dict else str.format_map(self, mapping)

    def join(self, items: Any) -> Any:
        """As for str."""
        recorder = active()
        if recorder is None:
            return str.join(self, items)
        found = collected(recorder, items)
        return recorder.scalar("str_join", str(self), found) if holds_traced(found) else str.join(self, found)


def _text_method(name: str) -> Callable[..., Any]:
    def method(self: PlainText, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and (holds_traced(args) or holds_traced(kwargs)):
            return method_of(recorder, str(self), name, args, kwargs)
        return getattr(str, name)(str(self), *args, **kwargs)

    return method


for _name in set(TEXT_METHODS) - {"join"}:
    setattr(PlainText, _name, _text_method(_name))


# -- modules -------------------------------------------------------------------------------------------------------


class _Module:
    """Stands for a module, some functions of which are recorded."""

    def __init__(self, plain: Any, functions: dict[str, Callable[..., Any]]) -> None:
        self.plain, self.functions = plain, functions

    def __getattr__(self, name: str) -> Any:
        return self.functions.get(name) or getattr(self.plain, name)


def _receiver(name: str) -> Callable[[Any], Any]:
    """The function that gives what stands for the receiver of a method."""
    module, functions = MODULES.get(name, (None, {}))

    def receiver(thing: Any) -> Any:
        recorder = active()
        if recorder is None:
            return thing
        if type(thing) is str and (name in TEXT_METHODS or name in _FORMATS):
            return PlainText(thing)
        if name in METHODS_OF_SHAPES and is_free_shape(thing):
            return ShapeOfRun(recorder, thing)
        if name in ("extend", "sort") and type(thing) is TracedList and thing.loop is not None:
            return _OwnList(recorder, thing)
        if name == "update" and issubclass(type(thing), TracedDict):
            return _OwnDict(recorder, thing)
        if name == "join" and type(thing) is bytes:
            return PlainBytes(thing)
        if (of_struct := of_object(thing, name)) is not None:
            return _Module(thing, {name: of_struct})
        if name in EXPRESSIONS and (thing is re or isinstance(thing, re.Pattern)):
            return RegularExpressions(thing)
        if name == "map" and isinstance(thing, ModuleType) and vars(thing).get(name) is mapping.map:
            return _Module(thing, {name: stand_in_of(mapping.map)})
        if name in OF_NUMPY and thing is np:
            return _Module(np, OF_NUMPY)
        if name in special.NAMES and thing is special.module():
            return _Module(thing, {name: special.function(name)})
        if name in progress_bars.NAMES and (bars := progress_bars.bars_of(thing)):
            return _Module(thing, bars)
        if thing is math and hasattr(math, name):
            return _Module(math, {name: stand_in_of(getattr(math, name))})
        if module is not None and thing is module:
            return _Module(module, functions)
        if name in OF_CLASSES and thing in CLASSES:
            return _Module(thing, {name: OF_CLASSES[name](thing)})
        if name == "to" and isinstance(thing, torch.Tensor):
            return _Module(thing, {"to": naming_device(thing.to)})
        if name == "new" and isinstance(thing, torch.Tensor):
            return _Module(thing, {"new": new_of(thing)})
        if name == "manual_seed" and isinstance(thing, torch.Generator):
            return Seeding(recorder, thing)
        if name == "substitute" and type(thing) is string.Template:
            return FilledTemplate(thing)
        if name in ROWS and (rows := rows_method(thing, name)) is not None:
            return _Module(thing, {name: rows})
        if name == "get" and is_series(thing):
            return SeriesOfRun(recorder, thing)
        if (name == "get" and type(as_dict(thing)) is dict) or (name == "index" and type(thing) in (list, tuple)):
            return _Entries(as_dict(thing))
        return _PlainSet(recorder, thing) if name in _OF_SETS and type(thing) in (set, frozenset) else thing

    return receiver


class Seeding:
    """Stands for a generator that is seeded."""

    def __init__(self, recorder: Recorder, plain: torch.Generator) -> None:
        self.recorder, self.plain = recorder, plain

    def manual_seed(self, seed: Any) -> torch.Generator:
        """As for a torch.Generator; the seed may be a number of the recording."""
        recorder = self.recorder
        seed = number_of(recorder, seed)
        if not is_traced(seed):
            return self.plain.manual_seed(seed)
        recorder.allow_random()
        recorder.generators.seed(self.plain, seed.concrete, seed.value)
        return self.plain


class _Entries:
    """Stands for a table whose method is called."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        def call(key: Any, *rest: Any) -> Any:
            recorder = active()
            if recorder is not None and type(key) is TracedMember and name == "get":
                return AskedTable(recorder, key.table(self.plain)).get(key.key, *rest)
            if recorder is not None and name == "get" and type(key) is tuple:
                table, key = of_parts(recorder, self.plain, key)
                return AskedTable(recorder, table).get(key, *rest) if is_traced(key) else table.get(key, *rest)
            if recorder is None or not is_traced(key):
                return getattr(self.plain, name)(key, *rest)
            return getattr(AskedTable(recorder, self.plain), name)(key, *rest)

        return call


_OF_SETS = ("union", "intersection", "difference", "issubset", "issuperset", "isdisjoint")


class _PlainSet:
    """Stands for a plain set whose method is called."""

    def __init__(self, recorder: Recorder, plain: Any) -> None:
        self.recorder, self.plain = recorder, plain

    def __getattr__(self, name: str) -> Any:
        def call(*others: Any) -> Any:
            if not any(type(other) is TracedSet or holds_traced(other) for other in others):
                return getattr(self.plain, name)(*others)
            return getattr(TracedSet(self.recorder, items_of(self.recorder, self.plain)), name)(*others)

        return call


def _modulo(operands: Any) -> Any:
    text, values = operands
    own = _TEMPLATES.get(type(text)) if active() is not None else None
    return values, text if own is None else own(text)


_TEMPLATES: dict[type, Callable[[Any], Any]] = {str: PlainText, bytes: PlainBytes}


_OF_MATH = (*MATH, "pow", "prod", "fsum")
"""Functions of math, which a function may have imported itself."""
RECEIVERS: dict[str, HandedOver] = {
    name: HandedOver(_receiver(name))
    for name in (
        *TEXT_METHODS,
        "format",
        "format_map",
        "get",
        *ROWS,
        "to",
        "new",
        "manual_seed",
        "substitute",
        "map",
        "extend",
        "sort",
        "update",
        *_OF_SETS,
        *EXPRESSIONS,
        *_OF_MATH,
        *OF_NUMPY,
        *MODULES,
        *special.NAMES,
        *progress_bars.NAMES,
        *OF_CLASSES,
    )
} | OF_DUNDERS
OF_CALLS = frozenset([*(kind.__name__ for kind in (*CLASSES, *OF_DTYPES)), "Decimal", *OF_NUMBERS])
"""The names of classes, which are asked for more than to be called: `isinstance(x, datetime.date)`."""
RECEIVERS["%"] = HandedOver(_modulo)
"""What gives the receiver, by the name of the method; of the operator % of texts, too."""


def _of_class(thing: Any) -> Any:
    own = active() is not None and type(thing) is type and thing in CLASSES_OF_PYTHON.values()
    return MethodsOfClass(thing, RECEIVERS) if own else thing


OF_CLASS = HandedOver(_of_class)
"""What gives the receiver of a method that a class is asked for."""


def _in_pieces(thing: Any) -> Any:
    recorder = active()
    ours = recorder is not None and (thing is torch or (isinstance(thing, torch.Tensor) and thing in recorder.values))
    return Pieces(recorder, thing) if recorder is not None and ours else RECEIVERS["split"][thing]


class _OwnList:
    """Stands for a list of any length of one name, while a method changes it."""

    def __init__(self, recorder: Recorder, items: TracedList) -> None:
        self.recorder, self.items = recorder, items

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """As for list."""
        self.items.allow_change("list")
        self.items.become(stand_in_of(sorted)(self.items, key=key, reverse=reverse))

    def extend(self, items: Any) -> None:
        """As for list."""
        self.items.extend(items_of_any_length(self.recorder, items))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.items, name)


class _OwnDict:
    """Stands for a dict with keys of run time, while it gets entries."""

    def __init__(self, recorder: Recorder, table: TracedDict) -> None:
        self.recorder, self.table = recorder, table

    def update(self, given: Any = (), /, **named: Any) -> None:
        """As for dict."""
        updated(self.recorder, self.table, given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)


def _own_list(thing: Any) -> Any:
    recorder = active()
    if recorder is None or type(thing) is not TracedList or thing.handed_on:
        return _own_dict(thing)
    return _OwnList(recorder, thing.grow())


def _own_dict(thing: Any) -> Any:
    own = active() is not None and type(thing) is TracedDict and not thing.handed_on
    return thing.grow() if own else thing


def filling(name: str) -> HandedOver:
    """What takes a container of one name, and what it gets by a method, and gives what it is then."""
    return HandedOver(lambda pair: filled(active(), pair[0], pair[1], name))


OWN_ENTRY = HandedOver(lambda given: with_own_entry(active(), given[1], given[2], given[0]))
"""What takes an entry, the list or dict of one name into which it goes, and its place, and gives what that is then."""
OWN_LIST, OWN_DICT = HandedOver(_own_list), HandedOver(_own_dict)
"""What gives the receiver of a method that changes a list or a dict which nothing but a local variable knows, and what
gives such a dict in which an entry is stored."""

PIECES = HandedOver(_in_pieces)
"""What gives the receiver of a method whose result a loop goes through."""
