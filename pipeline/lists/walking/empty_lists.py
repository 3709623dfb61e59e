"""What a loop gives for an empty list, where its first round is recorded by itself: what its variables began with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import torch

from ....ops.graph.graph import Guard, Node, Operator, Value
from ....ops.graph.traverse import leaves, uses
from ....ops.graph.types import SCALARS
from ....ops.runtime.user_code import user_line
from ...proxies.lists import TracedList
from ...proxies.make import traced
from ...proxies.trees import concrete, own_copy
from ...proxies.values.made_objects import form_of_results
from ...recording.recorder import Recorder
from ..ways import MOST_WAYS, Way, closed_graph, from_outside


class ShowingRound:
    """A round that shows what comes into lists with which a loop begins empty, and whose items it reads.

    Args:
        recorder: of the recording.
        read: the places of the lists that the rounds read.
        given: the variables before the loop.

    Attributes:
        places: those of the empty lists.
        goes_on: whether the round is one that shows it; count: how many such rounds there were.
        found: what the variables are after that, by place, those lists among them.
    """

    def __init__(self, recorder: Recorder, read: Iterable[int] = (), given: Sequence[Any] = ()) -> None:
        self.recorder = recorder
        self.places = [place for place in read if type(given[place]) in (list, deque) and not given[place]]
        self.goes_on, self.count, self.found = bool(self.places), 0, dict[int, Any]()
        self.kinds = [type(concrete(value)) for value in given]

    def shows(self, values: Sequence[Any], way: Way | None, items: int) -> bool:
        """Whether the rounds may begin with lists that hold what they do after this one, which branched.

        Where it put nothing there, a round for the next item is to show it. Where it did not branch, it is recorded by
        itself instead: then it shows the items better.

        Args:
            values: the variables after the round.
            way: that it took.
            items: how many the loop goes through.
        """
        lists = {place: list(values[place]) for place in self.places if type(values[place]) in (list, deque)}
        self.count += 1
        branched = way is not None and bool(way.steps) and len(lists) == len(self.places)
        self.goes_on = branched and not all(lists.values()) and self.count < min(items, MOST_WAYS)
        if not branched or not all(lists.values()):
            return False
        if any(form_of_results(self.recorder, each) is not None for each in lists.values()):
            return False  # objects, which stand in lists as tuples
        with torch._C.DisableTorchFunction():
            after = [own_copy(concrete(value)) for value in values]
        alike = {place for place, kind in enumerate(self.kinds) if type(after[place]) is kind in _SHOWN}
        self.found = {place: after[place] for place in alike | lists.keys()}
        return True


_SHOWN = {list, dict, *SCALARS}


class OrEmpty:
    """Puts the nodes of such a loop on one side of a choice by the length of the list.

    Args:
        recorder: of the recording.
        more: whether the list has an item.
        guard: what refuses an empty list, where the choice cannot be made.
        given: the variables before the loop.
    """

    def __init__(self, recorder: Recorder, more: Any, guard: Guard, given: Sequence[Any]) -> None:
        self.recorder, self.more, self.line = recorder, more, user_line()
        self.guard = Node(guard, (more.value,), {}, None, self.line)
        self.given = tuple(given)
        self.start = [list(each) if type(each) in (list, deque) else each for each in given]
        self.begun = len(recorder.nodes)
        if recorder.rounds.open:  # whose branches are counted by the nodes before them
            recorder.nodes.append(self.guard)

    def joined(
        self, found: Sequence[Any], unread: Set[int], laid_out: Callable[[Sequence[Any]], list[Any]]
    ) -> tuple[Any, ...]:
        """What the variables are after the loop.

        Args:
            found: what they are after its rounds.
            unread: the places of those that nothing reads then.
            laid_out: gives the parts of the variables.
        """
        recorder = self.recorder
        given, begun = laid_out(self.given), laid_out(self.start)
        if recorder.rounds.open:
            return tuple(found)
        pairs = enumerate(zip(begun, found, strict=True))
        unlike = {place for place, pair in pairs if place in unread and not _fits(*pair)}
        changed = [place for place, each in enumerate(found) if each is not given[place] and place not in unlike]
        if not all(_fits(begun[place], found[place]) for place in changed):
            recorder.nodes.insert(self.begun, self.guard)
            return tuple(found)
        nodes = recorder.nodes[self.begun :]
        del recorder.nodes[self.begun :]
        starts = [self._started(begun[place]) for place in changed]
        side = recorder.nodes[self.begun :]
        del recorder.nodes[self.begun :]
        after = [found[place] for place in changed]
        outputs = [tuple(recorder.arguments(each) for each in values) for values in (after, starts)]
        inner = {id(leaf): leaf for node in (*nodes, *side) for leaf in leaves(node.output) if isinstance(leaf, Value)}
        used = [leaf for node in (*nodes, *side) for leaf in uses(node)]
        outer = from_outside([*used, *leaves(outputs)], inner.values())
        graphs = [closed_graph(*each, outer) for each in zip((nodes, side), outputs, strict=True)]
        values = tuple(Value(each.value.type) for each in after)
        args = (self.more.value, *graphs, tuple(outer))
        recorder.nodes.append(Node(Operator("cond"), args, {}, values, self.line, True))
        recorder.rounds.left |= inner
        made = dict(zip(changed, map(self._stand_in, values, after), strict=True))
        return tuple(made.get(place, each) for place, each in enumerate(found))

    def _started(self, start: Any) -> Any:
        return self.recorder.scalar("list", start) if type(start) is list else start

    def _stand_in(self, value: Value, after: Any) -> Any:
        recorder = self.recorder
        recorder.values.varying.add(id(value))
        stand_in = traced(recorder, value, concrete(after), True)
        if type(after) is TracedList:
            stand_in.loop, stand_in.objects = after.loop, after.objects
            stand_in.ends, stand_in.most = after.ends, after.most
        return stand_in


def _fits(start: Any, after: Any) -> bool:
    """Whether a variable is the same kind of list, number or text before a loop and after it."""
    if type(after) is TracedList:
        return (
            type(start) in (list, TracedList) and after.with_none is None and getattr(start, "with_none", None) is None
        )
    kind = type(concrete(start))
    return kind in SCALARS and kind is type(concrete(after)) and hasattr(after, "value")
