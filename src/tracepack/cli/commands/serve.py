"""``tracepack serve``: answers requests by HTTP and gRPC until a signal ends it."""

from __future__ import annotations

import sys
from typing import Any

from ...serving import serve as run_server
from ..exit_codes import UsageError
from ..report import Report


def serve(**options: Any) -> Report:
    """Serves models until a signal comes; where it listens is a line of JSON on standard output.

    Args:
        options: as of `tracepack.serving.serve`.

    Raises:
        UsageError: a port is taken, or an address is none of this machine.
        TracepackError: a model cannot be served, or the extra is not installed.
    """
    try:
        run_server(**options, say=_say)
    except OSError as error:
        raise UsageError("the server cannot start", got=error) from error
    return Report({})


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
