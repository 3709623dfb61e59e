"""The user's objects that a function can reach: their content before it ran, and what the function changed in it.

A recording must leave these objects unchanged, and a function that keeps state in them gives other results in later
calls. Lists, dicts, sets, attributes, closures, the globals that code names, classes and arrays are examined, to any
depth, also behind decorators, except for other objects of Python, torch or tracepack; `hidden` knows some of those,
and `leads` what others hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.lowering.held_objects import equal_content
from ....ops.lowering.patches.lock import lowering
from ....ops.op import InferenceOp
from ....ops.runtime.user_code import OURS, codes_in, decorated, functions_in, names_in, stored_attributes
from ...proxies.base import is_traced
from .hidden import access, counts
from .leads import drawn_from, leads, modules_in
from .whose import is_looked_into, is_made_by_hand, is_of_no_module, is_users_module, is_users_own

MOST_OBJECTS = 20_000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.dtype, torch.device, range, slice)
_CONTAINERS = (dict, list, set, deque, tuple)
_ABSENT = object()


@dataclass(frozen=True)
class Location:
    """One object that holds others, with functions that read and set its content.

    Attributes:
        name: what to call it in a message.
        read: gives its content as a dict.
        write: sets its content.
        before: its content when it was found.
    """

    name: str
    read: Callable[[], dict[Any, Any]]
    write: Callable[[dict[Any, Any]], None]
    before: dict[Any, Any]

    def changed(self) -> list[Any]:
        """The keys whose content is no longer what it was."""
        now = self.read()
        if len(now) == len(self.before) and all(
            a is b for a, b in zip(now.values(), self.before.values(), strict=True)
        ):
            return [] if list(now) == list(self.before) else list(now)
        keys = dict.fromkeys([*self.before, *now])
        return [key for key in keys if not _equal(self.before.get(key, _ABSENT), now.get(key, _ABSENT))]


class Objects:
    """All places that a function can reach.

    They are read and set while no other thread lowers, since lowering changes a model for a while.

    Args:
        process: the function, or whatever is called.
        most: how many objects are looked at.

    Attributes:
        functions: the user's own functions among what was found.
        ops: the ops among it.
    """

    def __init__(self, process: Any, most: int = MOST_OBJECTS) -> None:
        self.functions: list[FunctionType] = []
        self.ops: list[InferenceOp] = []
        self._places: list[Location] = []
        self._arrays: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._met: dict[int, Any] = {}
        self._tensors: dict[int, torch.Tensor] = {}
        self._caches: list[Any] = []
        self._waiting: deque[tuple[Any, str]] = deque([(process, "the function")])
        with lowering():
            while self._waiting and len(self._met) < most:
                self._visit(*self._waiting.popleft())
            if any("cache_info" in names_in(function.__code__) for function in self.functions):
                for cache in self._caches:
                    self._add(*counts(cache))

    # -- after a run -------------------------------------------------------------------------------------------

    def changes(self) -> list[tuple[Location, Any]]:
        """Every place that changed, with the key under which it did."""
        with lowering():
            found = [(place, key) for place in self._places for key in place.changed()]
        for array, before in self._arrays:
            if array.tobytes() != before.tobytes():
                found.append((_of_array(array, before), ...))
        return found

    def restore(self) -> None:
        """Gives everything back what it held."""
        with lowering():
            for place in self._places:
                now = place.read()
                same = len(now) == len(place.before) and all(
                    a is b
                    for pair in zip(now.items(), place.before.items(), strict=True)
                    for a, b in zip(*pair, strict=True)
                )
                if not same:
                    place.write(place.before)
            for array, before in self._arrays:
                if array.flags.writeable and array.tobytes() != before.tobytes():
                    array[...] = before

    def plain_values(self) -> list[Any]:
        """The numbers and texts that the user's functions name: constants of their code, globals, variables."""
        held = [item for place in self._places for item in place.before.values()]
        for function in self.functions:
            held += [item for code in codes_in(function.__code__) for item in code.co_consts]
            held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        flat = [part for item in held for part in (item if type(item) in (tuple, frozenset) else (item,))]
        values = [item.value if isinstance(item, Enum) else item for item in flat]
        plain = [item for item in values if type(item) in (int, float, str)]
        return [item for _, item in {(type(item), repr(item)): item for item in plain}.items()]

    # -- looking -----------------------------------------------------------------------------------------------

    def _visit(self, thing: Any, name: str) -> None:
        kind = type(thing)
        if is_traced(thing) or id(thing) in self._met or id(thing) in self._tensors:
            return
        if isinstance(thing, torch.Tensor):  # not counted: a model has many
            self._tensors[id(thing)] = thing
            self._attributes(thing)
            return
        if isinstance(thing, _PLAIN) and not hasattr(thing, "__dict__"):
            return
        self._met[id(thing)] = thing
        if kind is FunctionType:
            self._function(thing)
        elif kind is MethodType:
            self._wait((thing.__self__, name), (thing.__func__, name))
        elif kind is partial:
            self._wait(*((part, name) for part in (thing.func, *thing.args, *thing.keywords.values())))
            self._attributes(thing)
        elif isinstance(thing, InferenceOp):
            self.ops.append(thing)
            self._wait((getattr(thing, "model", None), f"the model of op {thing.name!r}"))
        elif isinstance(thing, np.ndarray):
            if thing.dtype == object and thing.size <= MOST_OBJECTS:
                self._add(
                    "a numpy array", lambda: dict(enumerate(thing.flat)), lambda items: _fill(thing, items.values())
                )
            elif thing.nbytes <= 1 << 20 and not thing.dtype.hasobject:
                self._arrays.append((thing, thing.copy()))
        elif isinstance(thing, _CONTAINERS):
            self._container(thing, name)
            if kind not in _CONTAINERS:
                self._object(thing)
        elif isinstance(thing, type):
            self._class(thing)
        elif found := access(thing):
            self._add(*found)
        elif isinstance(thing, ModuleType):
            if is_made_by_hand(thing):
                self._attributes(thing)
        elif is_looked_into(kind) or isinstance(thing, _PLAIN):
            self._object(thing)
        else:
            self._wait(*((each, name) for each in leads(thing)))
            if hasattr(thing, "cache_info"):
                self._caches.append(thing)

    def _wait(self, *pairs: tuple[Any, str]) -> None:
        self._waiting.extend(pairs)

    def _add(self, name: str, read: Callable[[], dict[Any, Any]], write: Callable[[dict[Any, Any]], None]) -> None:
        place = Location(name, read, write, read())
        self._places.append(place)
        self._wait(*((item, name) for item in place.before.values() if not is_traced(item)))

    def _container(self, thing: Any, name: str) -> None:
        if isinstance(thing, dict):
            self._add(name, lambda: dict(thing), lambda items: _refill(thing, items))
        elif isinstance(thing, tuple):
            self._wait(*((item, name) for item in thing))
        elif isinstance(thing, set):
            self._add(name, lambda: {_key(item): item for item in thing}, lambda items: _refill(thing, items.values()))
        else:
            self._add(name, lambda: dict(enumerate(thing)), lambda items: _refill(thing, items.values()))

    def _attributes(self, thing: Any) -> None:
        def read() -> dict[Any, Any]:
            return {name: item for name, item in vars(thing).items() if not _is_special(name)}

        def write(items: dict[Any, Any]) -> None:
            _refill(vars(thing), {name: item for name, item in vars(thing).items() if _is_special(name)} | items)

        self._add(type(thing).__name__, read, write)

    def _object(self, thing: Any) -> None:
        if hasattr(thing, "__dict__"):
            held = vars(thing)
            self._add(type(thing).__name__, lambda: dict(held), lambda items: _refill(held, items))
        slots = [name for kind in type(thing).__mro__ for name in _slots(kind)]
        if slots:
            self._add(type(thing).__name__, partial(_attributes, thing, slots), partial(_set_attributes, thing, slots))
        for kind in type(thing).__mro__:
            self._visit(kind, kind.__name__)

    def _class(self, kind: type) -> None:
        self._visit(type(kind), kind.__name__)
        if not (is_users_module(kind.__module__) or is_of_no_module(kind)):
            return
        names = [name for name in vars(kind) if not _is_special(name)]
        self._add(f"class {kind.__name__}", lambda: _own(kind), partial(_set_attributes, kind, None))
        for name in names:
            found = vars(kind)[name]
            for function in functions_in(found):
                self._visit(function, kind.__name__)
        for name in ("__call__", "__getitem__", "__len__", "__init__"):
            self._visit(vars(kind).get(name), kind.__name__)

    def _function(self, function: FunctionType) -> None:
        if not is_users_own(function.__code__.co_filename):
            if function.__code__.co_filename.startswith(OURS):  # it wraps a function of the user's
                self._wait(*((cell.cell_contents, "the function") for cell in function.__closure__ or ()))
            self._wait(*((each, function.__name__) for each in decorated(function)))
            return
        self.functions.append(function)
        name = function.__name__
        defaults = ["__defaults__", "__kwdefaults__"]
        self._add(
            f"a default of {name}",
            partial(_attributes, function, defaults),
            partial(_set_attributes, function, defaults),
        )
        self._visit(vars(function), f"an attribute of {name}")
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if id(cell) not in self._met:
                self._met[id(cell)] = cell
                self._add(f"variable {variable!r}", partial(_content, cell), partial(_set_content, cell))
        self._globals(function)

    def _globals(self, function: FunctionType) -> None:
        """The globals that code names, the attributes that it reads of the user's modules and sets on any module."""
        names, held = names_in(function.__code__), function.__globals__
        self._named(held, names, "a global")  # also what it has yet to bind; names of attributes do no harm
        stored = stored_attributes(function.__code__)
        for title, module in modules_in(held, names):
            of_user = is_users_module(module.__name__)
            known = [name for name in names if name in stored or (of_user and name in vars(module))]
            self._named(vars(module), known, f"a global of {title}")
            self._wait(*((each, title) for each in drawn_from(module, names)))

    def _named(self, held: dict[str, Any], names: list[str], title: str) -> None:
        def write(items: dict[Any, Any]) -> None:
            for name in names:
                if name in items:
                    held[name] = items[name]
                else:
                    held.pop(name, None)

        if names:
            self._add(title, lambda: {name: held[name] for name in names if name in held}, write)


