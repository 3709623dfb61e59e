"""Dates and decimal numbers from outside of a recording, and what leaves one."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ....ops.graph.traverse import leaves
from ..base import is_traced
from ..tracer import Tracer
from .dates import DATES, constant_date
from .decimals import constant_decimal

VALUE_CLASSES = (*DATES, Decimal)
"""The classes of values that a recording follows."""


def constant_of(tracer: Tracer, thing: Any) -> Any:
    """A date or a decimal number of the recording for one from outside; None for any other thing."""
    if is_traced(thing):
        return None
    if isinstance(thing, DATES):
        return constant_date(tracer, thing)
    return constant_decimal(tracer, thing) if isinstance(thing, Decimal) else None


def known_value(tracer: Tracer, thing: Any) -> Any:
    """A thing as the recording knows it: a date or a decimal number from outside becomes one of it."""
    found = constant_of(tracer, thing)
    return thing if found is None else found


def returned(tracer: Tracer, output: Any) -> Any:
    """What the function returns, in the form of the IR, without dates and decimal numbers.

    Raises:
        RecordError: it holds one, which an archive has no form for.
    """
    for leaf in leaves(output):
        stand_in = tracer.examples.get(id(leaf))
        for item in () if stand_in is None else _items(stand_in.concrete):
            if isinstance(item, VALUE_CLASSES):
                kind, fix = type(item).__name__, "Return str(number), or float(number)."
                if isinstance(item, datetime.timedelta):
                    fix = "Return span.total_seconds()."
                elif not isinstance(item, Decimal):
                    fix = "Return date.isoformat(), a text."
                tracer.refuse(f"the function returns a {kind}, which an archive cannot hold", fix)
    return output


def _items(thing: Any) -> Iterator[Any]:
    if isinstance(thing, list | tuple | dict):
        for item in [*thing, *(thing.values() if isinstance(thing, dict) else ())]:
            yield from _items(item)
    yield thing
