"""Objects of a block of plain Python in what it gives: tuples with named fields, as in any result."""

from __future__ import annotations

from typing import Any

from .....graph.graph import Record
from ...named_tuples import as_named_tuple, record_factory
from ...nesting import MOST_LEVELS
from ..one_run.block_refusals import refuse
from .made_classes import is_object

_HOLDS = (list, tuple, dict)


def is_named(thing: Any) -> bool:
    """Whether a thing is a tuple with named fields of a class of a block."""
    return isinstance(thing, tuple) and "__parts__" in vars(type(thing))


def left(found: Any) -> Any:
    """What a block gives, with a tuple of its fields for each dataclass and each tuple with named fields in it.

    Raises:
        RefusedError: an object holds itself, or others on too many levels.
    """
    return _Leaving().left(found) if _has_objects(found) else found


def _has_objects(found: Any) -> bool:
    waiting, seen = [found], set[int]()
    while waiting:
        each = waiting.pop()
        if is_object(each) or is_named(each):
            return True
        if type(each) in _HOLDS and id(each) not in seen:
            seen.add(id(each))
            waiting += each.values() if type(each) is dict else each
    return False


class _Leaving:
    """One result, whose parts are shared as they were."""

    def __init__(self) -> None:
        self.made = dict[int, Any]()
        self.kept = list[Any]()  # what has an id in `made` lives as long as that
        self.open = set[int]()

    def left(self, thing: Any) -> Any:
        """A thing, or what stands for it outside."""
        if type(thing) not in _HOLDS and not is_object(thing) and not is_named(thing):
            return thing
        if id(thing) in self.open or len(self.open) > MOST_LEVELS:
            refuse(
                "an object that a block of plain Python gives holds itself, or is nested too deeply",
                got=type(thing).__name__, expected=f"at most {MOST_LEVELS} levels",
            )  # fmt: skip
        if id(thing) not in self.made:
            self.open.add(id(thing))
            self.kept.append(thing)
            self.made[id(thing)] = self._made(thing)
            self.open.discard(id(thing))
        return self.made[id(thing)]

    def _made(self, thing: Any) -> Any:
        if type(thing) is dict:
            return {key: self.left(each) for key, each in thing.items()}
        if type(thing) in _HOLDS:
            return type(thing)(map(self.left, thing))
        fields = thing if is_named(thing) else as_named_tuple(thing)
        if fields is None:  # an object that is no dataclass, which is said where it is looked at
            return thing
        kind: Any = type(fields)
        return record_factory(Record(kind.__name__, tuple(kind._fields), ()))(*map(self.left, fields))
