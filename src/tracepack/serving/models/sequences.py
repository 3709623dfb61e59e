"""Streams of a pipeline with state: each has a session of its own, from its start to its end or until it is idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...pipeline.pipeline import Pipeline
from ..config import ServingConfig
from ..protocol.rejections import BAD_REQUEST, TOO_MANY, RejectedError

_AGAIN = "sequence_start with its first request"
Run = Callable[[Pipeline], Awaitable[Any]]


@dataclass(eq=False)
class _Stream:
    """One open stream; its requests are run in the order of their arrival."""

    session: Pipeline
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    lost: bool = False  # whether a run was left to itself, so that nobody knows the state
    used: float = 0.0


class Sequences:
    """The open streams of a model.

    Args:
        pipeline: that has state.
        model: its name, for messages.
        config: how many streams may be open, and for how long idle.
    """

    def __init__(self, pipeline: Pipeline, model: str, config: ServingConfig) -> None:
        self._pipeline, self._model, self._config = pipeline, model, config
        self._open: dict[str | int, _Stream] = {}
        self._before: Sequences | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        """Whether a stream is open, here or with a version before."""
        return bool(self._open) or bool(self._before)

    def follow(self, before: Sequences) -> None:
        """Leaves the streams that are open to the version of the model with which they began."""
        self._before = before

    async def run(self, parameters: Mapping[str, Any], run: Run) -> Any:
        """Runs a request on the session of its stream.

        Args:
            parameters: of the request: ``sequence_id``, ``sequence_start``, ``sequence_end``.
            run: runs the request on a session.

        Raises:
            RejectedError: it names no stream, or none that is open, or there are too many.
        """
        identity = parameters.get("sequence_id")
        if not isinstance(identity, str | int) or isinstance(identity, bool) or not identity:
            raise self._wrong("the pipeline has state", identity, "the parameter sequence_id")
        starts = parameters.get("sequence_start") is True
        if not self._before:
            self._before = None  # an old version of the model is held for its streams only
        if not starts and identity not in self._open:
            if self._before:
                return await self._before.run(parameters, run)
            raise self._wrong("no such sequence is open", repr(identity)[:40], _AGAIN)
        stream = self._begun(identity) if starts else self._open[identity]
        stream.waiting += 1
        try:
            async with stream.lock:
                if stream.lost:
                    raise self._wrong("the sequence has ended: a request of it took too long", identity, _AGAIN)
                try:
                    return await run(stream.session)
                except (RejectedError, asyncio.CancelledError):  # the run may go on, in its thread
                    stream.lost = True
                    raise
        finally:
            stream.waiting -= 1
            stream.used = time.monotonic()
            if (stream.lost or parameters.get("sequence_end") is True) and self._open.get(identity) is stream:
                del self._open[identity]
            self._sweep_later()

    def _begun(self, identity: str | int) -> _Stream:
        most = self._config.max_sequences
        if len(self._open) >= most and identity not in self._open:
            raise RejectedError(
                TOO_MANY, "too many sequences are open", where=f"model {self._model!r}", expected=f"{most} at most"
            )
        stream = self._open[identity] = _Stream(self._pipeline.session())
        return stream

    def _wrong(self, what: str, got: Any, expected: str) -> RejectedError:
        return RejectedError(BAD_REQUEST, what, where=f"model {self._model!r}", got=got, expected=expected)

    def _sweep_later(self) -> None:
        if self._open and self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self._config.sequence_idle / 2, self._sweep)

    def _sweep(self) -> None:
        """Drops the streams that nobody has used for too long."""
        self._sweeping = None
        oldest = time.monotonic() - self._config.sequence_idle
        for identity, stream in list(self._open.items()):
            if not stream.waiting and stream.used < oldest:
                del self._open[identity]
        self._sweep_later()
