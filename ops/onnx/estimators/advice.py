"""Advice for estimators that cannot be converted: a form that was tried, or that none is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .rows import Rows, rows_of

_OTHERWISE = "Compute the same in the function that you trace, in numpy or torch."
_OTHER = {"float64": "float32", "float32": "float64"}


_APART = (
    "Words of one letter fall out before neighbours are joined, which no ONNX model does: fit it with "
    "token_pattern='[a-zA-Z0-9]+', or ngram_range=(1, 1)."
)


def working_fix(parts: Iterable[Any], rows: Rows, convert: Callable[[Rows], Any]) -> str:
    """What to do about an estimator that is refused.

    Args:
        parts: the estimator, and those that it holds.
        rows: the example that it was refused with.
        convert: converts it with other rows; raises where that is refused too.
    """
    for dtype, other in _OTHER.items():
        columns = [name for name, each in rows.dtypes().items() if each == dtype]
        if not columns:
            continue
        table = hasattr(rows.data, "iloc")
        form = dict.fromkeys(columns, other) if table else other
        try:
            convert(rows_of(rows.data.astype(form)))
        except Exception:  # whatever stops it, this form is none
            continue
        verb = "It runs" if other == "float32" else "It answers alike"
        return f"{verb} in {other}: pass example=X.astype({form!r}); the op then takes {other}."
    return _APART if any(map(_joins_words, parts)) else _OTHERWISE


def _joins_words(estimator: Any) -> bool:
    """Whether a vectorizer counts neighbours among the words that its usual pattern finds."""
    settings = (getattr(estimator, name, None) for name in ("analyzer", "token_pattern", "ngram_range"))
    analyzer, pattern, lengths = settings
    return analyzer == "word" and pattern == r"(?u)\b\w\w+\b" and max(lengths or (1,)) > 1