# -- one kind of place each ---------------------------------------------------------------------------------------


def _refill(thing: Any, items: Any) -> None:
    thing.clear()
    if isinstance(thing, list | deque):
        thing.extend(items)
    else:
        thing.update(items)


def _fill(array: np.ndarray[Any, Any], items: Any) -> None:
    if array.flags.writeable:
        for place, item in enumerate(items):
            array.flat[place] = item


def _is_special(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("__") and name.endswith("__")


def _equal(a: Any, b: Any) -> bool:
    return a is b or (not (is_traced(a) or is_traced(b)) and equal_content(a, b))


def _key(item: Any) -> Any:
    return id(item)


def _content(cell: CellType) -> dict[Any, Any]:
    try:
        return {"": cell.cell_contents}
    except ValueError:  # the cell of a variable that has no value yet
        return {}


def _set_content(cell: CellType, items: dict[Any, Any]) -> None:
    if items:
        cell.cell_contents = items[""]
    else:
        del cell.cell_contents


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    found = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in found if not name.startswith("__"))


def _attributes(thing: Any, names: list[str]) -> dict[Any, Any]:
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def _own(kind: type) -> dict[Any, Any]:
    return {name: item for name, item in vars(kind).items() if not _is_special(name)}


def _set_attributes(thing: Any, names: list[str] | None, items: dict[Any, Any]) -> None:
    now = _own(thing) if names is None else _attributes(thing, names)
    for name in now.keys() - items.keys():
        delattr(thing, name)
    for name, item in items.items():
        if now.get(name, _ABSENT) is not item:
            setattr(thing, name, item)


def _of_array(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> Location:
    return Location("a numpy array", lambda: {...: array}, lambda items: None, {...: before})
