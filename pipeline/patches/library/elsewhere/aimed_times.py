"""Times at which conditions hold that moments taken anyhow would miss, as ``int(time.time()) % 100 == 0``.

The numbers that code names say which: remainders of a count of seconds, or of other units, and dates and times of day.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_NAMED, MOST_RESTS = 6, 6
_LARGEST = 10**6
_UNITS = (1.0, 1e-3, 1e-6, 1e-9)
_FIELDS: dict[str, Any] = {
    "year": range(1971, 3000), "month": range(1, 13), "day": range(1, 29), "hour": range(24), "minute": range(60),
    "second": range(60), "microsecond": range(10**6),
}  # fmt: skip


@dataclass(frozen=True)
class Aim:
    """A time to come.

    Attributes:
        count: of the units the time has a multiple of this number, and `rest` more.
        rest: less than the count.
        unit: in seconds.
        named: whether code names the unit, which may be one of nanoseconds as well.
        at: the time itself, in seconds since 1970, of clocks that show one.
    """

    count: int
    rest: int
    unit: float = 1.0
    named: bool = False
    at: float | None = None

    def shown(self, now: Any, scale: int) -> Any:
        """What a clock shows then.

        Args:
            now: what it shows at present.
            scale: how many of its own units are a second.
        """
        if self.at is not None:
            return int(self.at * scale) if isinstance(now, int) else self.at
        if isinstance(now, int):
            unit = max(1, int(self.unit if self.named else round(self.unit * scale)))
            return (now // unit // self.count + 1) * self.count * unit + self.rest * unit
        rounds = now / self.unit // self.count + 1
        return (rounds * self.count + self.rest + 0.25) * self.unit


def aims(known: Iterable[Any]) -> Iterator[Aim]:
    """The times that the numbers of code speak of.

    Args:
        known: the numbers and texts that it names.
    """
    named = sorted({each for each in known if type(each) is int and 0 <= each <= _LARGEST})
    for number in dict.fromkeys((0, 1, *named[-MOST_NAMED:], *named[:MOST_NAMED])):
        yield from (Aim(1, 0, at=date.timestamp()) for date in _dates(number))
    counts = [each for each in named if each > 1]
    units = [(unit, False) for unit in _UNITS]
    units += [(value, True) for each in counts[-MOST_NAMED:] for value in (float(each), 1 / each)]
    for unit, of_code in units:
        for count in counts[-MOST_NAMED:]:
            rests = [each for each in named if each < count][-MOST_RESTS:]
            yield from (Aim(count, rest, unit, of_code) for rest in dict.fromkeys((0, count - 1, *rests)))


def _dates(number: int) -> Iterator[datetime.datetime]:
    """Dates in whose fields there is a number, as far as they take it."""
    now = datetime.datetime.now().replace(day=1, microsecond=250_000)
    fields: dict[str, Any] = {name: number for name, held in _FIELDS.items() if number in held}
    yield now.replace(**fields)
    if 1 <= number <= 366:
        yield now.replace(month=1, day=1) + datetime.timedelta(days=number - 1)
    if 1 <= number <= 52:
        yield datetime.datetime.fromisocalendar(now.year, number, min(number, 7)).replace(hour=number % 24)
    if number < 7:
        yield now + datetime.timedelta(days=(number - now.weekday()) % 7)
