"""Shows the progress of a search: a bar on one line of stderr, or lines that a function takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

WIDTH = 24


class Progress:
    """Tells how far a search is and the best time so far.

    Args:
        label: the name of the search.
        to: True for a bar on stderr (a line for each generation where it is no terminal), None for a bar only on a
            terminal, a function that takes each line, or False.
    """

    def __init__(self, label: str, to: bool | Callable[[str], None] | None) -> None:
        self._label, self._to = label, sys.stderr.isatty() if to is None else to
        self._started, self._last = time.monotonic(), 0
        self._open = False

    def show(self, share: float, line: str, whole: bool) -> None:
        """Tells the share that is done; `whole` says that a generation ends here."""
        if callable(self._to):
            self._to(f"{self._label}: {line}")
        elif self._to and sys.stderr.isatty():
            full = round(WIDTH * min(share, 1.0))
            bar, seconds = "#" * full + "." * (WIDTH - full), time.monotonic() - self._started
            text = f"{self._label} [{bar}] {line}, {seconds:.0f} s"
            print(f"\r{text:{self._last}}", end="", file=sys.stderr, flush=True)
            self._last, self._open = len(text), True
        elif self._to and whole:
            print(f"{self._label}: {line}", file=sys.stderr, flush=True)

    def close(self, line: str | None = None) -> None:
        """Leaves the bar's line, with a last word where there is one."""
        if self._open:
            print(file=sys.stderr)
        self._open, self._last = False, 0
        if line is not None and callable(self._to):
            self._to(f"{self._label}: {line}")
        elif line is not None and self._to:
            print(f"{self._label}: {line}", file=sys.stderr, flush=True)
