"""Containers of one name that the code of a recording changes in place: they become other values."""

from __future__ import annotations

from typing import Any

from ....ops.tracing_hook import current
from ..tracer import Tracer

CHANGE = "Build a new one: [*items, item] or a list comprehension."


MOST_SHARED = 2
"""Says of a container that containers among its items have other names, so that no loop changes them."""


class PlaceOfEntry:
    """Where a container is an entry of a dict, or an item of a list, that the code changes.

    Args:
        owner: the dict or the list.
        key: under which the entry is.
    """

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key, self.seen = owner, key, owner.value

    def check(self) -> None:
        """Refuses a change of the entry after one of its owner."""
        if self.owner.value is not self.seen:
            self.owner.tracer.refuse("an entry of a container is changed after the container", CHANGE)

    def put(self, entry: Any) -> None:
        """Puts what the entry has become there."""
        self.owner.meet(entry)
        self.owner[self.key] = entry
        self.seen = self.owner.value


class Growing:
    """A container of one name, which the code that runs may change: it becomes another value then.

    Attributes:
        tracer: of the recording.
        loop: the innermost loop of the code that may change it, False where that is in none; None where none may.
        place: where it is an entry; None where it is none.
        shared: 2 where containers among its items have other names, so that no loop changes them; 1 where some in
            them do.
        handed_on: whether it may be one that other code knows: a side of a choice gives it, or it has another name
            before a loop. None may change it then.
    """

    tracer: Tracer
    loop: Any = None
    handed_on = False
    place: PlaceOfEntry | None = None
    shared: int = 0

    def grow(self) -> Any:
        """The container itself, which the code that runs now may change."""
        loops = self.tracer.rounds.open
        if not self.handed_on:
            self.loop = loops[-1] if loops else False
        return self

    def enter(self, owner: Growing, key: Any) -> None:
        """Takes note that it is an entry of another container, which changes with it where the code may change that."""
        if owner.loop is None:
            return
        if owner.shared == MOST_SHARED:  # another name may have it
            self.handed_on = True
            return
        self.loop, self.place, self.shared = owner.loop, PlaceOfEntry(owner, key), MOST_SHARED * bool(owner.shared)

    def meet(self, entry: Any) -> None:
        """Takes note of what an entry has become."""

    def refuse_known(self, what: str) -> None:
        """Refuses a change by an operator of what other code may know."""
        if self.handed_on:
            self.tracer.refuse(f"a {what} that may have another name cannot be changed", CHANGE)

    def allow_change(self, what: str) -> None:
        """Refuses a change by other code than that which may make one."""
        if self.place is not None:
            self.place.check()
        tracer, loops = self.tracer, self.tracer.rounds.open
        running: object = current()
        if running is not tracer or (loops[-1] if loops else False) is not self.loop:
            tracer.refuse(f"a {what} that was made outside of a loop or a branch is changed in it", CHANGE)
