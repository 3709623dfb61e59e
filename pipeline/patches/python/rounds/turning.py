"""What runs where a loop begins, between two rounds of it, and where it is left."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import torch

from ....lists.carried import Carried
from ....lists.fold import Fold
from ....lists.loop import Loop
from ....lists.walking.condition_fold import ConditionFold, ConditionRounds
from ....lists.walking.iterators import ListIterator
from ....proxies.base import is_traced
from ....proxies.byte_strings import TracedBytes
from ...source.shared_parts import known_elsewhere
from ..loops.constants import goes_both_ways, went_both_ways
from ..loops.leaving import Leavable
from ..operations import HandedOver, active, iterator_of


def _leavable(items: Any) -> Any:
    listed = type(items) is ListIterator and items.of_generator and items.plain is None
    own = isinstance(items, torch.Tensor | TracedBytes) or is_traced(items) or listed
    return items if isinstance(items, ConditionRounds) or (own and active() is not None) else Leavable(items)


def _leave(iterator: Any) -> None:
    if isinstance(iterator, Leavable | ConditionRounds):
        iterator.left = True
    elif not isinstance(iterator, Loop):
        for _ in iterator:  # of a list whose length is fixed, or of the rows of a tensor
            pass


LEAVABLE, LEAVE = HandedOver(_leavable), HandedOver(_leave)
LEAVABLE.passes = True
"""What makes an iterable one that can be told to end, and what tells it."""


def _rounds(values: tuple[Any, ...]) -> ConditionRounds:
    """What a while loop goes through, which reads some values: it is one of the graph where that is wanted."""
    recorder = active()
    if recorder is None or not any(map(is_traced, values)):
        return ConditionRounds()
    frame = sys._getframe(2)
    key = (frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_name, frame.f_lasti)
    return ConditionRounds(recorder if goes_both_ways(key) else None)


ROUNDS = HandedOver(_rounds)
ROUNDS.keeps_nothing = True
"""What makes something to go through of what a while loop reads."""


def _folded(items: Any) -> Any:
    if isinstance(items, ConditionRounds) and items.recorder is not None:
        return ConditionFold(items.recorder)
    found = iterator_of(items)
    if type(found) is Loop and isinstance(items, Iterator) and _is_asked_elsewhere(items, sys._getframe(2)):
        what = "a loop of any length goes through an iterator that is asked elsewhere, too"
        found.recorder.refuse(what, "Go through a list of it: items = list(items).")
    return Fold(found.recorder, found.source) if type(found) is Loop else found


def _is_asked_elsewhere(items: Any, frame: FrameType) -> bool:
    """Whether code loads a variable that has an iterator more than once."""
    names = {name for name, thing in frame.f_locals.items() if thing is items}
    loads = [each for each in dis.get_instructions(frame.f_code) if each.opname.startswith("LOAD_")]
    return sum(each.argval in names for each in loads if isinstance(each.argval, str)) > 1


FOLDED = HandedOver(_folded)
"""What makes the iterator of a loop that carries values."""


def turning(carried: Carried) -> HandedOver:
    """What takes the iterator and the values that a loop carries before each round, and gives those of the round."""

    def turn(values: Any) -> Any:
        loop, *found = values
        if not isinstance(loop, Fold):
            return tuple(found)
        begins = loop.value is None
        known = known_elsewhere(carried.names, sys._getframe(2)) if begins else frozenset[int]()
        turned = loop.turn(tuple(found), replace(carried, known=known) if known else carried)
        if loop.closed and type(loop) is ConditionFold:
            went_both_ways()
        return turned

    return HandedOver(turn)
