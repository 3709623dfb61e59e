"""Exit codes of the command line, on which shell scripts may rely.

There is one code for each failure to which a caller would react differently. The table is printed by ``tracepack
--help``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops.graph import errors
from ..ops.graph.errors import TracepackError

OK, FAILED, USAGE, ARCHIVE, DEVICE, TRUST, RUN, MISSING, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 7, 70, 130

MEANINGS = {
    OK: "done",
    FAILED: "verify: a member was altered, or a golden example gives outputs beyond their tolerance",
    USAGE: "the command was not understood, or a file or folder named on it cannot be read or written",
    ARCHIVE: "the archive is missing, truncated, altered, foreign, or of a newer format",
    DEVICE: "an op cannot be placed on the device",
    TRUST: "the archive holds an op that can run code, and --trust was not given; or no key of --signed-by signed it",
    RUN: "the inputs do not fit, or the run failed",
    MISSING: "this installation lacks an operator or a package that the archive needs, or --packages names",
    INTERNAL: "an error of tracepack itself",
    INTERRUPTED: "interrupted with Ctrl-C",
}


class UsageError(TracepackError):
    """An argument of the command line is wrong, or names a file that cannot be read or written."""


def as_usage(error: TracepackError) -> UsageError:
    """The error of a file that an argument names, for one that a lower layer raised."""
    return UsageError(error.what, where=error.where, got=error.got, expected=error.expected, fix=error.fix)


def keys_of(read: Callable[[str], Any], paths: Sequence[str]) -> list[Any]:
    """The keys in the files that arguments name.

    Raises:
        UsageError: one cannot be read.
    """
    try:
        return [read(path) for path in paths]
    except errors.ArchiveError as error:
        raise as_usage(error) from error


_CODES: dict[type[TracepackError], int] = {
    errors.GoldenMismatchError: FAILED,
    UsageError: USAGE,
    errors.BatchError: USAGE,
    errors.ArchiveError: ARCHIVE,
    errors.GraphError: ARCHIVE,
    errors.DeviceError: DEVICE,
    errors.PlacementError: DEVICE,
    errors.TrustError: TRUST,
    errors.MissingExtraError: MISSING,
    errors.UnknownOperatorError: MISSING,
}


def exit_code(error: TracepackError) -> int:
    """The exit code for an error of the catalogue; errors of other classes come from a run.

    Example:
        >>> exit_code(errors.PlacementError("no"))
        4
        >>> exit_code(errors.NodeError("no"))
        6
    """
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), RUN)
