"""Shows the progress of a search: a bar on one line of stderr, or lines that a function takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

WIDTH = 24


class ProgressError(Exception):
    """The function that takes the lines failed; its own error is the cause."""


class Progress:
    """Tells how far a search is and the best time so far.

    Args:
        label: the name of the search.
        to: True for a bar on stderr (a line for each generation where it is no terminal), None for a bar only on a
            terminal, a function that takes each line, or False.

    Attributes:
        failed: the error that the function raised; it is called no more then.
    """

    def __init__(self, label: str, to: bool | Callable[[str], None] | None) -> None:
        self._label, self._to = label, sys.stderr.isatty() if to is None else to
        self._started, self._last = time.monotonic(), 0
        self._open = False
        self.failed: Exception | None = None

    def show(self, share: float, line: str, whole: bool) -> None:
        """Tells the share that is done; `whole` says that a generation ends here.

        Raises:
            ProgressError: the function failed.
        """
        if callable(self._to):
            self._tell(self._to, line)
        elif self._to and sys.stderr.isatty():
            full = round(WIDTH * min(share, 1.0))
            bar, seconds = "#" * full + "." * (WIDTH - full), time.monotonic() - self._started
            text = f"{self._label} [{bar}] {line}, {seconds:.0f} s"
            print(f"\r{text:{self._last}}", end="", file=sys.stderr, flush=True)
            self._last, self._open = len(text), True
        elif self._to and whole:
            print(f"{self._label}: {line}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the bar's line."""
        if self._open:
            print(file=sys.stderr)
        self._open, self._last = False, 0

    def interrupted(self) -> None:
        """Leaves the bar's line, and says that the search was interrupted."""
        self.close()
        line = "interrupted, the best so far is kept"
        if callable(self._to):
            if self.failed is None:
                try:
                    self._tell(self._to, line)
                except ProgressError:
                    return  # the search ended before
        elif self._to:
            print(f"{self._label}: {line}", file=sys.stderr, flush=True)

    def _tell(self, function: Callable[[str], None], line: str) -> None:
        try:
            function(f"{self._label}: {line}")
        except Exception as error:
            self.failed = error
            raise ProgressError from error
