"""The extra ``serve``: what serving needs beside torch."""

from __future__ import annotations

import importlib.util

from ..ops.graph.errors import MissingExtraError


def require_extra(*modules: str) -> None:
    """Checks that packages of the extra are installed.

    Raises:
        MissingExtraError: one is not.
    """
    missing = [name for name in modules if not _is_installed(name)]
    if missing:
        raise MissingExtraError(
            f"serving needs {', '.join(missing)}, which is not installed",
            fix=f"pip install 'tracepack[serve{',ray' if 'ray.serve' in missing else ''}]'",
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of the package around it
        return False
