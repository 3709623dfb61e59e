"""`drawing`: lets random functions that take no generator, such as dropout, draw from one that the user names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ...ops.graph.errors import RecordError
from ...ops.runtime.primitives.random import Borrowed
from ...ops.tracing_hook import current
from .random import keep_state
from .recorder import Recorder


@contextmanager
def drawing(generator: torch.Generator) -> Iterator[None]:
    """Lets everything inside draw its random numbers from a generator, and makes it recordable.

    A generator that lives outside of the function goes on from run to run, in a pipeline as in Python; the pipeline
    has its own, which `Pipeline.seed` seeds. One that the function makes or seeds gives the same numbers in each run.

    Args:
        generator: a generator of the CPU. Functions that take `generator=` need no `drawing`.

    Raises:
        RecordError: it is not a generator of the CPU.

    Example:
        >>> import torch, tracepack
        >>> g = torch.Generator()
        >>> def process(x):
        ...     with tracepack.drawing(g):
        ...         return x + torch.randn_like(x)
        >>> mod = tracepack.trace(process, torch.zeros(2))
        >>> mod.seed(3)
        >>> first = mod(torch.zeros(2))
        >>> mod.seed(3)
        >>> bool((mod(torch.zeros(2)) == first).all())
        True
    """
    if not isinstance(generator, torch.Generator) or generator.device.type != "cpu":
        raise RecordError("drawing takes a generator of the CPU", got=repr(generator), expected="torch.Generator()")
    keep_state(generator)
    recorder = current()
    sources = recorder.sources if isinstance(recorder, Recorder) else []
    with Borrowed(generator):
        sources.append(generator)
        try:
            yield
        finally:
            sources.pop()
