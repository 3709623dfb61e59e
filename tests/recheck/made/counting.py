"""A module of the user's that counts."""

CALLS = 0


def count() -> int:
    """How often it was called."""
    global CALLS  # noqa: PLW0603  # that it counts is what is tried
    CALLS += 1
    return CALLS
