"""Where compiled code is kept between runs."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

from ..runtime.user_code import user_stacklevel


def cache_folder() -> Path:
    """`TRACEPACK_CACHE`, else `tracepack` in the user's cache directory; a folder of this process where that is
    not writable, as in many containers, with a warning that names the variable.
    """
    chosen = os.environ.get("TRACEPACK_CACHE")
    if chosen:
        return _writable(Path(chosen))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return _writable(Path(base) / "tracepack")


@cache
def _writable(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        found = Path(tempfile.mkdtemp(prefix="tracepack-"))
        warnings.warn(
            f"compiled code is kept for this process only: {wanted} cannot be written ({error.strerror}). "
            "Set TRACEPACK_CACHE to a folder that can.",
            stacklevel=user_stacklevel(),
        )
        return found
