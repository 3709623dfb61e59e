"""ServedModel: one version of a pipeline that is ready to answer requests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ...pipeline.pipeline import Pipeline
from ..config import ServingConfig
from ..protocol.interface import Interface
from ..protocol.messages import InferRequest, InferResponse
from ..protocol.rejections import TOO_MANY, RejectedError
from .batching import Batcher, joined
from .execution import Executor, Passage
from .pace import CHEAP, Pace, is_foreseeable, size_of
from .row_check import why_not_by_rows
from .sequences import Sequences


class ServedModel:
    """A pipeline under a name and a version.

    Args:
        name: under which it is served.
        version: among the versions of this name.
        pipeline: that is run.
        executor: where runs happen.
        config: limits and batching.

    Raises:
        RejectedError: an input has a dtype that the protocol lacks.
    """

    def __init__(self, name: str, version: str, pipeline: Pipeline, executor: Executor, config: ServingConfig) -> None:
        self.name, self.version, self.pipeline = name, version, pipeline
        self.interface, self.pace = Interface(pipeline, name), Pace(is_foreseeable(pipeline.graph))
        self._executor, self._config = executor, config
        self.waiting = 0  # requests that are run or wait
        self._examples: list[Mapping[str, Any]] = []
        self.sequences = Sequences(pipeline, name, config) if pipeline.stateful else None
        self._batcher: Batcher | None = None

    def metadata(self) -> dict[str, Any]:
        """The metadata of the protocol, with the signature beside it."""
        return {
            "platform": "tracepack",
            **self.interface.described(),
            "parameters": {"signature": self.pipeline.signature, "batching": self._batching()},
        }

    def _batching(self) -> str:
        if self._config.max_batch == 1:
            return "off"
        return f"off: {self.why_not_by_rows}" if self.why_not_by_rows else f"up to {self._config.max_batch} rows"

    async def infer(self, request: InferRequest, passage: Passage) -> InferResponse:
        """Answers a request.

        Args:
            request: with tensors of its own, which a run may write into.
            passage: gets what it took.

        Raises:
            RejectedError: the request does not fit, or there are too many.
            TracepackError: as `Pipeline.run`.
        """
        passage.id, begun = request.id, time.perf_counter()
        feed = self.interface.feed(request)
        passage.compute_input += time.perf_counter() - begun
        result = await self.perform(feed, request.parameters, passage)
        begun = time.perf_counter()
        outputs = self.interface.outputs_of(result, request.outputs)
        passage.compute_output += time.perf_counter() - begun
        return InferResponse(self.name, self.version, request.id, outputs)

    async def perform(self, feed: Mapping[str, Any], parameters: Mapping[str, Any], passage: Passage) -> Any:
        """The result of a feed.

        Raises:
            RejectedError: there are too many requests, or it took too long.
            TracepackError: as `Pipeline.run`.
        """
        if self.waiting >= self._config.max_queue:
            raise RejectedError(
                TOO_MANY, "too many requests wait", where=f"model {self.name!r}", expected=f"{self.waiting} at most"
            )
        self.waiting += 1
        try:
            if self.sequences is not None:
                return await self._executor.within(
                    self.sequences.run(parameters, lambda session: self._run(session, [feed], passage))
                )
            if self._batcher is not None:
                return await self._batcher.submit(feed, passage)
            size = size_of(feed)
            if self.pace.is_short(size):
                return self._executor.run_here(lambda: self.pipeline.run(feed), size, self.pace, passage)
            return await self._run(self.pipeline, [feed], passage)
        finally:
            self.waiting -= 1

    @property
    def timeout(self) -> float:
        """Seconds that a request may wait and run."""
        return self._config.timeout

    async def within(self, awaited: Any) -> Any:
        """Waits for several runs of one request, together for at most the timeout.

        Raises:
            RejectedError: they take longer.
        """
        return await self._executor.within(awaited)

    async def _run(self, pipeline: Pipeline, feeds: Sequence[Mapping[str, Any]], passage: Passage) -> Any:
        """Runs the rows of all feeds together."""
        size = sum(map(size_of, feeds))
        return await self._executor.run(lambda: pipeline.run(joined(feeds)), size, self.pace, passage)

    @cached_property
    def why_not_by_rows(self) -> str:
        """Why requests cannot be run together; empty where they can. It takes some runs."""
        return why_not_by_rows(self.pipeline, self._examples, max(64, self._config.max_batch))

    def warm(self, feeds: list[Mapping[str, Any]]) -> None:
        """Gets ready: finds out whether requests may be run together, and runs examples.

        So the first request finds the plan compiled and its pace known.
        """
        self._examples = feeds
        if self._config.max_batch > 1 and not self.why_not_by_rows:
            config = self._config
            self._batcher = Batcher(
                lambda feeds, passage: self._run(self.pipeline, feeds, passage),
                config.max_batch,
                config.max_delay_ms / 1e3,
                config.timeout,
                lambda feed: self.pace.is_short(size_of(feed), CHEAP),
            )
        pipeline = self.pipeline.session() if self.pipeline.stateful else self.pipeline
        for feed in feeds:
            for _ in range(3):
                begun = time.perf_counter()
                pipeline.run(feed)
                self.pace.note(size_of(feed), time.perf_counter() - begun)
