"""The rows of a constant table of pandas, through which a loop goes: ``frame.iterrows()``, ``series.items()``.

Pandas makes them in an iterator, of which nobody knows what it will give; a loop over constants has to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

MOST_ROWS = 10_000


class TableRows:
    """An iterator that can be asked for what is left of it.

    Attributes:
        left: the rows that it has not given yet.
    """

    def __init__(self, rows: Iterable[Any]) -> None:
        self.left = list(rows)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


ROWS = {"itertuples": "DataFrame", "iterrows": "DataFrame", "items": "Series"}
"""The methods that give rows, with the classes of pandas that have them."""


def rows_method(thing: Any, name: str) -> Callable[..., TableRows] | None:
    """A method of `ROWS` that gives the rows so; None for another thing, and for many rows."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(thing, getattr(pandas, ROWS[name])) or len(thing) > MOST_ROWS:
        return None
    method = getattr(thing, name)

    @wraps(method)
    def rows(*args: Any, **kwargs: Any) -> TableRows:
        return TableRows(method(*args, **kwargs))

    return rows
