"""What the operations of a block of plain Python go through: they reach nothing else, change nothing of others, and
stay within the bounds that operators of a graph have.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import operator
import re
from collections import Counter, deque
from collections.abc import Callable, Collection
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import torch

from .. import bounded
from . import block_tensors, block_texts, library_values
from .arrays import block_arrays
from .gone_through import NAMES, bounded_items, counted, each_ordered, ordered, require_few, require_order
from .growing_operators import FUNCTIONS
from .language import CHANGE_FIRST, CHANGING, FILE, LIBRARY, LOOKING, OF_CLASSES
from .objects import normal_distributions
from .objects.made_classes import Attributes, MadeClass, attribute_of, fields_of, is_object, part_of_class
from .objects.made_enums import MadeEnum, has_part, is_record
from .objects.model_outputs import ModelOutputs
from .one_run.block_refusals import refuse, within

CHANGES_OTHERS = "a block of plain Python changes a container that is not its own"


def entry_of(table: Any, key: Any) -> tuple[Any, Any, Any]:
    """An entry that is about to be changed: its table, its key, and what it is."""
    return table, key, table[key]


class Guarded:
    """The operations of one call of a block.

    Args:
        others: ids of the containers that it must not change: constants, and what it was given.
        memory: that of the tensors that it was given.
    """

    def __init__(self, others: Collection[int], memory: Collection[int] = ()) -> None:
        self.others, self.memory = others, memory

    def own(self, thing: Any) -> Any:
        """A container or a tensor that is about to be changed."""
        if isinstance(thing, torch.Tensor):
            return block_tensors.own_tensor(thing, self.memory)
        if isinstance(thing, np.ndarray):
            return block_arrays.own_array(thing, self.memory)
        if id(thing) in self.others:
            refuse(CHANGES_OTHERS, got=type(thing).__name__, fix="Change a copy: list(items), dict(table).")
        return require_few(thing) if isinstance(thing, _CHANGED) else thing

    def attribute(self, thing: Any, name: str) -> Any:
        """A method of an object, by its exact type.

        Raises:
            AttributeError: it has none of that name, or none that a block may call.
        """
        kind = type(thing)
        if type(kind) is MadeClass:
            return attribute_of(thing, name)
        if name in _DIRECT.get(kind, ()):
            return getattr(thing, name)
        if name in _CHANGERS.get(kind, ()):
            return getattr(self.own(thing), name)
        get = _METHODS.get((kind, name))
        if get is not None:
            return get(self, thing)
        if kind is torch.Tensor:
            return block_tensors.attribute(thing, name, self.memory)
        if kind is np.ndarray or kind in block_arrays.CLASSES:
            return block_arrays.attribute(thing, name, self.memory)
        if isinstance(thing, np.dtype):
            return block_arrays.attribute_of_dtype(thing, name)
        if name in block_tensors.PARTS and kind.__module__ == "torch.return_types":
            return getattr(thing, name)
        if kind is type and name in OF_CLASSES.get(thing, ()):
            found = getattr(thing, name)
            if name == "fromkeys":
                return lambda items, *rest: found(bounded_items(items), *rest)
            return _CLASS_METHODS.get((thing, name), found)
        if is_record(thing, name):
            return getattr(thing, name)
        if kind is ModelOutputs:
            return thing.get(name)
        if isinstance(thing, Enum):
            own = name in ("name", "value") or (type(kind) is MadeEnum and has_part(kind, name))
            return getattr(thing, name) if own else self._of_value(thing, name)
        if kind is MadeClass:
            return part_of_class(thing, name)
        if kind is MadeEnum and has_part(thing, name):
            return getattr(thing, name)
        if callable(thing) and kind is not type:
            refuse("a block of plain Python asks a function for an attribute", got=name)
        if not hasattr(thing if kind is type else kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return refuse(f"a block of plain Python asks a {kind.__name__} for {name!r}", expected="a method of its list")

    def _of_value(self, thing: Enum, name: str) -> Any:
        """A method that a member of an Enum has as a number or a text."""
        if not isinstance(thing, int | str | float):
            raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")
        return self.attribute(thing.value, name)

    def changed(self, thing: Any) -> Any:
        """An object of the block, an attribute of which is about to be set."""
        if not is_object(thing):
            refuse(f"a block of plain Python sets an attribute of a {type(thing).__name__}")
        if id(thing) in self.others:
            refuse("a block of plain Python changes an object that does not change", got=type(thing).__name__)
        return thing

    def attributes(self, thing: Any) -> Attributes:
        """The attributes of such an object as entries."""
        return Attributes(self.changed(thing))

    def hold(self, thing: Any) -> Any:
        """A thing from outside of the block, of which it changes nothing."""
        waiting, held = [thing], {*self.others}
        while waiting:
            each = waiting.pop()
            if not (is_object(each) or isinstance(each, (tuple, *_CHANGED))) or id(each) in held:
                continue
            held.add(id(each))
            parts = fields_of(each) if is_object(each) else each
            waiting += parts.values() if isinstance(parts, dict) else parts
        self.others = held
        return thing

    def augmented(self, name: str, a: Any, b: Any) -> Any:
        """``a += b`` and its kin, for a variable."""
        if type(a) in _UNCHANGED:
            return self._operated(name, a, b)
        if isinstance(a, _CHANGED) or hasattr(type(a), f"__i{name.strip('_')}__"):
            self.own(a)
            if name == "add" and isinstance(a, list):
                a.extend(bounded_items(b))
                return a
            if name == "mul" and isinstance(a, _CHANGED):
                require_few(range(len(a) * max(0, b)) if isinstance(b, int) else ())
            return getattr(operator, f"i{name.strip('_')}")(a, b)
        return self._operated(name, a, b)

    @staticmethod
    def _operated(name: str, a: Any, b: Any) -> Any:
        """What ``a += b`` gives where that changes nothing."""
        try:
            return (FUNCTIONS.get(name) or getattr(operator, name))(a, b)
        except TypeError:
            of_text = name == "mod" and isinstance(a, str | bytes)
            if not of_text and type(a) in _UNCHANGED and type(b).__module__ in ("builtins", "collections"):
                getattr(operator, f"i{name.strip('_')}")(a, b)  # Python's own error, which names this operator
            raise

    def augment_entry(self, name: str, entry: tuple[Any, Any, Any], b: Any) -> None:
        """``table[key] += b`` and its kin, for what `entry_of` gave."""
        table, key, before = entry
        found = self.augmented(name, before, b)
        self.own(table)[key] = found

    def function(self, module: str, name: str) -> Any:
        """A function of Python's library, or of torch."""
        if name in block_tensors.FUNCTIONS.get(module, ()):
            return block_tensors.function(module, name)
        if name in block_arrays.FUNCTIONS.get(module, ()):
            return block_arrays.function(module, name)
        if name not in LIBRARY.get(module, ()):
            refuse(f"a block of plain Python uses {module}.{name}", expected="a function of its list")
        found = getattr(importlib.import_module(module), name)
        if name in CHANGE_FIRST:
            return lambda first, *rest, **named: found(self.own(first), *rest, **named)
        return _library(module, name, found)


