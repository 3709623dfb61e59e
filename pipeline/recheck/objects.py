"""The user's objects that a function can reach: their content before it ran, and what the function changed in it.

A recording must leave these objects unchanged, and a function that keeps state in them gives other results in later
calls. Lists, dicts, sets, attributes, closures, the globals that code names, classes and arrays are examined, to any
depth, also behind decorators, except for other objects of Python, torch or tracepack; `hidden` knows some of those.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ...ops.lowering.held_objects import equal_content
from ...ops.lowering.patches.lock import lowering
from ...ops.op import InferenceOp
from ...ops.runtime.user_code import OURS, decorated, functions_in, is_users
from ..proxies.base import is_traced
from .hidden import access

MOST_OBJECTS = 20_000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.dtype, torch.device, range, slice)
_ABSENT = object()
_OF_PYTHON = frozenset(
    """SimpleNamespace defaultdict OrderedDict Counter UserDict UserList UserString ChainMap Queue LifoQueue
    PriorityQueue WeakKeyDictionary WeakValueDictionary _local""".split()
)


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
        self._waiting: deque[tuple[Any, str]] = deque([(process, "the function")])
        with lowering():
            while self._waiting and len(self._met) < most:
                self._visit(*self._waiting.popleft())

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
            held += [item for code in _codes(function.__code__) for item in code.co_consts]
            held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        flat = [part for item in held for part in (item if type(item) in (tuple, frozenset) else (item,))]
        values = [item.value if isinstance(item, Enum) else item for item in flat]
        plain = [item for item in values if type(item) in (int, float, str)]
        return [item for _, item in {(type(item), repr(item)): item for item in plain}.items()]

    # -- looking -----------------------------------------------------------------------------------------------

    def _visit(self, thing: Any, name: str) -> None:
        if is_traced(thing) or isinstance(thing, _PLAIN) or id(thing) in self._met:
            return
        self._met[id(thing)] = thing
        kind = type(thing)
        if kind is FunctionType:
            self._function(thing)
        elif kind is MethodType:
            self._wait((thing.__self__, name), (thing.__func__, name))
        elif kind is partial:
            self._wait(*((part, name) for part in (thing.func, *thing.args, *thing.keywords.values())))
        elif isinstance(thing, InferenceOp):
            self.ops.append(thing)
            self._wait((getattr(thing, "model", None), f"the model of op {thing.name!r}"))
        elif isinstance(thing, np.ndarray):
            if thing.nbytes <= 1 << 20 and not thing.dtype.hasobject:
                self._arrays.append((thing, thing.copy()))
        elif isinstance(thing, dict | list | set | deque | tuple):
            self._container(thing, name)
        elif isinstance(thing, type):
            self._class(thing)
        elif found := access(thing):
            self._add(*found)
        elif not isinstance(thing, ModuleType) and _is_looked_into(kind):
            self._object(thing)
        elif callable(thing):  # what Python's decorators make, such as functools.cache
            self._visit(getattr(thing, "__wrapped__", None), name)

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
        if not (_is_users_module(kind.__module__) or _is_of_no_module(kind)):
            return
        names = [name for name in vars(kind) if not (name.startswith("__") and name.endswith("__"))]
        self._add(f"class {kind.__name__}", lambda: _own(kind), partial(_set_attributes, kind, None))
        for name in names:
            found = vars(kind)[name]
            for function in functions_in(found):
                self._visit(function, kind.__name__)
        for name in ("__call__", "__getitem__", "__len__", "__init__"):
            self._visit(vars(kind).get(name), kind.__name__)

    def _function(self, function: FunctionType) -> None:
        if not _is_users_own(function.__code__.co_filename):
            if function.__code__.co_filename.startswith(OURS):  # it wraps a function of the user's
                self._wait(*((cell.cell_contents, "the function") for cell in function.__closure__ or ()))
            self._wait(*((each, function.__name__) for each in decorated(function)))
            return
        self.functions.append(function)
        name = function.__name__
        self._wait(*((item, f"a default of {name}") for item in (function.__defaults__, function.__kwdefaults__)))
        self._visit(vars(function), f"an attribute of {name}")
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if id(cell) not in self._met:
                self._met[id(cell)] = cell
                self._add(f"variable {variable!r}", partial(_content, cell), partial(_set_content, cell))
        self._globals(function)

    def _globals(self, function: FunctionType) -> None:
        """The globals that code names in its module, and the attributes that it reads of the user's other modules."""
        names, held = list(dict.fromkeys(_names(function.__code__))), function.__globals__
        known = [name for name in names if name in held or name in _stored(function.__code__)]
        self._named(held, known, "a global")
        for name in known:
            module = held.get(name)
            if isinstance(module, ModuleType) and _is_users_module(module.__name__):
                self._named(vars(module), [n for n in names if n in vars(module)], f"a global of {name}")

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
    return {name: item for name, item in vars(kind).items() if not (name.startswith("__") and name.endswith("__"))}


def _set_attributes(thing: Any, names: list[str] | None, items: dict[Any, Any]) -> None:
    now = _own(thing) if names is None else _attributes(thing, names)
    for name in now.keys() - items.keys():
        delattr(thing, name)
    for name, item in items.items():
        if now.get(name, _ABSENT) is not item:
            setattr(thing, name, item)


def _of_array(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> Location:
    return Location("a numpy array", lambda: {...: array}, lambda items: None, {...: before})


# -- what is whose --------------------------------------------------------------------------------------------------


def _is_users_own(path: str) -> bool:
    """Whether code is the user's, and not of an installed package."""
    return is_users(path) and "-packages" not in path


def _is_users_module(name: str) -> bool:
    module = sys.modules.get(name)
    return name == "__main__" or _is_users_own(str(getattr(module, "__file__", None) or "<"))


def _is_of_no_module(kind: type) -> bool:
    """Whether a class was made by code that ran without a module, as `exec` with a dict of its own runs it."""
    made_at_run_time = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE
    return kind.__module__ == "builtins" and bool(kind.__flags__ & made_at_run_time)


def _is_looked_into(kind: type) -> bool:
    """Whether the attributes of objects of a class are examined: not of classes of Python, torch, numpy or ours."""
    if issubclass(kind, torch.nn.Module):
        return not issubclass(kind, torch.jit.ScriptModule)
    module = kind.__module__
    if _is_of_no_module(kind):
        return True
    if module.startswith(("torch.", "numpy.", "tracepack.")) or module in ("torch", "numpy", "builtins"):
        return False
    if module.partition(".")[0] in sys.stdlib_module_names:
        return kind.__name__ in _OF_PYTHON
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> Iterator[str]:
    for each in _codes(code):
        yield from each.co_names


def _stored(code: CodeType) -> frozenset[str]:
    """The globals that code may bind; it may also give names of attributes, which does no harm."""
    return frozenset(_names(code))
