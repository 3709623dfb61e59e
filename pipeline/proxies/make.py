"""Which stand-in a value gets while a function is recorded."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...ops.graph.graph import Value
from .arrays import TracedArray
from .dicts import TracedDict
from .lists import TracedList
from .scalars import TracedBool, TracedComplex, TracedFloat, TracedInt
from .strings import TracedMatch, TracedStr
from .tracer import Tracer

_KINDS: list[tuple[tuple[type, ...], type[Any]]] = [
    ((bool, np.bool_), TracedBool),
    ((int, np.integer), TracedInt),
    ((float, np.floating), TracedFloat),
    ((complex, np.complexfloating), TracedComplex),
    ((str,), TracedStr),
    ((list,), TracedList),
    ((dict,), TracedDict),
    ((re.Match,), TracedMatch),
    ((np.ndarray,), TracedArray),
]


def traced(tracer: Tracer, value: Value, concrete: Any, varies: bool) -> Any:
    """The stand-in for a run-time value; None for a kind that has none."""
    for kinds, stand_in in _KINDS:
        if isinstance(concrete, kinds):
            return stand_in(tracer, value, concrete, varies)
    return None


def traced_argument(tracer: Tracer, value: Value, concrete: Any) -> Any:
    """The stand-in for an argument that is no tensor."""
    found = traced(tracer, value, concrete, varies=False)
    if type(found) is TracedList:
        found.given = True
    return found
