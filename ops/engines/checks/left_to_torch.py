"""The errors by which an engine hands a call back, or a region."""

from __future__ import annotations


class LeftToTorch(Exception):
    """Of such data an engine makes what torch does not, so that the flat function runs; the text is the reason."""


class Unfit(Exception):
    """A region holds what an engine must leave to torch; the text is the reason."""
