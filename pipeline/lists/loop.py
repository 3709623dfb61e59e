"""A loop over a list of any length: its body is recorded on the first item, and becomes a `map`.

A comprehension asks the list for an iterator. That gives one stand-in for an item, and ends when it is asked again: the
nodes that were recorded in between are cut out of the recording and become the body of a `map` node, whose constants
are the values from outside that they use. A filter of the comprehension becomes the test of the node. Where the body
branches, the iterator gives the stand-in once for each way through it; the ways become the branches of `cond` nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import torch

from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.operators.names import DRAWING, FRESH, VIEW, effect
from ...ops.graph.traverse import leaves, subgraphs, uses
from ...ops.graph.types import ANY, STRINGS, ListType
from ...ops.runtime.placement import home_of
from ...ops.runtime.plan import Plan
from ...ops.runtime.user_code import user_line
from ..proxies.lists import CHOOSE_BEGIN, NESTED, WITH_NONE, TracedList
from ..proxies.make import TracedOptional, traced
from ..proxies.trees import same_container, value_type
from ..proxies.values.made_objects import form_of_results
from ..recording.recorder import Recorder
from ..rules.advice.draws_in_loops import form_of_draw
from ..rules.gradients import end_grad_mode, follow_grad_mode
from .walking.reached import RoundsReach
from .walking.uneven import uneven, with_lists
from .ways import EMPTY, MOST_WAYS, Fork, Tree, Way, closed_graph, from_outside, list_of_results, samples_of


class Loop:
    """One loop over a list of any length, as an iterator that gives one item for each way through the body.

    Args:
        recorder: the recording that it is part of.
        source: the list.
        place: where it stands in its code.
        into: the list to which its rounds append; None for a comprehension, whose rounds give one result each.

    Attributes:
        frame: the frame that asked for the item, that of the comprehension.
        given: what it carries, as it is before the loop; reached: what its rounds must not change.
        ways: the ways through the body, one for each round that is over.
    """

    def __init__(self, recorder: Recorder, source: TracedList, place: Any = None, into: Any = None) -> None:
        self.place: Any = place
        self.into: list[Any] | None = into
        self.frame: FrameType | None = None
        self.given: tuple[Any, ...] = ()
        self.reached: RoundsReach | None = None
        self.recorder, self.source, self.line = recorder, source.within(recorder), user_line()
        self.value: Value | None = None
        self.ways: list[Way] = []
        self.waiting: list[tuple[bool, ...]] = [()]
        self.way: Way | None = None
        self.mark, self.closed, self.grad_mode = 0, False, True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.way is not None:
            self.end_round()
        if not self.waiting:
            self.closed = True
            self.recorder.rounds.closing = self
            raise StopIteration
        if self.value is None:
            self.begin()
            self.frame = sys._getframe(1)
        given = self.waiting.pop()
        item, kind = self._example(given), self.source.value.type
        self.mark = len(self.recorder.nodes)
        self.way = Way(given)
        assert self.value is not None
        self.recorder.rounds.left.pop(id(self.value), None)
        if self.source.with_none is None:
            self.way.item = self.stand_in(self.value, item, kind.item if isinstance(kind, ListType) else None)
        else:
            self.way.item = TracedOptional(self.recorder, self.value, item, self.source.varies, self.source.with_none)
        self.way.shown = self.source.objects(self.way.item) if self.source.objects else self.way.item
        return self.way.shown

    def may_guess(self) -> bool:
        """Whether a round may take a dict for empty that no round has filled so far: later ones are recorded anew."""
        return False

    def begun(self, state: Any) -> Any:
        """What a round begins with on the example, after a count of those before."""
        return state

    def begin(self) -> None:
        """Opens the loop.

        Raises:
            RecordError: the list of the example is empty.
        """
        if not self._shown():
            self.recorder.refuse(
                f"{EMPTY}, so that nothing shows what is done to an item", "Trace with a list of one item at least."
            )
        if self.source.with_none is NESTED:
            self.recorder.refuse(WITH_NONE, CHOOSE_BEGIN)
        self.grad_mode = follow_grad_mode(self.recorder)
        self.recorder.rounds.open.append(self)
        self.reached = RoundsReach(part for loop in self.recorder.rounds.open for part in (loop.into, *loop.given))
        self.value = Value(value_type(self._shown()[0]) if self.source.with_none is None else ANY)

    def _shown(self) -> list[Any]:
        """The items of the example; those that an empty range begins with."""
        return self.source.concrete or [*self.source.samples]

    def _example(self, given: tuple[bool, ...]) -> Any:
        """The item of the example for a way: one that takes it, else one that goes with it as far as any does."""
        items, counts = self._shown(), list[int]()
        if not given:
            return items[0]
        known = next(way for way in reversed(self.ways) if tuple(way.taken[: len(given) - 1]) == given[:-1])
        steps = [step for step in known.steps if not step.is_test][: len(given)]
        for item in items[:MOST_WAYS]:
            counts.append(self._together(item, known, steps, given))
            if counts[-1] == len(given):
                break
        return items[counts.index(max(counts))]

    def _together(self, item: Any, known: Way, steps: Sequence[Fork], sides: Sequence[bool]) -> int:
        """How many of some sides an item takes, from the first branch on, by the nodes of a way."""
        for count, (step, side) in enumerate(zip(steps, sides, strict=True)):
            nodes = known.nodes[: step.count]
            outer = from_outside([leaf for node in nodes for leaf in uses(node)], [self.value, *known.values()])
            constants = [self._concrete(value) for value in outer]
            try:
                with torch._C.DisableTorchFunction(), self.recorder.within():
                    given = [item, *constants]
                    found = Plan(self._graph(nodes, step.value, outer), home=home_of(given)).run(given)
            except Exception:  # the body fails on this item, or asks more than this way does
                found = not side
            if bool(found) is not side:
                return count
        return len(sides)

    def decide(self, found: Any) -> bool:
        """The side that the round takes at a branch: that of the example, and in a later round the other one."""
        assert self.way is not None
        taken, fresh = self.way.decide(found.concrete)
        if fresh:
            self.waiting.append((*self.way.taken[:-1], not taken))
        if len(self.ways) + len(self.waiting) > MOST_WAYS:
            self._refuse(f"takes more than {MOST_WAYS} ways", "Choose by a table, torch.where or tracepack.cond.")
        self.way.steps.append(Fork(self.recorder.arguments(found), len(self.recorder.nodes) - self.mark, taken))
        return taken

    def leave_out(self) -> None:
        """Notes that a comprehension goes on without a result on this way."""
        assert self.way is not None
        self.way.left_out = self.into is None

    def stand_in(self, value: Value, item: Any, kind: Any) -> Any:
        """What the function gets for an item; one that is known to be a record has the keys of its type."""
        recorder, varies = self.recorder, self.source.varies
        if isinstance(item, torch.Tensor):
            with torch._C.DisableTorchFunction(), recorder.within():
                item = item.clone()
            recorder.values.add(item, value, True)
            return item
        if varies:
            recorder.values.varying.add(id(value))
        if isinstance(item, tuple):
            kinds = kind if isinstance(kind, tuple) else [None] * len(item)
            parts = [self.part(value, index, *pair) for index, pair in enumerate(zip(item, kinds, strict=True))]
            return same_container(item, parts)
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
        found = Value(kind if isinstance(kind, ListType) else value_type(item))
        node = Node(Operator("py.getitem"), (value, key), {}, found, self.line, self.source.varies)
        self.recorder.nodes.append(node)
        return self.stand_in(found, item, kind)

    def filter(self, condition: Any) -> None:
        """Takes a condition of the comprehension as a test of the loop; tests are made one by one, as Python does."""
        assert self.way is not None
        count = len(self.recorder.nodes) - self.mark
        self.way.steps.append(Fork(self.recorder.arguments(condition), count, True, is_test=True))

    def end_round(self) -> None:
        """Ends a round, and cuts its nodes out of the recording."""
        nodes, way = self.recorder.nodes, self.way
        assert way is not None
        end_grad_mode(self.recorder, self.grad_mode)
        way.nodes, self.way = nodes[self.mark :], None
        way.filled = 0 if self.into is None else len(self.into)
        del nodes[self.mark :]
        self.ways.append(way)
        if changed := self.reached.changed() if self.reached is not None else "":
            self._refuse(f"changes {changed}, which a later round may read", "Let a variable of the function hold it.")
        self.reached = self.reached if self.waiting else None  # what it holds has fewer names then
        assert self.value is not None
        for value in [self.value, *way.values()]:
            self.recorder.rounds.left[id(value)] = value

    # -- the node ----------------------------------------------------------------------------------------------

    def gathered(self, results: Sequence[Any]) -> TracedList:
        """The list of what the body gives for each item.

        Args:
            results: what it gave for the stand-in: one in each round, or what the rounds appended.
        """
        recorder = self.recorder
        recorder.rounds.open.remove(self)
        self.frame = recorder.rounds.closing = None
        if self.into is None and len(results) != sum(not way.left_out for way in self.ways):
            self._refuse("gives another number of values than one for each item", "Write one `for`.")
        self._hand_out(results)
        self.ways.sort(key=lambda way: [not side for side in way.taken])
        assert self.value is not None
        for value in [self.value, *(leaf for way in self.ways for leaf in way.values())]:
            recorder.rounds.left.pop(id(value), None)
        kept = [way for way in self.ways if way.kept]
        keeps = all(way.result is way.shown for way in kept) and self.source.objects
        for way in kept if keeps else ():
            way.result = way.item
        if not keeps and (keeps := form_of_results(recorder, [way.result for way in kept])):
            self._change(kept, keeps.plain)
        self._list_results(kept)
        inner = {id(self.value): self.value}
        inner |= {id(leaf): leaf for way in self.ways for leaf in way.values()}
        for way in kept:
            way.output = recorder.output(way.result)
        for key, value in inner.items():
            recorder.rounds.left[key] = value
        self._refuse_effects(inner)
        outer = self._outer(inner, kept)
        tree = Tree(recorder, self.line, (self.value, *outer), lambda nodes, found: self._graph(nodes, found, outer))
        tree.meet([leaf for way in kept for leaf in leaves(way.output)], recorder.examples)
        output = tree.output(self.ways)
        made = self._node([tree.graph(output), *tree.tests(self.ways)], outer, output[1])
        made.objects, made.with_none = keeps or None, tree.sample(output[1])
        made.value.type = made.value.type if made.with_none is None else ANY
        made.samples = samples_of(kept)
        return made

    def _hand_out(self, results: Sequence[Any]) -> None:
        """Gives each way its result; one that appended nothing leaves its item out."""
        before = 0
        for way in self.ways:
            after = before + (not way.left_out) if self.into is None else way.filled
            found, before = results[before:after], after
            if len(found) > 1:
                self._refuse("appends several values in one round", "Append one tuple of them.")
            way.kept, way.result = bool(found), found[0] if found else None
        if not any(way.kept for way in self.ways):
            self._refuse("appends nothing", "Append in the traced function itself.")

    def _list_results(self, kept: list[Way]) -> None:
        """Makes one value of each list that a way gives, where they have different lengths."""
        if paths := list(uneven([way.result for way in kept])):
            self._change(kept, lambda result: with_lists(self.recorder, result, paths))

    def _change(self, kept: list[Way], function: Callable[[Any], Any]) -> None:
        """Makes other results of those of some ways, by nodes at the ends of these."""
        nodes = self.recorder.nodes
        for way in kept:
            mark = len(nodes)
            way.result = function(way.result)
            way.nodes += nodes[mark:]
            del nodes[mark:]

    def _outer(self, inner: dict[int, Any], kept: list[Way]) -> list[Value]:
        used = [leaf for way in self.ways for node in way.nodes for leaf in uses(node)]
        used += [leaf for way in kept for leaf in leaves(way.output)]
        used += [step.value for way in self.ways for step in way.steps]
        return from_outside(used, inner.values())

    def _graph(self, nodes: Sequence[Node], output: Any, outer: list[Value]) -> Graph:
        """The closed graph of the body or of the test, over values of its own."""
        assert self.value is not None
        return closed_graph(nodes, output, (self.value, *outer))

    def _node(self, graphs: list[Graph], outer: list[Value], output: Any) -> TracedList:
        recorder, source = self.recorder, self.source
        constants = [self._concrete(value) for value in outer]
        with torch._C.DisableTorchFunction(), recorder.within():
            home = home_of((*source.concrete, *constants))
            body, *tests = [Plan(graph, home=home) for graph in graphs]
            items = [item for item in source.concrete if all(test.run([item, *constants]) for test in tests)]
            found = [body.run([item, *constants]) for item in items]
        texts = bool(found) and all(type(item) is str for item in found)
        value = Value(STRINGS if texts else list_of_results(output, found))
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
        if found is None and any(value is each.node.output for each in self.recorder.generators.stretches):
            drawn = (each for way in self.ways for each in way.nodes if any(leaf is value for leaf in uses(each)))
            self._refuse(_DRAWS, form_of_draw(next(drawn, None), self.line))
        if found is None:
            self._refuse("is inside of a branch", "Loop before tracepack.cond, and pass it the list.")
        return found

    def _refuse_effects(self, inner: dict[int, Any]) -> None:
        """Refuses a body that draws random numbers, or writes to what is not its own."""
        for node in (node for way in self.ways for node in way.nodes):
            if not isinstance(node.target, Operator):
                continue
            name = node.target.name
            own = all(id(leaf) in inner for leaf in leaves(node.args[:1]) if isinstance(leaf, Value))
            if name in DRAWING:
                self._refuse(_DRAWS, form_of_draw(node))
            if effect(name) not in (FRESH, VIEW) and not own:
                self._refuse("writes to a tensor from outside of it", "Return the new value instead.")
            if effect(name) not in (FRESH, VIEW) and len(self.ways) > 1:  # what is before a branch is run twice
                self._refuse("branches, and writes to a tensor", "Write x = x.index_fill(0, torch.tensor([i]), value).")
            assert not any(True for _ in subgraphs(node)) or name in ("cond", "while_loop", "map")

    def _refuse(self, what: str, fix: str) -> None:
        self.recorder.refuse(f"a loop over a list of any length {what}", fix)


_DRAWS = "draws random numbers"
