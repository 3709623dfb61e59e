"""A loop over a list of any length: its body runs once while it is recorded, on the first item, and becomes a `map`.

A comprehension asks the list for an iterator. That gives one stand-in for an item, and ends when it is asked again: the
nodes that were recorded in between are cut out of the recording and become the body of a `map` node, whose constants
are the values from outside that they use. A filter of the comprehension becomes the test of the node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.operators.names import FRESH, VIEW, effect
from ...ops.graph.traverse import leaves, map_leaves, subgraphs, uses
from ...ops.graph.types import ANY, SCALARS, STRINGS, ListType, Type
from ...ops.graph.verify import verify
from ...ops.runtime.plan import Plan
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..proxies.make import traced
from ..proxies.trees import list_type, tensor_type
from ..recheck.prune import prune
from ..recording.recorder import Recorder


class Loop:
    """One loop over a list of any length, as an iterator that gives one item.

    Args:
        recorder: the recording that it is part of.
        source: the list.
        place: which comprehension of its code it is; None where the code holds one only.

    Attributes:
        frame: the frame that asked for the item, that of the comprehension.
    """

    def __init__(self, recorder: Recorder, source: TracedList, place: int | None = None) -> None:
        self.place = place
        self.frame: FrameType | None = None
        self.recorder, self.source, self.line = recorder, source, user_line()
        self.value: Value | None = None
        self.mark = 0
        self.tests: list[tuple[Any, int]] = []
        self.nodes: list[Node] = []
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.value is not None:
            self.close()
            raise StopIteration
        if not self.source.concrete:
            self.recorder.refuse(
                "the example of a list is empty, so that nothing shows what is done to an item",
                "Trace with a list of one item at least.",
            )
        self.recorder.rounds.open.append(self)
        self.frame = sys._getframe(1)
        self.mark = len(self.recorder.nodes)
        item = self.source.concrete[0]
        self.value = Value(_type(item))
        kind = self.source.value.type
        return self.stand_in(self.value, item, kind.item if isinstance(kind, ListType) else None)

    def stand_in(self, value: Value, item: Any, kind: Any) -> Any:
        """What the function gets for an item; one that is known to be a record has the keys of its type."""
        recorder, varies = self.recorder, self.source.varies
        if isinstance(item, torch.Tensor):
            with torch._C.DisableTorchFunction():
                item = item.clone()
            recorder.values.add(item, value, True)
            return item
        if varies:
            recorder.values.varying.add(id(value))
        if isinstance(item, tuple):
            kinds = kind if isinstance(kind, tuple) else [None] * len(item)
            return tuple(self.part(value, index, *pair) for index, pair in enumerate(zip(item, kinds, strict=True)))
        if type(item) is dict and isinstance(kind, dict):
            return {key: self.part(value, key, part, kind[key]) for key, part in item.items()}
        found = traced(recorder, value, item, varies)
        if found is None:
            recorder.refuse(
                f"an item of a list is a {type(item).__name__}, which a loop cannot take",
                "Keep tensors, numbers and texts in the list.",
            )
        return found

    def part(self, value: Value, key: Any, item: Any, kind: Any) -> Any:
        """What the function gets for a part of an item that is a tuple or a record."""
        found = Value(kind if isinstance(kind, ListType) else _type(item))
        node = Node(Operator("py.getitem"), (value, key), {}, found, self.line, self.source.varies)
        self.recorder.nodes.append(node)
        return self.stand_in(found, item, kind)

    def filter(self, condition: Any) -> None:
        """Takes a condition of the comprehension as a test of the loop; tests are made one by one, as Python does."""
        self.tests.append((condition, len(self.recorder.nodes)))

    def close(self) -> None:
        """Ends the round, and cuts its nodes out of the recording."""
        nodes = self.recorder.nodes
        self.nodes, self.closed = nodes[self.mark :], True
        del nodes[self.mark :]
        self.recorder.rounds.closing = self
        made = (leaf for node in self.nodes for leaf in leaves(node.output) if leaf is not None)
        for value in [self.value, *made]:
            self.recorder.rounds.left[id(value)] = value

    # -- the node ----------------------------------------------------------------------------------------------

    def gathered(self, result: Any) -> TracedList:
        """The list of what the body gives for each item.

        Args:
            result: what it gave for the stand-in.
        """
        recorder = self.recorder
        recorder.rounds.open.remove(self)
        self.frame = None
        recorder.rounds.closing = None
        assert self.value is not None
        inner = {id(self.value): self.value}
        inner |= {id(leaf): leaf for node in self.nodes for leaf in leaves(node.output) if leaf is not None}
        for key in inner:
            recorder.rounds.left.pop(key, None)
        output = recorder.output(result)
        tests = [(recorder.arguments(condition), count - self.mark) for condition, count in self.tests]
        for key, value in inner.items():
            recorder.rounds.left[key] = value
        self._refuse_effects(inner)
        outer = self._outer(inner, [*leaves(output), *(test for test, _ in tests)])
        graphs = [self._graph(self.nodes, output, outer)]
        graphs += [self._graph(self.nodes[:count], test, outer) for test, count in tests]
        return self._node(graphs, outer, output)

    def _outer(self, inner: dict[int, Any], outputs: list[Any]) -> list[Value]:
        used = [*(leaf for node in self.nodes for leaf in uses(node)), *outputs]
        found = {id(leaf): leaf for leaf in used if isinstance(leaf, Value) and id(leaf) not in inner}
        return list(found.values())

    def _graph(self, nodes: list[Node], output: Any, outer: list[Value]) -> Graph:
        """The closed graph of the body or of the test, over values of its own."""
        assert self.value is not None
        known: dict[int, Any] = {}

        def made(leaf: Any) -> Any:
            if isinstance(leaf, Value):
                known[id(leaf)] = Value(leaf.type)
                return known[id(leaf)]
            return leaf

        def used(leaf: Any) -> Any:
            return known.get(id(leaf), leaf) if isinstance(leaf, Value) else leaf

        inputs = tuple(made(value) for value in (self.value, *outer))
        copies = []
        for node in nodes:
            args, kwargs = map_leaves(used, node.args), map_leaves(used, node.kwargs)
            copies.append(Node(node.target, args, kwargs, map_leaves(made, node.output), node.line, True))
        graph = prune(Graph(inputs, tuple(copies), map_leaves(used, output)))
        verify(graph)
        return graph

    def _node(self, graphs: list[Graph], outer: list[Value], output: Any) -> TracedList:
        recorder, source = self.recorder, self.source
        constants = [self._concrete(value) for value in outer]
        with torch._C.DisableTorchFunction(), recorder.within():
            body, *tests = [Plan(graph) for graph in graphs]
            items = [item for item in source.concrete if all(test.run([item, *constants]) for test in tests)]
            found = [body.run([item, *constants]) for item in items]
        texts = bool(found) and all(type(item) is str for item in found)
        value = Value(STRINGS if texts else _list_of(output, found))
        varies = (
            source.varies or bool(graphs[1:]) or any(id(leaf) in recorder.values.varying for leaf in leaves(output))
        )
        if varies:
            recorder.values.varying.add(id(value))
        args = (graphs[0], (source.value,), tuple(outer), *graphs[1:])
        recorder.nodes.append(Node(Operator("map"), args, {}, value, self.line, True))
        made = TracedList(recorder, value, found, varies)
        if not graphs[1:]:
            made.sized_by = source.length
        return made

    def _concrete(self, value: Value) -> Any:
        """What a value of the recording was on the example."""
        if id(value) in self.recorder.examples:
            return self.recorder.examples[id(value)].concrete
        found = self.recorder.values.example(value)
        if found is None:
            self._refuse("is inside of a branch", "Loop before tracepack.cond, and pass it the list.")
        return found

    def _refuse_effects(self, inner: dict[int, Any]) -> None:
        """Refuses a body that draws random numbers, or writes to what is not its own."""
        for node in self.nodes:
            if not isinstance(node.target, Operator):
                continue
            name = node.target.name
            own = all(id(leaf) in inner for leaf in leaves(node.args[:1]) if isinstance(leaf, Value))
            if name in ("py.draw", "py.generator"):
                self._refuse("draws random numbers", "Draw them before the loop.")
            if effect(name) not in (FRESH, VIEW) and not own:
                self._refuse("writes to a tensor from outside of it", "Return the new value instead.")
            assert not any(True for _ in subgraphs(node)) or name in ("cond", "while_loop", "map")

    def _refuse(self, what: str, fix: str) -> None:
        self.recorder.refuse(f"a loop over a list of any length {what}", fix)


def _type(item: Any) -> Type:
    if isinstance(item, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return tensor_type(item)
    if isinstance(item, list) and item and all(type(each) is str for each in item):
        return STRINGS
    return SCALARS.get(type(item), ANY)


def _list_of(output: Any, found: list[Any]) -> Type:
    """The type of the list of a loop's results: the containers of each stand in the loop's body, so they are alike."""
    return (list_type(found) if isinstance(output, dict | tuple) else None) or ANY


def collected(recorder: Recorder, items: Any) -> Any:
    """A list of what an iterable gives: of any length where it goes through a list of any length."""
    if is_traced(items):
        return items
    recorder.rounds.closing = None
    found = list(items)
    loop = recorder.rounds.closing
    if loop is None:
        return found
    if len(found) != 1 or not isinstance(loop, Loop):
        return recorder.refuse(
            "a loop over a list of any length gives another number of values than one for each item",
            "Write a list comprehension with one `for`.",
        )
    return loop.gathered(found[0])
