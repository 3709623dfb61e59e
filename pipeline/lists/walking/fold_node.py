"""What a loop that carries values becomes, once all ways through its body are known: a `while_loop` node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.operators.names import FRESH, VIEW, effect
from ....ops.graph.traverse import leaves
from ....ops.graph.types import ANY, SCALARS, STRINGS, Type
from ....ops.runtime.placement import home_of
from ....ops.runtime.plan import Plan
from ...proxies.dicts import TracedDict
from ...proxies.lists import NESTED, TracedList
from ...proxies.make import marked, traced
from ...proxies.sets import TracedSet
from ...proxies.trees import concrete, list_type, own_copy, value_type
from ...proxies.values.changing import MOST_SHARED, Growing
from ...proxies.values.members import MemberForm
from ...recording.recorder import Recorder
from ..carried import Carried, keeps_keys, kind_of_carried
from ..loop import Loop
from ..ways import Tree, closed_graph


class FoldNode(Loop):
    """Such a loop, whose ways are put together.

    Args:
        recorder: the recording that it is part of.
        source: the list.

    Attributes:
        names: what it carries.
        sets: the places of sets, which it carries as dicts with their items as keys.
        given: the variables before the loop; start: the same, with stand-ins for lists that are read in it.
        carried: a value of the body for each; None for what no round changes.
        floats: the places of whole numbers that a round makes floats of.
        appends: for each list to which rounds only append, how many items those do.
        members: how members of an Enum stand in those, by their places.
    """

    def __init__(self, recorder: Recorder, source: TracedList) -> None:
        super().__init__(recorder, source)
        self.names, self.sets = Carried(), set[int]()
        self.given: tuple[Any, ...] = ()
        self.start: tuple[Any, ...] = ()
        self.carried: list[Value | None] = []
        self.floats: set[int] = set()
        self.appends: list[set[int]] = []
        self.members: dict[int, MemberForm | None] = {}

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
                if type(self.start[place]) is list and marked(result[place]):
                    continue  # no round reads it
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
                entry.handed_on = self.names.sharing(place) == MOST_SHARED
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
        if type(stand_in) is TracedList:
            stand_in.ends, stand_in.most = getattr(start, "ends", False), getattr(start, "most", None)
            stand_in.objects = self.members.get(place)
        if type(stand_in) is TracedList and any(marked(way.result[place]) for way in self.ways):
            stand_in.with_none, value.type = NESTED, ANY
        if isinstance(stand_in, Growing):
            stand_in.shared = max(self.names.sharing(place), stand_in.shared)  # a round may put one entry in twice
        if place in self.sets:
            stand_in = TracedSet(recorder, None, stand_in)
        if place in self.names.later:
            stand_in.grow()
        return value, stand_in
