"""One class for every malformed file: what reading one stumbles over becomes an ArchiveError that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ops.graph.errors import ArchiveError, TracepackError


@contextmanager
def one_error(label: str) -> Iterator[None]:
    """Turns what a malformed file makes Python raise into our own error.

    Args:
        label: how the error names the file.

    Raises:
        ArchiveError: anything but an error of ours was raised inside.
    """
    try:
        yield
    except TracepackError:
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {error}".split("\n")[0][:120]
        raise ArchiveError("the file is malformed", where=label, got=got) from error
