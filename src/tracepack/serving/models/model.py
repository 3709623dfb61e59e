"""ServedModel: one version of a pipeline that is ready to answer requests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch

from ...pipeline.pipeline import Pipeline
from ..config import ServingConfig
from ..protocol.interface import Interface
from ..protocol.messages import InferRequest, InferResponse
from ..protocol.rejections import TOO_MANY, RejectedError
from .execution import Executor, Pace, Passage
from .row_check import why_not_by_rows


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
        self.interface, self.pace = Interface(pipeline, name), Pace()
        self._executor, self._config = executor, config
        self.waiting = 0  # requests that are run or wait
        self._examples: list[Mapping[str, Any]] = []

    def metadata(self) -> dict[str, Any]:
        """The metadata of the protocol, with the signature beside it."""
        return {
            "platform": "tracepack",
            **self.interface.described(),
            "parameters": {"signature": self.pipeline.signature},
        }

    async def infer(self, request: InferRequest, passage: Passage) -> InferResponse:
        """Answers a request.

        Args:
            request: with tensors of its own, which a run may write into.
            passage: gets what it took.

        Raises:
            RejectedError: the request does not fit, or there are too many.
            TracepackError: as `Pipeline.run`.
        """
        begun = time.perf_counter()
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
            return await self.run(feed, passage)
        finally:
            self.waiting -= 1

    async def run(self, feed: Mapping[str, Any], passage: Passage) -> Any:
        """Runs a feed by itself.

        Raises:
            TracepackError: as `Pipeline.run`; RejectedError: it took too long.
        """
        return await self._executor.run(lambda: self.pipeline.run(feed), size_of(feed), self.pace, passage)

    @cached_property
    def why_not_by_rows(self) -> str:
        """Why requests cannot be run together; empty where they can. It takes some runs."""
        return why_not_by_rows(self.pipeline, self._examples)

    def warm(self, feeds: list[Mapping[str, Any]]) -> None:
        """Runs examples, so that the first request finds the plan compiled and its pace known."""
        self._examples = feeds
        pipeline = self.pipeline.session() if self.pipeline.stateful else self.pipeline
        for feed in feeds:
            for _ in range(3):
                begun = time.perf_counter()
                pipeline.run(feed)
                self.pace.note(size_of(feed), time.perf_counter() - begun)


def size_of(tree: Any) -> int:
    """The bytes of the inputs of a run, about.

    Example:
        >>> size_of({"x": torch.zeros(2, 3), "texts": ["ab", "c"]})
        43
    """
    if isinstance(tree, torch.Tensor):
        return tree.nbytes
    if isinstance(tree, str):
        return len(tree)
    if isinstance(tree, Mapping):
        return sum(map(size_of, tree.values()))
    return 8 * len(tree) + sum(map(size_of, tree)) if isinstance(tree, list | tuple) else 8
