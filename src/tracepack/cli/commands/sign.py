"""``tracepack sign``: signs an archive with a private key, without torch."""

from __future__ import annotations

from ...serialization.container.signatures import private_key
from ...serialization.container.signatures import sign as sign_file
from ..exit_codes import keys_of
from ..report import Report, Text


def sign(path: str, key: str) -> Report:
    """Signs an archive in place.

    Raises:
        UsageError: the key cannot be read; ArchiveError: the file cannot be read or written.
    """
    public = sign_file(path, *keys_of(private_key, [key]))
    return Report({"file": path, "signed_by": public}, [Text(f"{path}: signed by the key {public}")])
