"""Runs requests together whose rows do not depend on each other, and gives each its own rows back.

Nothing waits for a batch to fill unless a delay is asked for: what came while a batch ran makes the next one. A batch
that fails is run again request by request, so that only the bad one fails.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ...ops.runtime.primitives.named_tuples import map_values
from ..protocol.rejections import TIMED_OUT, status_of
from .execution import Passage, too_long

log = logging.getLogger("tracepack.serving")

Feed = Mapping[str, Any]
Run = Callable[[Sequence[Feed], Passage], Awaitable[Any]]


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request that waits for its batch."""

    feed: Feed
    rows: int
    passage: Passage
    answer: asyncio.Future[Any]
    since: float


@dataclass(eq=False, slots=True)
class _Gathering:
    """Requests of one kind, in the order of their arrival, and how many rows they have."""

    members: deque[_Waiting] = field(default_factory=deque)
    rows: int = 0

    def add(self, waiting: _Waiting) -> None:
        self.members.append(waiting)
        self.rows += waiting.rows

    def take(self, most: int) -> list[_Waiting]:
        """Those from the front that fit a batch, without those whose request has ended."""
        batch: list[_Waiting] = []
        rows = 0
        while self.members and (not batch or rows + self.members[0].rows <= most):
            each = self.members.popleft()
            self.rows -= each.rows
            if not each.answer.done():
                batch.append(each)
                rows += each.rows
        return batch


class Batcher:
    """The batches of one model, on one event loop.

    Args:
        run: runs feeds one below the other; gives the result of all rows.
        max_rows: of a batch.
        delay: seconds that a request may wait for others.
        timeout: seconds that it may wait and run.
        is_cheap: whether a feed runs in less time than a batch costs by itself.
    """

    def __init__(self, run: Run, max_rows: int, delay: float, timeout: float, is_cheap: Callable[[Feed], bool]) -> None:
        self._run, self._max_rows, self._delay, self._timeout = run, max_rows, delay, timeout
        self._is_cheap = is_cheap
        self._groups: dict[Any, _Gathering] = {}
        self._timers: dict[Any, asyncio.Handle] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def submit(self, feed: Feed, passage: Passage) -> Any:
        """The result of a feed, which may be run with others of its kind.

        Raises:
            TracepackError: as a run of this feed alone.
        """
        rows = rows_of(feed)
        passage.rows = rows or 1
        if rows is None or rows >= self._max_rows or (not self._delay and self._is_cheap(feed)):
            return await self._run([feed], passage)
        loop, key = asyncio.get_running_loop(), _kind(feed)
        waiting = _Waiting(feed, rows, passage, loop.create_future(), time.perf_counter())
        group = self._groups.setdefault(key, _Gathering())
        group.add(waiting)
        if group.rows >= self._max_rows:
            self._flush(key)
        elif key not in self._timers and (self._delay or not self._running):
            # Without a delay, all requests that have arrived by now are read before the batch goes.
            start: Callable[..., asyncio.Handle] = loop.call_soon
            timer = loop.call_later(self._delay, self._flush, key) if self._delay else start(self._flush, key)
            self._timers[key] = timer
        expiry = loop.call_later(self._timeout, _fail, waiting, too_long(self._timeout))
        try:
            return await waiting.answer
        finally:
            expiry.cancel()

    def _flush(self, key: Any) -> None:
        """Starts a run of the requests of one kind that fit a batch."""
        if timer := self._timers.pop(key, None):
            timer.cancel()
        group = self._groups.get(key)
        batch = group.take(self._max_rows) if group else []
        if group and not group.members:
            del self._groups[key]
        if batch:
            task = asyncio.get_running_loop().create_task(self._answer(batch))
            self._running.add(task)
            task.add_done_callback(self._go_on)

    def _go_on(self, task: asyncio.Task[None]) -> None:
        """Starts the runs of what came in the meantime."""
        self._running.discard(task)
        for key in [key for key in self._groups if key not in self._timers]:
            self._flush(key)

    async def _answer(self, batch: list[_Waiting]) -> None:
        begun, together = time.perf_counter(), Passage()
        for each in batch:
            each.passage.queue += begun - each.since
        total = sum(each.rows for each in batch)
        try:
            result = await self._run([each.feed for each in batch], together)
            answers = _split(result, [each.rows for each in batch]) if len(batch) > 1 else [result]
        except Exception as error:
            if len(batch) > 1 and status_of(error) != TIMED_OUT:
                return await self._answer_apart(batch)
            for each in batch:
                _fail(each, error)
            return None
        for each, answer in zip(batch, answers, strict=True):
            each.passage.queue += together.queue
            each.passage.infer, each.passage.requests, each.passage.rows = together.infer, len(batch), total
            if not each.answer.done():
                each.answer.set_result(answer)
        return None

    async def _answer_apart(self, batch: list[_Waiting]) -> None:
        """Runs each request by itself, so that a bad one fails alone."""
        for each in batch:
            try:
                answer = await self._run([each.feed], each.passage)
            except Exception as error:
                _fail(each, error)
            else:
                if not each.answer.done():
                    each.answer.set_result(answer)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)


def rows_of(feed: Feed) -> int | None:
    """The number of rows that all tensors of a feed have; None where they have none, or differ.

    Example:
        >>> rows_of({"x": torch.ones(2, 3), "h": torch.ones(2)}), rows_of({"x": torch.ones(2), "h": torch.ones(3)})
        (2, None)
    """
    sizes = {value.shape[0] if value.dim() else 0 for value in feed.values() if isinstance(value, torch.Tensor)}
    return sizes.pop() or None if len(sizes) == 1 else None


def _kind(feed: Feed) -> Any:
    """What feeds must have in common to be run together: names, dtypes, and all sizes but the first."""
    return tuple(
        (name, value.dtype, value.shape[1:]) if isinstance(value, torch.Tensor) else (name, repr(value))
        for name, value in sorted(feed.items())
    )


def joined(feeds: Sequence[Feed]) -> Feed:
    """The rows of all feeds, one below the other.

    Example:
        >>> joined([{"x": torch.ones(1)}, {"x": torch.zeros(2)}])
        {'x': tensor([1., 0., 0.])}
    """
    if len(feeds) == 1:
        return feeds[0]
    first = feeds[0]
    return {
        name: torch.cat([feed[name] for feed in feeds]) if isinstance(value, torch.Tensor) else value
        for name, value in first.items()
    }


def _split(result: Any, counts: Sequence[int]) -> list[Any]:
    """The result of each request.

    Raises:
        ValueError: a tensor has not as many rows as were run.
    """
    found, start, total = [], 0, sum(counts)
    for count in counts:
        found.append(_part(result, start, start + count, total))
        start += count
    return found


def _part(result: Any, start: int, end: int, total: int) -> Any:
    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if not value.dim() or value.shape[0] != total:
            raise ValueError(f"an output has {tuple(value.shape)} for {total} rows")
        return value[start:end]

    return map_values(leaf, result, _rebuilt)


def _rebuilt(value: Any, items: tuple[Any, ...]) -> Any:
    """A named tuple of new items; one of torch's takes them as one argument."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
