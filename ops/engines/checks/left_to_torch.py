"""The error by which an engine hands a call back."""

from __future__ import annotations


class LeftToTorch(Exception):
    """Of such data an engine makes what torch does not, so that the flat function runs; the text is the reason."""
