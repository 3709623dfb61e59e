"""What all stand-ins have in common: things that a recorded function holds in place of run-time values."""

from __future__ import annotations

import sys
from typing import Any

import torch

from ...ops.graph.graph import Value
from .branches import branch_reason
from .keys.asked_caches import hash_for_cache
from .tracer import Tracer


class Traced:
    """The base of all stand-ins: each has its recorder, its value in the graph, and the concrete example value.

    Attributes:
        varies: whether data decides the value, rather than sizes and scalars of the inputs.
    """

    tracer: Tracer
    value: Value
    concrete: Any
    varies: bool

    def _bind(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self.tracer, self.value, self.concrete, self.varies = tracer, value, concrete, varies
        tracer.examples[id(value)] = self

    def _pin(self, reason: str) -> Any:
        return self.tracer.pin(self, reason)

    def __repr__(self) -> str:
        return repr(self._pin("it was turned into text"))

    def __str__(self) -> str:
        return str(self._pin("it was turned into text"))

    def __format__(self, spec: str) -> str:
        return format(self._pin("it was formatted into a string"), spec)

    def __hash__(self) -> int:
        found = hash_for_cache(sys._getframe(1))
        return hash(self._pin("it was used as a key")) if found is None else found

    def __bool__(self) -> bool:
        return bool(self._pin(branch_reason(self.concrete)))

    def __reduce__(self) -> Any:
        raise TypeError("a traced value cannot be pickled or copied deeply")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def is_traced(thing: Any) -> bool:
    """Whether a thing is a stand-in, by its real type: `isinstance` also asks for the class that it pretends to be."""
    return issubclass(type(thing), Traced)


def is_free_shape(thing: Any) -> bool:
    """Whether a thing is a shape with a size of the recording."""
    return type(thing) is torch.Size and any(map(is_traced, thing))
