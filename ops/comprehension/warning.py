"""The one warning of comprehensions, which everything here may import."""

from __future__ import annotations


class ComprehensionWarning(UserWarning):
    """Something is slower than it could be, or was ignored; results are not affected."""
