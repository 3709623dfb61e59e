"""A context manager of the user's own that is called as contextlib's, and does something else."""

from contextlib import contextmanager


@contextmanager
def suppress(kind):
    """Suppresses nothing."""
    yield kind


def number(s):
    v = -1
    with suppress(ValueError):
        v = int(s)
    return v
