"""A plain loop over a list of any length that hands values from one round to the next: it becomes a `while_loop`.

What the loop carries (a sum, a state, the item before, lists that it appends to) are the local variables that a round
reads before it stores them, and those that are read after the loop. Before each round the code hands them over to
`turn`, which gives stand-ins for them, and after the last one what the whole loop makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...ops.graph.graph import Graph, Guard, Node, Operator, Value
from ...ops.graph.operators.names import FRESH, VIEW, effect
from ...ops.graph.traverse import leaves
from ...ops.graph.types import ANY, SCALARS, STRINGS, ListType, Type
from ...ops.runtime.placement import home_of
from ...ops.runtime.plan import Plan
from ..proxies.base import is_traced
from ..proxies.dicts import TracedDict
from ..proxies.lists import WITH_NONE, Growing, TracedList
from ..proxies.make import TracedOptional, traced
from ..proxies.sets import TracedSet, dict_of, growable, table_of
from ..proxies.trees import concrete, is_array, list_type, own_copy, value_type
from ..proxies.values.known_values import constant_of
from ..proxies.values.library_value import LibraryValue
from ..recording.recorder import Recorder
from .carried import Carried, begun, keeps_keys, kind_of_carried
from .loop import Loop
from .walking.empty_lists import OrEmpty
from .ways import Tree, closed_graph


class Fold(Loop):
    """One loop that carries values, as an iterator that gives one item for each way through the body.

    Args:
        recorder: the recording that it is part of.
        source: the list.

    Attributes:
        names: what it carries.
        sets: the places of sets, which it carries as dicts with their items as keys.
        given: the variables before the loop; start: the same, with stand-ins for lists that are read in it.
        carried: a value of the body for each; None for what no round changes.
        floats: the places of whole numbers that a round makes floats of.
        unlike: what a round made another kind of value of, such as a tensor of the 0 that a sum begins with.
        apart: whether the first round was recorded by itself, since it makes another kind of value; or_empty: it was.
    """

    def __init__(self, recorder: Recorder, source: TracedList) -> None:
        super().__init__(recorder, source)
        self.names, self.sets = Carried(), set[int]()
        self.start: tuple[Any, ...] = ()
        self.carried: list[Value | None] = []
        self.handed: list[Any] = []
        self.floats: set[int] = set()
        self.unlike, self.apart = "", False
        self.or_empty: OrEmpty | None = None
        self.item: Any = None
        self.appends: list[set[int]] = []

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
            self.given, self.names = values, names or Carried()
            self.begin()
            if not self.apart and any(type(values[place]) is list and not values[place] for place in self.names.read):
                self.unlike = "an empty list"
                return self._first_apart()
            self.start = tuple(self._started(place) for place in range(len(values)))
            self.carried = [self._carried(value) for value in self.start]
            self.appends = [set() for _ in values]
        else:
            self._end_turn(values)
        if self.unlike:
            return self._first_apart()
        if not self.waiting and self._grows_floats():
            self.ways, self.waiting = [], [()]
        if not self.waiting:
            return (
                self._results() if self.or_empty is None else self.or_empty.joined(self._results(), self.names.unread)
            )
        for value in self.carried:
            self.recorder.rounds.left.pop(id(value), None)
        self.item = super().__next__()
        self.handed = [self._handed(place) for place in range(len(values))]
        return tuple(self.handed)

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
        if (made := constant_of(self.recorder, found)) is not None:
            return made
        reads = type(found) is list and (found or place in self.names.growing)
        return begun(self.recorder.scalar("list", found), found) if reads else found

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
        if value is None or type(start) is list:
            return start if value is None else []
        found = concrete(start)
        if isinstance(found, torch.Tensor):
            with torch._C.DisableTorchFunction(), recorder.within():
                found = found.clone()
            recorder.values.add(found, value, True)
            return found
        recorder.values.varying.add(id(value))
        if self.ways and isinstance(found, dict) and not found:
            found = concrete(self.ways[0].result[place])  # what an earlier round may have put in
        if type(start) is TracedList:
            return start.like(value, list(found)).grow()
        if issubclass(type(start), TracedDict):
            table = start.like(value, dict(found))
            return (TracedSet(recorder, None, table) if place in self.sets else table).grow()
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
                self.appends[place].add(len(values[place]))
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
        self.or_empty = OrEmpty(recorder, more, guard, self.given)
        self.item = self.part(source.value, 0, source.concrete[0], kind.item if isinstance(kind, ListType) else None)
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

    # -- the node ----------------------------------------------------------------------------------------------

    def _results(self) -> tuple[Any, ...]:
        """Writes the node; returns what the variables are after the loop."""
        recorder, item = self.recorder, self.value
        recorder.rounds.open.remove(self)
        self.closed = True
        assert item is not None
        self.ways.sort(key=lambda way: [not side for side in way.taken])
        own = [item, *(value for value in self.carried if value is not None)]
        inner = {id(leaf): leaf for leaf in [*own, *(leaf for way in self.ways for leaf in way.values())]}
        for key in inner:
            recorder.rounds.left.pop(key, None)
        changed = [place for place, value in enumerate(self.carried) if value is not None]
        for way in self.ways:
            way.output = recorder.output(tuple(way.result[place] for place in changed))
            self._check_kinds(way.result, changed)
        self._refuse_effects(inner)
        self._refuse_writes_to_captured()
        outer = self._outer(inner, self.ways)
        recorder.rounds.left |= inner
        tree = Tree(
            recorder, self.line, (*own, *outer), lambda nodes, found: closed_graph(nodes, found, (*own, *outer))
        )
        graphs = self._graphs(*tree.output(self.ways), own, outer)
        return self._written(graphs, changed, outer)

    def _refuse_writes_to_captured(self) -> None:
        """Refuses a body that writes, where the loop begins with a tensor from outside of the function."""
        tensors = [each for each in self.start if isinstance(each, torch.Tensor)]
        names = (node.target.name for way in self.ways for node in way.nodes if isinstance(node.target, Operator))
        if any(each not in self.recorder.values for each in tensors) and any(
            effect(n) not in (FRESH, VIEW) for n in names
        ):
            self._refuse("writes, and begins with a tensor from outside", "Begin with a copy: tensor.clone().")

    def _check_kinds(self, result: Sequence[Any], changed: Sequence[int]) -> None:
        """Refuses a round that makes another kind of value than it is given."""
        with torch._C.DisableTorchFunction():
            for place in changed:
                before, after = (kind_of_carried(each) for each in (self.start[place], result[place]))
                if before != after and not (place in self.floats and (before, after) == ("int", "float")):
                    self._refuse(f"turns a {before} into a {after}", f"Start with a {after}.")

    def _graphs(self, nodes: Sequence[Node], output: Any, own: Sequence[Value], outer: Sequence[Value]) -> list[Graph]:
        """The graphs of the condition and of the body, over a count, what is carried, the list, and other values."""
        count, items, length, more = (Value(SCALARS[int]), self.source.value, Value(SCALARS[int]), Value(SCALARS[bool]))
        inputs, following = (count, *own[1:], items, *outer), Value(SCALARS[int])

        def made(name: str, args: tuple[Any, ...], output: Value) -> Node:
            return Node(Operator(f"py.{name}"), args, {}, output, self.line, True)

        test = [made("len", (items,), length), made("lt", (count, length), more)]
        body = [made("getitem", (items, count), own[0]), *nodes, made("add", (count, 1), following)]
        return [closed_graph(test, (more,), inputs), closed_graph(body, (following, *output), inputs)]

    def _written(self, graphs: list[Graph], changed: Sequence[int], outer: list[Value]) -> tuple[Any, ...]:
        recorder = self.recorder
        start = [self.start[place] for place in changed]
        values = [leaf for leaf in leaves(recorder.arguments(start)) if isinstance(leaf, Value)]
        varies = self.source.varies or any(id(leaf) in recorder.values.varying for leaf in [*outer, *values])
        constants = [self.source.concrete, *(self._concrete(value) for value in outer)]
        with torch._C.DisableTorchFunction(), recorder.within():
            test, body = (Plan(graph, home=home_of(constants)) for graph in graphs)
            state: Any = (0, *map(own_copy, concrete(start)))
            while test.run([*state, *constants])[0]:
                state = body.run([*self.begun(state), *constants])
        found, outputs = list(self.start), [Value(SCALARS[int])]
        for place, result in zip(changed, state[1:], strict=True):
            value, found[place] = self._after(place, result, varies)
            outputs.append(value)
            if isinstance(self.start[place], torch.Tensor) and self.start[place] not in recorder.values:
                recorder.values.watch(found[place], self.line)  # it is that one where the list is empty
        args = (*graphs, (0, *recorder.arguments(start)), (self.source.value, *outer))
        recorder.nodes.append(Node(Operator("while_loop"), args, {}, tuple(outputs), self.line, True))
        return tuple(self._with_known_keys(place, each) for place, each in enumerate(found))

    def _with_known_keys(self, place: int, found: Any) -> Any:
        """A plain dict with the entries of one after the loop, where all rounds keep the keys that it had before."""
        before, value = self.given[place], self.carried[place]
        if type(before) is not dict or not before or any(type(key) is not str for key in before):
            return found
        if not all(keeps_keys(before, value, way.result[place].value, way.nodes) for way in self.ways):
            return found
        entries = {key: self.recorder.scalar("getitem", found, key) for key in before}
        for key, entry in entries.items():
            if type(entry) is TracedList and type(before[key]) is list and not before[key]:  # its items are alike
                entry.value.type = list_type(entry.concrete) or entry.value.type
            if isinstance(entry, Growing) and place in self.names.later:
                entry.grow()
        return entries

    def _after(self, place: int, result: Any, varies: bool) -> tuple[Value, Any]:
        """A value for what a variable is after the loop, and what the function gets for it."""
        recorder = self.recorder
        if isinstance(result, torch.Tensor):
            with torch._C.DisableTorchFunction(), recorder.within():
                return recorder.values.add(copy := result.clone(), varies=True), copy
        kind: Type = value_type(result)
        if type(result) is list:
            texts = bool(result) and all(type(item) is str for item in result)
            kind = STRINGS if texts else list_type(result) or ANY
        value, start = Value(kind), self.start[place]
        if varies:
            recorder.values.varying.add(id(value))
        stand_in = traced(recorder, value, result, varies)
        if issubclass(type(start), TracedDict):
            stand_in = start.like(value, result)
        if type(stand_in) is TracedList and self.appends[place] == {1}:
            stand_in.sized_by = self.source.length
        if place in self.sets:
            stand_in = TracedSet(recorder, None, stand_in)
        if place in self.names.later:
            stand_in.grow()
        return value, stand_in
