"""``tracepack sign``: signs an archive with a private key, without torch."""

from __future__ import annotations

from ...serialization.container.signatures import sign as sign_file
from ..report import Report, Text


def sign(path: str, key: str) -> Report:
    """Signs an archive in place.

    Raises:
        ArchiveError: the file or the key cannot be read, or the file cannot be written.
    """
    public = sign_file(path, key)
    return Report({"file": path, "signed_by": public}, [Text(f"{path}: signed by the key {public}")])
