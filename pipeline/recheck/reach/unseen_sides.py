"""Which sides of choices no replay has taken, and data that take them.

A choice of a recording is a node that calls one of two graphs. What the graph of a side does is held against the
function only where some data lead there; so data are tried at random, with the pipeline alone, which costs little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any

from ....ops.runtime.plan import Plan
from .rare_data import RareData

MOST_RUNS = 3000
MOST_SECONDS = 0.3
_MOST_KEPT = 24  # examples that led somewhere new, from which others are made


class Sides:
    """The graphs of a plan's choices and loops that ran.

    Args:
        plan: compiles them.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.seen = plan, set[int]()
        self._functions: dict[CodeType, int] = {}
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

    def unseen(self) -> bool:
        """Whether there is a graph that has not run."""
        return not {*self._graphs().values()} <= self.seen

    def _called(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if code.co_filename == "<tracepack plan>" and (graph := self._graphs().get(code)) is not None:
            self.seen.add(graph)

    def _graphs(self) -> dict[CodeType, int]:
        """The graph of each function that a plan calls, of those with its checks and of those without."""
        names = [vars(self.plan)[kind].__globals__ for kind in ("checked", "fast") if kind in vars(self.plan)]
        if (count := sum(map(len, names))) != self._among:
            self._among = count
            functions = [each for found in names for each in found.values() if hasattr(each, "graph")]
            self._functions = {each.__code__: id(each.graph) for each in functions}
        return self._functions


def leading_there(
    sides: Sides, run: Callable[[Sequence[Any]], Any], leaves: Sequence[Any], known: Sequence[Any]
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
        if not sides.unseen() or time.thread_time() > until:
            return
        tried, count = data.like(data.random.choice(kept)), len(sides.seen)
        with suppress(Exception), sides.watched():
            run(tried)
        if len(sides.seen) > count:
            kept = [*kept, tried][-_MOST_KEPT:]
            yield tried