_CLASS_METHODS = {**library_values.CLASS_METHODS, **normal_distributions.CLASS_METHODS}
_CHANGED = (list, dict, set, deque)
_UNCHANGED = frozenset((int, float, bool, complex, str, bytes, tuple, torch.Size, type(None)))


def _looking(kind: type, name: str) -> Callable[[Guarded, Any], Any]:
    """What gives a method that changes nothing."""
    if (own := ({**library_values.METHODS, **normal_distributions.METHODS}).get((kind, name))) is not None:
        return lambda _, thing: own(thing)
    if kind is str:
        if name == "format":
            return lambda _, text: partial(block_texts.filled, text)
        return lambda _, text: partial(block_texts.method, name, text)
    if kind is re.Pattern and name in ("sub", *block_texts.SEARCHES):
        called = block_texts.substituted if name == "sub" else block_texts.SEARCHES[name]
        return lambda _, pattern: partial(called, pattern)
    if kind in (set, frozenset) and name != "copy":
        return lambda _, thing: lambda *args: getattr(thing, name)(*map(counted, args))
    return lambda _, thing: getattr(thing, name)


def _changing(kind: type, name: str) -> Callable[[Guarded, Any], Any]:
    """What gives a method that changes its object."""
    if kind is set:
        return _through(name, counted) if name != "pop" else lambda guards, thing: guards.own(require_order(thing)).pop
    if name in ("extend", "extendleft", "update", "subtract"):
        return _through(name, bounded_items)
    return lambda guards, thing: getattr(guards.own(thing), name)


def _through(name: str, check: Callable[[Any], Any]) -> Callable[[Guarded, Any], Any]:
    """What gives a method that changes its object by all of some items."""

    def get(guards: Guarded, thing: Any) -> Callable[..., Any]:
        plain = getattr(guards.own(thing), name)
        return lambda *args, **named: plain(*map(check, args), **named)

    return get


def whole(*args: Any, **named: Any) -> int:
    """``int(value, base)``."""
    if len(args) == 1 and not named and is_object(args[0]):
        return int(args[0])
    if [*named] == ["base"] and len(args) == 1:
        return int(within(bounded.whole, *args, named["base"]))
    return int(within(bounded.whole, *args)) if args and not named else int(*args, **named)


