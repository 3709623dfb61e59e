"""The places of state: one for each kind of object, with functions that read and set what it holds."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import CellType
from typing import Any

import numpy as np

from ....ops.lowering.held_objects import equal_content
from ...proxies.base import is_traced

ABSENT = object()
OF_FUNCTIONS = ("__defaults__", "__kwdefaults__", "__doc__", "__name__", "__qualname__")
"""What code sets of a function, beside the attributes that it gives it."""


@dataclass(frozen=True)
class Named:
    """What holds things by names: attributes of an object, globals of a module.

    Attributes:
        put: sets one of them.
        drop: removes one of them.
    """

    put: Callable[[Any, Any], object]
    drop: Callable[[Any], object]


def in_dict(held: dict[Any, Any]) -> Named:
    """The names in a dict of attributes or globals."""
    return Named(held.__setitem__, lambda name: held.pop(name, None))


def in_object(thing: Any) -> Named:
    """The attributes of an object that has no dict, or none that is open."""
    return Named(partial(setattr, thing), partial(delattr, thing))


@dataclass(frozen=True)
class Variable:
    """A variable of an outer function, by its name."""

    name: str


@dataclass(frozen=True)
class Location:
    """One object that holds others, with functions that read and set its content.

    Attributes:
        name: what to call it in a message.
        read: gives its content as a dict.
        write: sets its content.
        before: its content when it was found.
        holder: a container, a `Named` or a `Variable`, which tell what code can write there; None for other objects.
        tried: the keys that a trial of later states has set.
    """

    name: str
    read: Callable[[], dict[Any, Any]]
    write: Callable[[dict[Any, Any]], None]
    before: dict[Any, Any]
    holder: Any = None
    tried: set[Any] = field(default_factory=set)

    def differing(self) -> list[Any]:
        """The keys under which there is not the same thing as before; all, where only their order is another.

        A dict with stand-ins of a recording that has ended as keys cannot be asked: it has all keys.
        """
        now, before = self.read(), self.before
        pairs = zip(now.items(), before.items(), strict=False)
        if len(now) == len(before) and all(_is(a, b) and c is d for (a, c), (b, d) in pairs):
            return []
        if any(map(holds_stand_in, now)):
            return [*now, *before]
        keys = dict.fromkeys([*before, *now])
        return [key for key in keys if now.get(key, ABSENT) is not before.get(key, ABSENT)] or [*now]

    def put_back(self, keys: Iterable[Any] | None) -> None:
        """Sets what it holds under some keys to what it was; None for everything."""
        holder = self.holder
        if keys is None or not isinstance(holder, dict | Named):
            self.write(self.before)
            return
        put = holder.put if isinstance(holder, Named) else holder.__setitem__
        drop = holder.drop if isinstance(holder, Named) else lambda key: holder.pop(key, None)
        for key in keys:
            if key in self.before:
                put(key, self.before[key])
            else:
                drop(key)
        if self.turned():
            now = self.read()
            self.write({key: now.get(key, self.before[key]) for key in self.before})

    def turned(self) -> list[Any]:
        """The keys, where they are those of before in another order."""
        now = [*self.read()]
        return now if now != [*self.before] and set(now) == self.before.keys() else []

    def attempt(self, items: dict[Any, Any]) -> None:
        """Sets its content for a trial."""
        now = self.read()
        self.tried.update(key for key in {**now, **items} if now.get(key, ABSENT) is not items.get(key, ABSENT))
        self.write(items)

    def changed(self) -> list[Any]:
        """The keys whose content is no longer what it was; where only their order is another, the first one."""
        now = self.read()
        turned = list(now) != list(self.before)
        if not turned and all(a is b for a, b in zip(now.values(), self.before.values(), strict=True)):
            return []
        keys = dict.fromkeys([*self.before, *now])
        found = [key for key in keys if not equal(self.before.get(key, ABSENT), now.get(key, ABSENT))]
        return found or list(now)[:turned]


def _is(a: Any, b: Any) -> bool:
    return a is b or (type(a) is int and type(b) is int and a == b)  # the keys of sets and lists are made anew


def refill(thing: Any, items: Any) -> None:
    """Gives a list, a deque, a dict or a set other items; what stays is never gone, since other threads may read it."""
    if isinstance(thing, list):
        thing[:] = items
    elif isinstance(thing, set):
        kept = set(items)
        for item in thing - kept:  # one by one: operators of sets may change the order of the rest
            thing.discard(item)
        for item in kept - thing:
            thing.add(item)
    elif isinstance(thing, deque):
        thing.clear()
        thing.extend(items)
    else:
        put_back(thing, items)
        if list(thing) != list(items):  # keys that were removed and are last now
            for key, item in items.items():
                thing[key] = thing.pop(key, item)


def put_back(held: dict[Any, Any], items: dict[Any, Any]) -> None:
    """Sets what differs in the attributes of an object, which other threads may be reading meanwhile."""
    if _has_stand_in(held):  # the recording that knows its hash has ended
        held.clear()
    for key in held.keys() - items.keys():
        held.pop(key, None)
    for key, item in items.items():
        if held.get(key, ABSENT) is not item:
            held[key] = item


def entries(thing: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of a dict as a plain one.

    An OrderedDict asks its keys for a hash to be gone through, which a stand-in of a recording that has ended lacks:
    then the items have keys that are none of its own.
    """
    if isinstance(thing, OrderedDict) and _has_stand_in(thing):
        return {object(): item for item in dict.values(thing)}
    return dict(thing)


