"""Where a run happens: on the event loop where it is short, else in a thread.

Handing a run to a thread and back costs about 0.1 ms, and two threads that take turns at the interpreter much more; so
what takes less than a millisecond runs where it is: see `Pace`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from ..config import ServingConfig
from ..protocol.rejections import TIMED_OUT, RejectedError
from .pace import Pace


@dataclass(slots=True)
class Passage:
    """What one request took, in seconds, split as Triton splits it.

    Attributes:
        rows: of the batch that it was run in; 1 where the pipeline has no rows.
        requests: that were run together with it, itself included.
        id: that the client gave the request.
    """

    queue: float = 0.0
    compute_input: float = 0.0
    infer: float = 0.0
    compute_output: float = 0.0
    rows: int = 1
    requests: int = 1
    id: str = ""


class Executor:
    """Runs work, from one event loop at a time.

    Args:
        config: how many runs at a time, with how many threads each, and for how long.
    """

    def __init__(self, config: ServingConfig) -> None:
        self._timeout = config.timeout
        # The number of threads is one of each thread: what the main thread sets does not reach the others.
        self._pool = ThreadPoolExecutor(config.parallel, "tracepack-run", torch.set_num_threads, (config.threads,))
        self._running: set[object] = set()  # the jobs in threads that have begun

    @property
    def busy(self) -> bool:
        """Whether a run goes on in a thread."""
        return bool(self._running)

    async def run(self, work: Callable[[], Any], size: int, pace: Pace, passage: Passage) -> Any:
        """What the work returns.

        Args:
            work: a run.
            size: bytes of its inputs.
            pace: of the model.
            passage: gets the time that it waited and took.

        Raises:
            RejectedError: it took longer than the timeout, waiting included.
        """

        def job() -> Any:
            passage.queue += time.perf_counter() - submitted
            self._running.add(job)
            try:
                return self.run_here(work, size, pace, passage)
            finally:
                self._running.discard(job)

        if pace.is_short(size):
            return self.run_here(work, size, pace, passage)
        submitted = time.perf_counter()
        loop = asyncio.get_running_loop()
        return await self.within(loop.run_in_executor(self._pool, job))

    def run_here(self, work: Callable[[], Any], size: int, pace: Pace, passage: Passage) -> Any:
        """What the work returns, run in this thread: on the event loop where `pace` says that it is short."""
        begun = time.perf_counter()
        try:
            return work()
        finally:
            passage.infer = time.perf_counter() - begun
            pace.note(size, passage.infer)

    async def within(self, awaited: Any) -> Any:
        """Waits for at most the timeout.

        Raises:
            RejectedError: it takes longer.
        """
        try:
            return await asyncio.wait_for(awaited, self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            raise too_long(self._timeout) from None


def too_long(seconds: float) -> RejectedError:
    """The rejection of a request that took longer than it may."""
    return RejectedError(TIMED_OUT, "the request took too long", expected=f"at most {seconds:g} s")
