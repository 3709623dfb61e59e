"""Which sides of choices no replay has taken, and data that take them.

A choice of a recording is a node that calls one of two graphs, or looks a number up. What a side does is held against
the function only where some data lead there; so data are tried at random, with the pipeline alone, which costs little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any

from ....ops.graph.graph import Node
from ....ops.runtime.plan import Plan
from ....ops.runtime.primitives.control_flow import choose
from ....ops.runtime.primitives.tables import lookup
from .rare_data import RareData

_PLAN = "<tracepack plan>"
_MOST_WRAPPERS = 3  # around a function that a plan calls
MOST_RUNS = 3000
MOST_SECONDS = 0.2  # of this thread
_MOST_KEPT = 24  # examples that led somewhere new, from which others are made


class TakenSides:
    """Which ways the choices of a plan went, and its tables of two entries.

    Args:
        plan: runs them.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.taken, self.ran = plan, set[tuple[int, bool]](), set[int]()
        self._nodes: dict[CodeType, dict[int, Node]] = {}
        self._graphs: dict[CodeType, int] = {}
        self._among = 0  # of how many names these were found

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While it is entered, what runs in this thread is noted."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def are_open(self) -> bool:
        """Whether a choice went one way only, or a loop had no round."""
        if any((place, not way) not in self.taken for place, way in self.taken):
            return True
        return not {*self._graphs.values()} <= self.ran

    def count(self) -> int:
        """How much has run."""
        return len(self.taken) + len(self.ran)

    def _called(self, frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code.co_filename == _PLAN:
            self._nodes_of(frame.f_code)
            self.ran.add(self._graphs.get(frame.f_code, 0))
            return
        names, caller = _DECIDING.get(frame.f_code), frame.f_back
        if names is None:
            return
        for _ in range(_MOST_WRAPPERS):
            caller = caller.f_back if caller is not None and caller.f_code.co_filename != _PLAN else caller
        if caller is None or (nodes := self._nodes_of(caller.f_code)) is None:
            return
        table, key = (frame.f_locals[name] for name in names)
        node = nodes.get(caller.f_lineno)
        if node is not None and (callable(table) or (type(table) in (list, tuple) and len(table) == 2)):
            with suppress(Exception):  # it is no truth value
                self.taken.add((id(node), bool(key)))

    def _nodes_of(self, code: CodeType) -> dict[int, Node] | None:
        """The nodes of a function that the plan calls, of one with its checks or of one without, by their lines."""
        if code.co_filename != _PLAN:
            return None
        names = [vars(self.plan)[kind].__globals__ for kind in ("checked", "fast") if kind in vars(self.plan)]
        if (count := sum(map(len, names))) != self._among:
            self._among = count
            functions = [each for found in names for each in found.values() if hasattr(each, "nodes")]
            functions += [vars(self.plan)[kind] for kind in ("checked", "fast") if kind in vars(self.plan)]
            self._nodes = {each.__code__: each.nodes for each in functions}
            self._graphs = {each.__code__: id(each.graph) for each in functions}
        return self._nodes.get(code)


_DECIDING = {choose.__code__: ("on_true", "pred"), lookup.__code__: ("table", "key")}
"""The functions of a plan that choose, and their variables: what they choose from, and what decides."""


def leading_there(
    sides: TakenSides, run: Callable[[Sequence[Any]], Any], leaves: Sequence[Any], known: Sequence[Any]
) -> Iterator[Sequence[Any]]:
    """Examples that take sides which were not taken before.

    Args:
        sides: those that were taken.
        run: runs the pipeline, and raises where it refuses an example.
        leaves: the example.
        known: the numbers and texts that the function's code names.
    """
    kept, data, until = [leaves], RareData(known), time.thread_time() + MOST_SECONDS
    for _ in range(MOST_RUNS):
        if not sides.are_open() or time.thread_time() > until:
            return
        tried, count = data.like(data.random.choice(kept)), sides.count()
        with suppress(Exception), sides.watched():
            run(tried)
        if sides.count() > count:
            kept = [*kept, tried][-_MOST_KEPT:]
            yield tried
