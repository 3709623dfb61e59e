"""What stands for a bar of tqdm whose methods a function calls: they show nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SHOWING = frozenset(
    ("set_description", "set_description_str", "set_postfix", "set_postfix_str", "update", "refresh", "reset", "close")
)
"""Methods of a bar that show something, whose results nobody reads."""


class SilentBar:
    """Stands for a bar; a loop goes through what it is around."""

    def __init__(self, iterable: Any = ()) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)

    def __enter__(self) -> SilentBar:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves nothing open."""

    def __getattr__(self, name: str) -> Any:
        if name not in SHOWING:
            raise AttributeError(f"a bar of tqdm has no {name!r} while a function is recorded")
        return _shows_nothing


def _shows_nothing(*_: Any, **__: Any) -> None:
    """Stands for a method of a bar."""
