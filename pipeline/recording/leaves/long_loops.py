"""The nodes of a recording, which says while it goes on that it takes long, and where.

A loop that is recorded round by round takes some milliseconds for each: 10,000 rounds are a minute without a word.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ....ops.graph.graph import Node
from ....ops.runtime.user_code import user_stacklevel
from ...rules.advice.instead import ANY_LENGTH

SECONDS = 4.0  # of one recording, of which a trace makes several
_EVERY, _LEAST_ROUNDS = 256, 200
_said: ContextVar[list[str] | None] = ContextVar("said", default=None)


@contextmanager
def said_once() -> Iterator[None]:
    """While it is entered, only one of the recordings says that it takes long."""
    token = _said.set([])
    try:
        yield
    finally:
        _said.reset(token)


class RecordedNodes(list[Node]):
    """The recorded nodes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.perf_counter()

    def append(self, node: Node) -> None:
        """Adds a node."""
        super().append(node)
        if len(self) % _EVERY == 0 and time.perf_counter() - self._began > SECONDS and _said.get() == []:
            self._say()

    def _say(self) -> None:
        line, count = Counter(str(node.line or "") for node in self).most_common(1)[0]
        said = _said.get()
        if count < _LEAST_ROUNDS or not line or said is None:
            return
        said.append(line)
        warnings.warn(
            f"{line}: a loop around this line is recorded round by round, {count} operations of it so far in "
            f"{time.perf_counter() - self._began:.0f} s: a smaller example is traced sooner. {ANY_LENGTH}",
            stacklevel=user_stacklevel(),
        )
