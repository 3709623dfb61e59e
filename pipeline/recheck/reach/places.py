"""The places of state: one for each kind of object, with functions that read and set what it holds."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from ....ops.lowering.held_objects import equal_content
from ...proxies.base import is_traced

ABSENT = object()


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
        """The keys whose content is no longer what it was; where only their order is another, the first one."""
        now = self.read()
        turned = list(now) != list(self.before)
        if not turned and all(a is b for a, b in zip(now.values(), self.before.values(), strict=True)):
            return []
        keys = dict.fromkeys([*self.before, *now])
        found = [key for key in keys if not equal(self.before.get(key, ABSENT), now.get(key, ABSENT))]
        return found or list(now)[:turned]


def refill(thing: Any, items: Any) -> None:
    """Gives a list, a deque, a dict or a set other items; what stays is never gone, since other threads may read it."""
    if isinstance(thing, list):
        thing[:] = items
    elif isinstance(thing, set):
        thing &= (kept := set(items))
        thing |= kept
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
    return any(map(_holds_stand_in, dict.keys(thing)))


def _holds_stand_in(key: Any) -> bool:
    return is_traced(key) or (isinstance(key, tuple) and any(map(_holds_stand_in, key)))


def fill(array: np.ndarray[Any, Any], items: Any) -> None:
    """Gives an array of objects other items."""
    if array.flags.writeable:
        for place, item in enumerate(items):
            array.flat[place] = item


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
    """The attributes of a class itself."""
    return {name: item for name, item in vars(kind).items() if not is_special(name)}


def set_attributes(thing: Any, names: list[str] | None, items: dict[Any, Any]) -> None:
    """Sets attributes of an object, or all of a class."""
    now = own_attributes(thing) if names is None else attributes(thing, names)
    for name in now.keys() - items.keys():
        delattr(thing, name)
    for name, item in items.items():
        if now.get(name, ABSENT) is not item:
            setattr(thing, name, item)


def of_array(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> Location:
    """The place of an array of numpy, with what it held before."""

    def write(items: dict[Any, Any]) -> None:
        if array.flags.writeable:
            array[...] = items[...]

    return Location("a numpy array", lambda: {...: array}, write, {...: before})
