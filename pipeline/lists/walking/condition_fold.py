"""A loop that goes on for as long as a condition holds: a `while_loop` whose test is whether the loop was left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.types import SCALARS
from ...proxies.lists import TracedList
from ...recording.recorder import Recorder
from ..fold import Fold
from ..ways import closed_graph

MOST_ROUNDS = 5000
"""Of the example."""


class ConditionRounds:
    """What a ``while`` loop goes through, round by round, until it is left.

    Attributes:
        recorder: where the loop may be one of the graph; None where Python runs it.
        left: whether the loop is over.
    """

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder, self.left = recorder, False

    def __iter__(self) -> Iterator[None]:
        return self

    def __next__(self) -> None:
        if self.left:
            raise StopIteration


class ConditionFold(Fold):
    """Such a loop, as an iterator that gives a round for each way through the body.

    Attributes:
        left: the place of the variable that says whether the loop was left.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder, recorder.scalar("list", [0]))
        self.left = 0

    def _turned(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.value is None:
            names = self.packing.flat_names()
            self.left = names.names.index(names.left)
        return super()._turned(values)

    def _has_others(self) -> bool:
        return True

    def decide(self, found: Any) -> bool:
        """The side that the round takes at a branch; the loop goes on in each, since the graph asks that before."""
        return False if found.value is self.carried[self.left] else super().decide(found)

    def begun(self, state: Any) -> Any:
        """What a round begins with on the example, on which a loop in a side may never end."""
        if state[0] > MOST_ROUNDS:
            self._refuse("has too many rounds on the example, and may never end", "Bound its rounds.")
        return state

    def _first_apart(self) -> NoReturn:
        self._refuse(f"begins with {self.unlike}", "Begin with a value of the kind that its rounds make.")

    def _graphs(self, nodes: Sequence[Node], output: Any, own: Sequence[Value], outer: Sequence[Value]) -> list[Graph]:
        """The graphs of the condition and of the body, over a count, what is carried, and other values."""
        count, following, more = Value(SCALARS[int]), Value(SCALARS[int]), Value(SCALARS[bool])
        inputs = (count, *own[1:], self.source.value, *outer)
        test = [Node(Operator("py.not_"), (self.carried[self.left],), {}, more, self.line, True)]
        first = Node(Operator("py.getitem"), (self.source.value, 0), {}, own[0], self.line, True)
        body = [first, *nodes, Node(Operator("py.add"), (count, 1), {}, following, self.line, True)]
        return [closed_graph(test, (more,), inputs), closed_graph(body, (following, *output), inputs)]

    def _after(self, place: int, result: Any, varies: bool) -> tuple[Value, Any]:
        value, stand_in = super()._after(place, result, varies)
        if type(stand_in) is TracedList:
            stand_in.sized_by = None
        return value, stand_in

    def _refuse(self, what: str, fix: str) -> NoReturn:
        self.recorder.refuse(f"a while loop {what}", fix)
