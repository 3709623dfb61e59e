"""A plain loop over a list of any length that hands values from one round to the next: it becomes a `while_loop`.

What the loop carries (a sum, a state, the item before, lists that it appends to) are the local variables that a round
reads before it stores them, and those that are read after the loop. Before each round the code hands them over to
`turn`, which gives stand-ins for them, and after the last one what the whole loop makes of them.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from enum import Enum
from typing import Any

import torch

from ...ops.graph.graph import Guard, Value
from ...ops.graph.types import ANY, SCALARS, ListType
from ..proxies.base import is_traced
from ..proxies.dicts import TracedDict
from ..proxies.lists import NESTED, WITH_NONE, TracedList
from ..proxies.make import TracedOptional, marked, traced
from ..proxies.sets import TracedSet, dict_of, growable, table_of
from ..proxies.trees import concrete, is_array, own_copy, value_type
from ..proxies.values.changing import Growing
from ..proxies.values.known_values import constant_of
from ..proxies.values.library_value import LibraryValue
from ..proxies.values.made_objects import form_of_results
from ..recording.recorder import Recorder
from .carried import Carried, begun, kind_of_carried
from .walking.empty_lists import OrEmpty, ShowingRound
from .walking.fold_node import FoldNode
from .walking.laid_out import OF_TUPLE
from .walking.variable_parts import VariableParts


class Fold(FoldNode):
    """One loop that carries values, as an iterator that gives one item for each way through the body.

    Args:
        recorder: the recording that it is part of.
        source: the list.

    Attributes:
        packing: how the variables are laid out.
        handed: what the round got for each part.
        guessed: whether a round took a dict for empty; filled: what other rounds put into dicts, by place.
        unlike: what a round made another kind of value of, such as a tensor of the 0 that a sum begins with.
        apart: whether the first round was recorded by itself, since it makes another kind of value; or_empty: it was.
    """

    def __init__(self, recorder: Recorder, source: TracedList) -> None:
        super().__init__(recorder, source)
        self.handed: list[Any] = []
        self.guessed, self.filled = False, dict[int, Any]()
        self.unlike, self.apart = "", False
        self.or_empty: OrEmpty | None = None
        self.item: Any = None
        self.trial = ShowingRound(recorder)

    def __next__(self) -> Any:
        if self.closed:
            raise StopIteration
        return self.item

    def turn(self, values: tuple[Any, ...], names: Carried | None = None) -> tuple[Any, ...]:
        """What the variables are in the round that follows, or after the loop.

        Args:
            values: what they are after the round before it, or before the loop.
            names: what is known of them.
        """
        if self.value is None:
            self.packing = VariableParts(self.recorder, values, names or Carried())
        elif self.packing.grows(values, self._has_others()):
            values = self._begun_anew()
        elif unlike := self.packing.unlike(values):
            before, after = map(kind_of_carried, unlike)
            if type(unlike[0]) is type(unlike[1]) is tuple:
                self._refuse("carries a tuple that has other parts in other rounds", OF_TUPLE)
            self._refuse(f"turns a {before} into a {after}", f"Start with a {after}.")
        turned = self._turned(self.packing.flat(values))
        return self.packing.packed(turned, None if self.closed else self.decide)

    def _has_others(self) -> bool:
        """Whether rounds other than this one may make other things of what is carried."""
        return self.apart or bool(self.way and self.way.steps)

    def _begun_anew(self) -> tuple[Any, ...]:
        """Forgets the rounds, for others with more in what they carry; returns the variables before the loop."""
        self.end_round()
        self.recorder.rounds.open.remove(self)
        self.ways, self.waiting, self.value, self.floats = [], [()], None, set()
        return self.packing.given

    def _turned(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As `turn`, of what the variables are laid out as."""
        if self.value is None:
            self.given, self.names = values, self.packing.flat_names()
            self.sets, self.filled, self.members = set(), {}, {}
            self.begin()
            self.trial = ShowingRound(self.recorder, () if self.apart else self.names.read, values)
            self.start = tuple(self._started(place) for place in range(len(values)))
            self.carried = [self._carried(value) for value in self.start]
            self.appends = [set() for _ in values]
        elif self.trial.goes_on:
            shown = self.trial.shows(values, self.way, len(self.source.concrete))
            self.unlike = "" if shown or self.trial.goes_on else "an empty list"
            self.end_round()
            self.ways, self.waiting = [], [()]
        else:
            self._end_turn(values)
        if self.unlike:
            return self._first_apart()
        if not self.waiting and (self._grows_floats() or self._holds_nones() or self._has_guessed()):
            self.ways, self.waiting = [], [()]
        if not self.waiting:
            found = self._results()
            laid_out = self.packing.loosely
            return found if self.or_empty is None else self.or_empty.joined(found, self.names.unread, laid_out)
        for value in self.carried:
            self.recorder.rounds.left.pop(id(value), None)
        self.item = super().__next__()
        self.handed = [self._handed(place) for place in range(len(values))]
        return tuple(self.handed)

    def _example(self, given: tuple[bool, ...]) -> Any:
        items, place = self._shown(), self.trial.count
        return items[place] if self.trial.goes_on and not given else super()._example(given)

    def _started(self, place: int) -> Any:
        """What a variable is before the loop: a stand-in of a container that is read in it, or that has items."""
        found = self.given[place]
        if type(found) is TracedOptional:
            self._refuse("carries a value that may be None", "Choose what stands for None before: label or ''.")
        if isinstance(found, set):
            self.sets.add(place)
            return table_of(self.recorder, found)
        if isinstance(found, dict):
            return dict_of(self.recorder, found)
        if isinstance(found, deque):
            made = begun(self.recorder.scalar("list", list(found)), list(found))
            made.ends, made.most = True, found.maxlen
            return made
        if (made := constant_of(self.recorder, found)) is not None:
            return made
        if type(found) is not list or not (found or place in self.names.growing):
            return found
        plain = self._without_objects(place, found)
        made = begun(self.recorder.scalar("list", plain), found)
        made.objects = self.members.get(place)
        return made

    def _carried(self, value: Any) -> Value | None:
        """A value of the body for what a variable is before the loop."""
        if type(value) is TracedList or issubclass(type(value), TracedDict | LibraryValue):
            return Value(ANY)
        plain = concrete(value)
        if is_array(plain):
            return Value(value_type(plain))
        if type(plain) is list and not plain and not is_traced(value):
            return Value(ANY)
        return Value(SCALARS[type(plain)]) if type(plain) in SCALARS else None

    def _handed(self, place: int) -> Any:
        """What a round gets for a variable: a new list for one that it appends to."""
        start, value, recorder = self.start[place], self.carried[place], self.recorder
        if self.trial.goes_on and place in self.trial.places:
            return copy(self.given[place])
        if value is None or type(start) is list:
            return start if value is None else []
        found = concrete(start)
        if isinstance(found, torch.Tensor):
            with torch._C.DisableTorchFunction(), recorder.within():
                found = found.clone()
            recorder.values.add(found, value, True)
            return found
        recorder.values.varying.add(id(value))
        if self.packing.samples[place] is not ...:
            found = self.packing.samples[place]
        if place in self.trial.found:
            found = self.trial.found[place]
        if isinstance(found, dict) and not found:
            found = self.filled.get(place) or self._filled(place)
        if type(start) is TracedList:
            items = start.like(value, list(found))
            items.shared = max(items.shared, self.names.sharing(place))
            items.handed_on = items.handed_on or place in self.names.known
            return items.grow() if self.packing.holds_whole(place) else items
        if issubclass(type(start), TracedDict):
            table = start.like(value, dict(found))
            table.shared = max(table.shared, self.names.sharing(place))
            table.handed_on = table.handed_on or place in self.names.known
            made = TracedSet(recorder, None, table) if place in self.sets else table
            made.handed_on = table.handed_on
            return made.grow() if self.packing.holds_whole(place) else made
        return traced(recorder, value, float(found) if place in self.floats else own_copy(found), True)

    def _end_turn(self, values: tuple[Any, ...]) -> None:
        """Ends a round, with what the variables are after it."""
        way, found = self.way, list(values)
        assert way is not None
        for place, value in enumerate(self.carried):
            if value is None:
                if values[place] is not self.handed[place]:
                    self._meets_unlike(place)
            elif type(self.start[place]) is list:
                if values[place] is not self.handed[place]:
                    self._refuse("carries another list than it began with", "Only append to it.")
                shared = place in self.names.shared and not self.packing.holds_whole(place)
                if values[place] and (shared or place in self.names.known):
                    self._refuse("appends to a list that has another name", "Give it the one name alone.")
                self.appends[place].add(len(values[place]))
                values = (*values[:place], self._without_objects(place, values[place]), *values[place + 1 :])
                old = TracedList(self.recorder, value, [], True)
                found[place] = self.recorder.scalar("cat_strings", old, values[place]) if values[place] else old
            elif type(self.start[place]) is TracedList or issubclass(type(self.start[place]), TracedDict):
                found[place] = self._grown(place, values[place])
            elif not self.apart and is_array(concrete(values[place])) and not is_array(concrete(self.start[place])):
                self._meets_unlike(place)
        way.result = tuple(found)
        self.end_round()
        for value in self.carried:
            if value is not None:
                self.recorder.rounds.left[id(value)] = value

    def _without_objects(self, place: int, items: list[Any]) -> list[Any]:
        """The items of a list, with what stands for members of an Enum and other objects."""
        if not items:
            return items
        own = form_of_results(self.recorder, items)
        form = self.members.setdefault(place, own)
        if getattr(own, "kind", None) is not getattr(form, "kind", None):
            kind: Any = getattr(own or form, "kind", type)
            what = "a member of an Enum" if issubclass(kind, Enum) else f"a {kind.__name__}"
            self._refuse(f"appends {what} in some rounds", "Append its name: items.append(member.name).")
        return items if form is None else [form.plain(item) for item in items]

    def _grown(self, place: int, value: Any) -> Any:
        """What a container that is read in the loop is after a round."""
        if place in self.sets and isinstance(value, set):
            value = table_of(self.recorder, value)
        if type(value) is list:
            return self.recorder.scalar("list", value)
        if type(value) is dict:
            return dict_of(self.recorder, value)
        if isinstance(value, Growing):
            value.loop = None
        if type(value) is TracedList and value.objects is not None:
            self.members.setdefault(place, value.objects)
            return value.as_it_is()
        return value

    def _meets_unlike(self, place: int) -> None:
        """Takes note of a variable that begins as what no loop carries, such as None.

        Raises:
            RecordError: the first round is apart already, or branches beside a list.
        """
        start = self.start[place]
        self.unlike = type(start).__name__ if start is not None else "None"
        branches = self.way is not None and bool(self.way.steps)
        if self.apart or (branches and any(type(each) is list for each in self.given)):
            if type(start) in SCALARS:
                self._refuse(f"begins as a {self.unlike}, of which it makes a tensor", "Start with torch.zeros(()).")
            if isinstance(start, bytes):
                self._refuse("carries bytes", 'Write b"".join([part for part in parts]).')
            of_tuple = "Carry its parts, or start with a list, [], and add to it: items += [item]."
            form = of_tuple if type(start) is tuple else "Start with a number, a text or a tensor."
            self._refuse(f"carries a {type(start).__name__}", form)

    def _first_apart(self) -> tuple[Any, ...]:
        """Records the first round by itself, on the first item; the loop is that over the rest.

        Raises:
            RecordError: the example has one item only.
        """
        recorder, source, found = self.recorder, self.source, self.unlike
        recorder.rounds.open.remove(self)
        if source.with_none is not None:
            recorder.refuse(WITH_NONE, "Choose what stands for None before: [label or 'none' for label in labels].")
        if len(source.concrete) < 2:
            self._refuse(f"carries what begins as {found}", "Trace with a list of two items at least.")
        self.ways, self.waiting, self.value = [], [()], None
        self.floats, self.unlike, self.apart = set(), "", True
        more, kind = recorder.scalar("gt", source.length(), 0), source.value.type
        guard = Guard(True, f"the list is empty, and what the loop carries begins as {found}")
        self.or_empty = OrEmpty(recorder, more, guard, self.packing.given)
        item = self.part(source.value, 0, source.concrete[0], kind.item if isinstance(kind, ListType) else None)
        self.item = item if source.objects is None else source.objects(item)
        self.source = recorder.scalar("getitem", source, slice(1, None))
        return tuple(growable(recorder, each) for each in self.given)

    def _grows_floats(self) -> bool:
        """Whether a round made floats of whole numbers with which the loop begins: it is recorded anew for these."""
        found = {
            place
            for way in self.ways
            for place, result in enumerate(way.result)
            if type(concrete(self.start[place])) is int and type(concrete(result)) is float
        }
        fresh, self.floats = found - self.floats, self.floats | found
        for place in fresh:
            self.carried[place] = Value(SCALARS[float])
        return bool(fresh)

    def may_guess(self) -> bool:
        """As for a loop: only once."""
        self.guessed = True
        return not self.filled

    def _has_guessed(self) -> bool:
        """Whether rounds took a dict for empty, which others filled: they are recorded anew."""
        if not self.guessed or self.filled:
            return False
        self.filled = {place: self._filled(place) for place in range(len(self.start))}
        return True

    def _filled(self, place: int) -> Any:
        """What earlier rounds have put into a dict, by one that did."""
        found = [concrete(way.result[place]) for way in self.ways]
        return next((each for each in found if each), {}) if isinstance(concrete(self.start[place]), dict) else {}

    def _holds_nones(self) -> bool:
        """Whether a round puts None into a container that rounds may read: they are recorded anew, as those of such."""
        found = {place for way in self.ways for place, result in enumerate(way.result) if marked(result)}
        fresh = {place for place in found if is_traced(self.start[place]) and not marked(self.start[place])}
        for place in fresh:
            self.start[place].with_none = NESTED
        return bool(fresh)
