"""What `difflib` compares: each comparison of two letters would be a condition, hundreds of them after many seconds."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import wraps
from typing import Any

from .....ops.runtime.user_code import user_line
from ....proxies.base import is_traced
from ....rules.advice.before_calls import before_call
from ...hooks import active
from ...python.operations import holds_traced


def _refusing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def given(matcher: Any, sequence: Any) -> Any:
        recorder = active()
        if recorder is not None and (is_traced(sequence) or (type(sequence) is list and holds_traced(sequence))):
            form = before_call(user_line()) or "Compare before, and pass what it gives as an argument"
            recorder.refuse("difflib compares letter by letter, which no recording follows", f"{form}.")
        return plain(matcher, sequence)

    return given


COMPARISONS = [(difflib.SequenceMatcher, name, _refusing) for name in ("set_seq1", "set_seq2")]
"""The methods that get what is compared, with what stands for them in a recording."""
