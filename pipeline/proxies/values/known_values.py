"""Dates and decimal numbers from outside of a recording, and what leaves one."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ....ops.graph.traverse import leaves
from ..base import is_traced
from ..tracer import Tracer
from .dates import DATES, constant_date, require_plain_date
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


@dataclass(frozen=True)
class ValueForm:
    """How dates or decimal numbers of one class stand in a table: as tuples of texts and numbers that make them.

    Attributes:
        tracer: of the recording.
        kind: their class.
    """

    tracer: Tracer
    kind: type

    def plain(self, thing: Any) -> tuple[Any, ...]:
        """The tuple of one."""
        if self.kind is datetime.timedelta:
            return thing.days, thing.seconds, thing.microseconds
        if self.kind is not Decimal:
            require_plain_date(self.tracer, thing)
        return (str(thing) if self.kind is Decimal else thing.isoformat(),)

    def __call__(self, parts: Any) -> Any:
        """The value of a tuple."""
        if self.kind is Decimal:
            return self.tracer.scalar("decimal", "make", *parts)
        name = "make" if self.kind is datetime.timedelta else "fromisoformat"
        return self.tracer.scalar("date", name, self.kind.__name__, *parts)


def form_of_values(tracer: Tracer, things: Sequence[Any]) -> ValueForm | None:
    """The form of constants that are dates or decimal numbers of one class; None for any others."""
    kinds = set(map(type, things))
    kind = kinds.pop() if len(kinds) == 1 else None
    return ValueForm(tracer, kind) if kind in VALUE_CLASSES else None


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
