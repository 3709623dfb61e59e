"""The extra ``serve``: what serving needs beside torch."""

from __future__ import annotations

import importlib.util

from ..ops.graph.errors import MissingExtraError


def require_extra(*modules: str) -> None:
    """Checks that packages of the extra are installed.

    Raises:
        MissingExtraError: one is not.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"serving needs {', '.join(missing)}, which is not installed", fix="pip install 'tracepack[serve]'"
        )
