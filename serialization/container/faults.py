"""Turns any exception while a malformed file is read into an ArchiveError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ops.graph.errors import ArchiveError, TracepackError


@contextmanager
def one_error(label: str) -> Iterator[None]:
    """Turns an exception of Python into an ArchiveError.

    Args:
        label: the name of the file in messages.

    Raises:
        ArchiveError: the block raised an exception that is no TracepackError.
    """
    try:
        yield
    except TracepackError:
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {error}".split("\n")[0][:120]
        raise ArchiveError("the file is malformed", where=label, got=got) from error
