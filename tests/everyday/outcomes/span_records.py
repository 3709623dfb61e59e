"""Helpers that give None, a container or a record, alone and in lists of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Extent:
    low: int
    high: int

    @property
    def width(self):
        return self.high - self.low


@dataclass(frozen=True)
class Titled:
    title: str
    extent: Extent
    tags: list


class Ends(NamedTuple):
    first: int
    last: float


def as_list(n):
    if n < 0:
        return None
    return [n, n + 1]


def as_dict(n):
    if n < 0:
        return None
    return {"low": n, "high": n + 1}


def as_tuple(n):
    if n < 0:
        return None
    return n, n + 1


def as_dataclass(n):
    if n < 0:
        return None
    return Extent(n, n + 1)


def as_named_tuple(n):
    if n < 0:
        return None
    return Ends(n, n + 0.5)


def nested(n):
    if n < 0:
        return None
    extent = Extent(n, 2 * n)
    return {"all": [Titled("a" * n, extent, [extent, n]), Ends(n, 0.0)], "first": extent}


HELPERS = [as_list, as_dict, as_tuple, as_dataclass, as_named_tuple, nested]


def of_each(helper):
    def listed(rows):
        return [helper(row) for row in rows]

    return listed


def those_there(helper):
    def there(rows):
        spans = [helper(row) for row in rows]
        return [span for span in spans if span is not None]

    return there


def appended(rows):
    out = []
    for row in rows:
        span = as_dataclass(row)
        out.append(span)
    return out


def in_text(n):
    return f"{as_list(n)} and {as_dict(n)}"


def widths(rows):
    spans = [as_dataclass(row) for row in rows]
    return [span.width for span in spans if span is not None]


def beside(n):
    extent = as_dataclass(n)
    return {"width": 0 if extent is None else extent.width, "extent": extent}


def of_tensor(x):
    if x.sum() < 0:
        return None
    return Extent(x.max().item(), x * 2)


def held_by_itself(n):
    if n < 0:
        return None
    extent = Extent(n, n)
    extent.low = extent
    return extent


def of_ends(x):
    if x.sum() < 0:
        return None
    return Ends(x.argmax().item(), x.softmax(-1))