def _has_stand_in(thing: dict[Any, Any]) -> bool:
    return any(map(holds_stand_in, [*dict.keys(thing)]))  # other threads may fill it


def holds_stand_in(key: Any) -> bool:
    """Whether a key is a stand-in of a recording, or has one in it."""
    return is_traced(key) or (isinstance(key, tuple) and any(map(holds_stand_in, key)))


def is_special(name: Any) -> bool:
    """Whether a name is one of Python's own, such as ``__doc__``."""
    return isinstance(name, str) and name.startswith("__") and name.endswith("__")


def equal(a: Any, b: Any) -> bool:
    """Whether two things are one, or have the same content; stand-ins have none."""
    return a is b or (not (is_traced(a) or is_traced(b)) and equal_content(a, b))


def content_of(cell: CellType) -> dict[Any, Any]:
    """What a variable of a closure holds."""
    try:
        return {"": cell.cell_contents}
    except ValueError:  # the cell of a variable that has no value yet
        return {}


def set_content(cell: CellType, items: dict[Any, Any]) -> None:
    """Sets what a variable of a closure holds."""
    if items:
        cell.cell_contents = items[""]
    else:
        del cell.cell_contents


def slots_of(kind: type) -> tuple[str, ...]:
    """The names of the slots of a class."""
    slots = vars(kind).get("__slots__", ())
    found = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in found if not name.startswith("__"))


def attributes(thing: Any, names: list[str]) -> dict[Any, Any]:
    """Some attributes of an object, as far as it has them."""
    found = {}
    for name in names:
        with suppress(AttributeError):  # without the object's own `__getattr__`, which may raise anything
            found[name] = object.__getattribute__(thing, name)
    return found


def own_attributes(kind: type) -> dict[Any, Any]:
    """The attributes of a class itself, and its text."""
    return {name: item for name, item in dict(vars(kind)).items() if not is_special(name) or name == "__doc__"}


def set_attributes(thing: Any, names: list[str] | None, items: dict[Any, Any]) -> None:
    """Sets attributes of an object, or all of a class."""
    now = own_attributes(thing) if names is None else attributes(thing, names)
    for name in now.keys() - items.keys():
        delattr(thing, name)
    for name, item in items.items():
        if now.get(name, ABSENT) is not item:
            setattr(thing, name, item)


Access = tuple[Callable[[], dict[Any, Any]], Callable[[dict[Any, Any]], None]]


def plain_attributes(held: dict[Any, Any]) -> Access:
    """What reads and what sets the attributes of an object, but for those of Python's own."""

    def read() -> dict[Any, Any]:
        return {name: item for name, item in dict(held).items() if not is_special(name)}

    def write(items: dict[Any, Any]) -> None:
        refill(held, {name: item for name, item in dict(held).items() if is_special(name)} | items)

    return read, write


def some_names(held: dict[str, Any], names: list[str]) -> Access:
    """What reads and what sets some names in a dict of globals."""

    def read() -> dict[Any, Any]:
        found = ((name, held.get(name, ABSENT)) for name in names)  # other threads may remove one meanwhile
        return {name: item for name, item in found if item is not ABSENT}

    def write(items: dict[Any, Any]) -> None:
        for name in names:
            if name in items:
                held[name] = items[name]
            else:
                held.pop(name, None)

    return read, write


def items_in(thing: Any) -> Access:
    """What reads and what sets the items of a list, a deque, a dict or a set."""
    if isinstance(thing, dict):
        return lambda: entries(thing), lambda items: refill(thing, items)
    if isinstance(thing, set):  # in an order that is the same each time
        return lambda: {id(item): item for item in sorted(thing, key=id)}, lambda items: refill(thing, items.values())
    return lambda: dict(enumerate([*thing])), lambda items: refill(thing, items.values())


def objects_in(array: np.ndarray[Any, Any]) -> Access:
    """What reads and what sets the items of an array of objects."""

    def write(items: dict[Any, Any]) -> None:
        if array.flags.writeable:
            for place, item in items.items():
                array.flat[place] = item

    return lambda: dict(enumerate(array.flat)), write


def of_array(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> Location:
    """The place of an array of numpy, with what it held before."""

    def write(items: dict[Any, Any]) -> None:
        if array.flags.writeable:
            array[...] = items[...]

    return Location("a numpy array", lambda: {...: array}, write, {...: before}, array)
