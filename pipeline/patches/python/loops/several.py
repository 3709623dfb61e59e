"""Comprehensions with several `for`, as ``[word for text in texts for word in text.split()]``.

Each `for` over a list of any length is a loop of its own. A loop inside of another one gives its results to it as one
list, so that the outer one has a list of lists, whose items it joins at the end. Python's own container or generator
gets the results, too, and nobody reads them there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

from ....lists.loop import Loop
from ....lists.ways import Way
from ....proxies.lists import TracedList
from ....recording.recorder import Recorder
from .comprehensions import LoopPlace
from .constants import ConstantRounds


@dataclass(frozen=True)
class _Several:
    """The results of an inner loop among those of the loop around it."""

    items: TracedList


class NestedLoop(Loop):
    """A loop over a list of any length, of a comprehension with several.

    Attributes:
        noted: what its rounds gave.
        joins: whether a round may give another number of results than one or none.
    """

    def __init__(self, recorder: Recorder, source: TracedList, place: LoopPlace) -> None:
        self.noted: list[Any] = []
        super().__init__(recorder, source, place, into=self.noted)
        self.joins = False

    def __next__(self) -> Any:
        frame = sys._getframe(1)
        try:
            item = super().__next__()
        except StopIteration:
            if self.place.number:
                note(self.recorder, _Several(self.gathered([])), self.place, frame)
            raise
        self.frame = frame
        return item

    def gathered(self, results: Sequence[Any]) -> TracedList:
        """The list of what its rounds gave; what Python's own container holds is none of it."""
        found = super().gathered(self.noted)
        joined: TracedList = self.recorder.scalar("total", found, []) if self.joins else found
        return joined

    def _hand_out(self, results: Sequence[Any]) -> None:
        ends = [0, *(way.filled for way in self.ways)]
        parts = [list(results[start:end]) for start, end in pairwise(ends)]
        self.joins = any(len(some) > 1 or any(type(part) is _Several for part in some) for some in parts)
        if not self.joins:
            super()._hand_out(results)
            return
        for way, some in zip(self.ways, parts, strict=True):
            way.result = some

    def _list_results(self, kept: list[Way]) -> None:
        if not self.joins:
            super()._list_results(kept)
            return
        nodes = self.recorder.nodes
        for way in kept:
            mark = len(nodes)
            way.result = _joined(self.recorder, way.result)
            way.nodes += nodes[mark:]
            del nodes[mark:]


class PlainFor:
    """The outermost loop of a comprehension with several, where Python runs it.

    Attributes:
        frame: that asks for the items.
        noted: what the rounds gave.
    """

    def __init__(self, recorder: Recorder, items: Any, place: LoopPlace) -> None:
        self.recorder, self.place, self.iterator = recorder, place, iter(items)
        self.frame: FrameType | None = None
        self.noted: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        rounds = self.recorder.rounds
        if self.frame is None:
            self.frame = sys._getframe(1)
            rounds.nested.append(self)
        try:
            item = next(self.iterator)
        except StopIteration:
            if any(type(each) is _Several for each in self.noted):
                rounds.closing = self
            else:
                self.end()
            raise
        if isinstance(self.iterator, ConstantRounds):
            self.iterator.frame = self.frame
        return item

    def end(self) -> None:
        """Forgets the frame, which is over."""
        if self in self.recorder.rounds.nested:
            self.recorder.rounds.nested.remove(self)
        self.frame = None

    def gathered(self, results: Sequence[Any]) -> TracedList:
        """The list of what the rounds gave."""
        self.recorder.rounds.closing = None
        self.end()
        return _joined(self.recorder, self.noted)


def _joined(recorder: Recorder, parts: Sequence[Any]) -> TracedList:
    """One list of results, and of lists of them."""
    lists = [part.items if type(part) is _Several else [part] for part in parts]
    found: TracedList = recorder.scalar("list", lists[0] if lists else [])
    for more in lists[1:]:
        found = recorder.scalar("cat_strings", found, more)
    return found


def begun(recorder: Recorder, items: Any, place: LoopPlace) -> Any:
    """The iterator of a loop of a comprehension with several."""
    if type(items) is TracedList:
        return NestedLoop(recorder, items, place)
    return items if place.number else PlainFor(recorder, items, place)


def note(recorder: Recorder, result: Any, place: LoopPlace, frame: FrameType) -> None:
    """Takes note of a result of a comprehension in the innermost loop of it that goes on."""
    for loop in [*reversed(recorder.rounds.open), *reversed(recorder.rounds.nested)]:
        known = isinstance(loop, NestedLoop | PlainFor) and not getattr(loop, "closed", False)
        if known and loop.frame is frame and loop.place.comprehension == place.comprehension:
            loop.noted.append(result)
            return
    if isinstance(result, _Several):
        what = "a comprehension with several `for` goes through a list that the recording does not know"
        recorder.refuse(what, "Write plain loops, one in the other, that append to a list.")