def rounded(*args: Any, **named: Any) -> Any:
    """``round(number, digits)``."""
    return within(bounded.rounded, *args, *named.values())


def power(*args: Any, **named: Any) -> Any:
    """``pow(a, b)``."""
    return within(bounded.power, *args) if len(args) == 2 and not named else pow(*args, **named)


def accumulated(items: Any, function: Any = None, *, initial: Any = None) -> Any:
    """``itertools.accumulate(items, function)``."""
    function = (lambda a, b: within(bounded.add, a, b)) if function is None else _of_two(function)
    return itertools.accumulate(ordered(items), function, initial=initial)


def reduced(function: Any, items: Any, *initial: Any) -> Any:
    """``functools.reduce(function, items)``."""
    return functools.reduce(_of_two(function), ordered(items), *initial)


def _of_two(function: Any) -> Any:
    """A function that is called with what it gave before, and makes no chain of iterators of it in C."""
    own = getattr(getattr(function, "__code__", None), "co_filename", "") == FILE
    if not own and function not in (NAMES["max"], NAMES["min"]):
        refuse("a block of plain Python gives a builtin to what calls it again and again", fix="Write a lambda.")
    return function


def _library(module: str, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's library, which keeps or goes through its arguments."""
    if (module, name) in _LIMITED:
        return _LIMITED[module, name]
    check = {"itertools": ordered, "functools": ordered, "heapq": bounded_items, "collections": bounded_items,
             "statistics": bounded_items}.get(module)  # fmt: skip
    if check is None and name != "fsum":
        return found
    return lambda *args, **named: found(*map(check or bounded_items, args), **named)


_LIMITED: dict[tuple[str, str], Callable[..., Any]] = {
    ("re", "sub"): block_texts.substituted, ("json", "dumps"): block_texts.as_json,
    ("unicodedata", "normalize"): block_texts.normalized, ("itertools", "accumulate"): accumulated,
    ("functools", "reduce"): reduced,
    **{("math", name): partial(within, bounded.FUNCTIONS[name]) for name in ("factorial", "comb", "perm")},
    ("itertools", "starmap"): lambda function, items: itertools.starmap(function, each_ordered(items)),
    ("statistics", "quantiles"): normal_distributions.quantiles,
    **library_values.FUNCTIONS, ("re", "findall"): block_texts.all_found, ("re", "split"): block_texts.cut_apart,
}  # fmt: skip


def is_instance(thing: Any, kinds: Any) -> bool:
    """``isinstance(thing, kinds)``, of which some may have come as the functions that a block has for builtins."""
    return isinstance(thing, _as_classes(kinds))


def _as_classes(kinds: Any) -> Any:
    if type(kinds) is tuple:
        return tuple(map(_as_classes, kinds))
    return _CLASSES.get(id(kinds), kinds)


CALLS: dict[str, Callable[..., Any]] = {
    "isinstance": is_instance, "str": block_texts.text_of, "repr": block_texts.shown, "int": whole, "round": rounded,
    "pow": power, **NAMES,
}  # fmt: skip
"""What builtins go to, called or handed on."""
_CLASSES = {id(CALLS[each.__name__]): each for each in (
    str, int, list, tuple, dict, set, frozenset, enumerate, zip, map, filter, reversed,
)}  # fmt: skip
"""The classes for which functions stand, by their ids."""
_METHODS: dict[tuple[type, str], Callable[[Guarded, Any], Any]] = {
    **{(kind, name): _looking(kind, name) for kind, names in LOOKING.items() for name in names},
    **{(kind, name): _changing(kind, name) for kind, names in CHANGING.items() for name in names},
}
_GROWING = ("replace", "zfill", "ljust", "rjust", "center", "expandtabs", "join", "translate", "format", "encode")
_SLOW = ("rfind", "rindex", "rsplit", "rpartition")
_DIRECT: dict[type, frozenset[str]] = {
    **{
        kind: frozenset(LOOKING[kind]) for kind in (list, tuple, torch.Size, dict, bytes, int, float, re.Match, Counter)
    },
    str: frozenset(LOOKING[str]) - {*_GROWING, *_SLOW},
}
"""Methods that are Python's own."""
_CHANGERS: dict[type, frozenset[str]] = {
    list: frozenset(CHANGING[list]) - {"extend"}, dict: frozenset(CHANGING[dict]) - {"update"},
    set: frozenset(("add", "discard", "remove", "clear")),
}  # fmt: skip
"""Methods that are Python's own, of an object that may be changed."""
