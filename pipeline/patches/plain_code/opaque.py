"""The result of a block of plain Python, of which the recording knows nothing but that it is returned."""

from __future__ import annotations

from typing import Any

from ....ops.graph.graph import Value
from ...proxies.base import Traced
from ...proxies.tracer import Tracer


class Opaque(Traced):
    """Such a result."""

    def __init__(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    def _pin(self, reason: str) -> Any:
        return self.tracer.refuse(f"the result of a block of plain Python cannot leave the graph: {reason}", "")

    __hash__ = Traced.__hash__
