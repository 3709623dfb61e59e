"""Writes the output files of a command, each atomically."""

from __future__ import annotations

import contextlib
import os
import secrets

from .exit_codes import UsageError


def write_atomically(path: str, data: bytes) -> None:
    """Replaces the content of a file; the old file stays if that fails.

    Raises:
        UsageError: it cannot be written.
    """
    if path == os.devnull:
        return
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError("cannot write the file", where=repr(path), got=error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
