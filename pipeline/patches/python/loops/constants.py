"""Loops over constants, such as ``[label for label in LABELS if label in text]``, that branch on what is recorded.

Python runs such a loop round by round, and each branch is guarded, or refused where data decides it. Where that
happens, another recording takes the constants for a list of the graph, so that the loop is one over a list of any
length, which goes both ways. Most loops over constants branch on nothing of the kind, and stay what they are; so does
one whose rounds do more than compute, since the graph's loop is recorded once for each way, not once for each item.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from .....ops.graph.types import SCALARS
from ....proxies.base import is_traced
from ....proxies.make import TracedOptional
from ....proxies.values.plain_objects import form_of, kind_of_constant
from ....recording.recorder import Recorder
from ...library.tables.table_rows import TableRows
from ..object_uses import keeps_objects
from ..purity import are_pure, is_pure
from .comprehensions import OWN_FUNCTIONS
from .leaving import Leavable

Key = tuple[str, int, str, int]
"""A loop, or a choice: the file, the first line and the name of the code that it stands in, and its place there."""


@dataclass
class LoopAttempt:
    """What one recording takes for a list of the graph, and what another one might.

    Attributes:
        looped: the loops whose constants are one.
        wanted: those that branched where that is guarded or refused.
        others: those that branched inside of a loop over a list of any length.
        running: the choices whose sides run, both ways: the last one is why a recording fails then.
        passed: whether a choice went both ways, or a loop was recorded: what is refused after it, another one could not
            reach.
        known: whether the rounds of a loop only compute, where no local variable can be called.
    """

    looped: frozenset[Key]
    wanted: set[Key] = field(default_factory=set)
    others: set[Key] = field(default_factory=set)
    running: list[Key] = field(default_factory=list)
    passed: bool = False
    known: dict[Key, bool] = field(default_factory=dict)

    def takes(self, frame: FrameType, key: Key, shown: frozenset[type]) -> bool:
        """Whether the loop that begins in a frame may be one of the graph; it goes through objects of some classes."""
        if any(map(callable, frame.f_locals.values())):
            return _only_computes(frame, shown)
        if key not in self.known:
            self.known[key] = _only_computes(frame, shown)
        return self.known[key]


_attempt: ContextVar[LoopAttempt | None] = ContextVar("attempt", default=None)


@contextmanager
def attempting(looped: frozenset[Key]) -> Iterator[LoopAttempt]:
    """While it is entered, recordings take the constants of some loops for lists of the graph."""
    attempt = LoopAttempt(looped)
    token = _attempt.set(attempt)
    try:
        yield attempt
    finally:
        _attempt.reset(token)


def goes_both_ways(key: Key) -> bool:
    """Whether the running attempt takes both ways at a choice whose sides may fail; else another attempt may."""
    attempt = _attempt.get()
    if attempt is None:
        return False
    if key in attempt.looped and key not in attempt.running:
        attempt.running.append(key)
        return True
    attempt.wanted.add(key)
    return False


def went_both_ways() -> None:
    """Takes note that all sides of a choice have run."""
    attempt = _attempt.get()
    if attempt is not None:
        attempt.running.pop()
        attempt.passed = True


@contextmanager
def running_sides(key: Key) -> Iterator[None]:
    """While it is entered, sides of a choice run for which `goes_both_ways` was asked before."""
    attempt = _attempt.get()
    if attempt is not None:
        attempt.running.append(key)
    yield  # an error leaves the key there: it is why the recording fails
    went_both_ways()


def went_through(loop: Any) -> None:
    """Takes note that a loop over constants was recorded as one of the graph."""
    attempt = _attempt.get()
    if attempt is not None and getattr(getattr(loop, "source", None), "constants", None) is not None:
        attempt.passed = True


class ConstantRounds:
    """The iterator of a loop over constants, which takes note of a branch in its rounds.

    Attributes:
        frame: the frame that asks for the items.
    """

    def __init__(self, recorder: Recorder, items: Any, key: Key, attempt: LoopAttempt) -> None:
        self.rounds, self.items, self.key, self.attempt = recorder.rounds, iter(items), key, attempt
        self.frame: FrameType | None = None
        self.rounds.plain.append(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.frame = sys._getframe(1)
        try:
            return next(self.items)
        except StopIteration:
            self.frame = None
            if self in self.rounds.plain:
                self.rounds.plain.remove(self)
            raise

    def branched(self) -> None:
        """Takes note of a branch."""
        (self.attempt.others if self.rounds.open else self.attempt.wanted).add(self.key)


def rounds_over(recorder: Recorder, items: Any, frame: FrameType) -> Any:
    """A list of the graph for the constants of a loop that shall be one, else what takes note of branches in it.

    Args:
        recorder: of the function.
        items: what the loop goes through.
        frame: of the code that begins the loop.
    """
    attempt = _attempt.get()
    found = None if attempt is None else _constants(items)
    if attempt is None or found is None:
        return items
    key = (frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_name, frame.f_lasti)
    form = form_of(found)
    if not attempt.takes(frame, key, frozenset() if form is None else form.classes):
        return items
    if key not in attempt.looped:
        return ConstantRounds(recorder, items, key, attempt)
    if form is not None:
        found = [form.plain(item) for item in found]
    made = recorder.scalar("list", found)
    made.sized_by, made.objects = lambda: len(found), form
    if type(items) is TableRows:
        items.left.clear()  # the loop has all of them
    made.constants = None if any(map(_is_of_recording, found)) else found
    return made


def _only_computes(frame: FrameType, shown: frozenset[type]) -> bool:
    """Whether the rounds of the loop that begins do nothing but compute: the graph runs them for each way only once.

    A loop of the frame's own changes lists that were made for it; else it is a comprehension, with code of its own.
    """
    known = ChainMap(frame.f_locals, frame.f_globals, vars(builtins))
    code = list(dis.get_instructions(frame.f_code))
    at = next(index for index, each in enumerate(code) if each.offset > frame.f_lasti and each.opname == "GET_ITER")
    head = next((each for each in code[at + 1 :] if each.opname in ("FOR_ITER", *_CALLS)), None)
    if head is not None and head.opname == "FOR_ITER":
        body = [each for each in code if head.offset < each.offset < head.argval]
        inlined = any(each.opname in _OF_COMPREHENSIONS for each in body)
        local = {} if inlined else frame.f_locals
        return keeps_objects(body, shown) and are_pure(body, known, local=local, shown=shown)
    inner = [each for each in frame.f_code.co_consts if isinstance(each, CodeType) and each.co_name in OWN_FUNCTIONS]
    kept = all(keeps_objects(list(dis.get_instructions(each)), shown) for each in inner)
    return bool(inner) and kept and all(is_pure(each, known, shown=shown) for each in inner)


_CALLS = ("PRECALL", "CALL", "CALL_FUNCTION")
_OF_COMPREHENSIONS = ("LIST_APPEND", "MAP_ADD", "SET_ADD")


MOST_CONSTANTS = 10_000
_SEQUENCES = (list, tuple, range, str)
_EMPTY: dict[str, str] = {}
_VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))


def _constants(items: Any) -> list[Any] | None:
    """The items of a plain container of numbers or texts that are alike, tuples of such, or objects; else None.

    Some of the numbers and texts may be of the recording, as in ``[part for part in (first, last) if part]``; but not
    those of an iterator, with which other code may go on.
    """
    found = _listed(items.items if isinstance(items, Leavable) else items)
    if not found or len(found) > MOST_CONSTANTS:
        return None
    if form_of(found) is not None:
        return found
    kinds = set(map(_kind if type(items) in (list, tuple, dict, *_VIEWS) else kind_of_constant, found))
    return found if len(kinds) == 1 and None not in kinds else None


def _kind(item: Any) -> Any:
    """The type of a number or a text, or those in a tuple of them: of constants, and of what is of the recording."""
    if type(item) is tuple and item:
        kinds = tuple(map(_kind, item))
        return None if None in kinds else kinds
    if not is_traced(item):
        return kind_of_constant(item)
    kind = type(item.concrete)
    return kind if kind in SCALARS and type(item) is not TracedOptional else None


def as_one_list(recorder: Recorder, items: Any) -> Any:
    """A list of the graph for a plain one whose numbers or texts are alike, some of them of the recording."""
    if type(items) not in (list, tuple) or not any(map(_is_of_recording, items)) or _constants(items) is None:
        return items
    return recorder.scalar("list", list(items))


def _is_of_recording(item: Any) -> bool:
    return any(map(_is_of_recording, item)) if type(item) is tuple else is_traced(item)


def _listed(items: Any) -> list[Any] | None:
    """The items of what can be gone through again; an iterator is asked what it would go through."""
    if type(items) in (*_SEQUENCES, dict, *_VIEWS):
        return list(items) if len(items) <= MOST_CONSTANTS else None
    if type(items) is TableRows:
        return list(items.left)
    if type(items) in _REVERSED:
        made, (given, *_), *begun = items.__reduce__()  # that of a dict or a range gives what is left of it
        if made is builtins.iter:
            return _listed(given) if begun in ([], [0], [None]) else None
        return list(given)[::-1] if begun == [len(given) - 1] else None
    if type(items) not in (enumerate, zip):
        return None
    _, given, *_ = items.__reduce__()
    lists = [_listed(_behind(each)) for each in (given[:1] if type(items) is enumerate else given)]
    if not lists or None in lists:
        return None
    pairs = zip(*lists, strict=False)
    return list(enumerate(lists[0] or (), given[1])) if type(items) is enumerate else list(pairs)


def _behind(iterator: Any) -> Any:
    """What an iterator goes through, where it has not begun; None for one of another kind."""
    if type(iterator) in (enumerate, zip, TableRows, *_REVERSED):
        return iterator
    if type(iterator) not in _ITERATORS:
        return None
    made, given, *begun = iterator.__reduce__()
    return given[0] if made is builtins.iter and begun in ([], [0]) else None


_REVERSED = (
    *map(type, (reversed([]), reversed(()), reversed(range(0)))),
    *map(type, (reversed(_EMPTY.keys()), reversed(_EMPTY.values()), reversed(_EMPTY.items()))),
)
_ITERATORS = (
    *map(type, (iter([]), iter(()), iter(range(0)), iter(""), iter("é"))),
    *map(type, (iter(_EMPTY.keys()), iter(_EMPTY.values()), iter(_EMPTY.items()))),
)
