"""Token ids back to texts: the ids that a call gives, and what `transformers` does to a decoded text."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .call_settings import wrong

_FORMS = "a tensor of integers, or a list of them"
_LARGEST = (1 << 32) - 1


def rows_of(ids: Any) -> tuple[list[list[int]], bool]:
    """The ids of each text, and whether several were given.

    Raises:
        SignatureError: they are no ids.
    """
    found = _plain(ids)
    if not isinstance(found, list):
        found = [found]
    many = bool(found) and all(isinstance(row, list) for row in found)
    rows: list[list[int]] = found if many else [found]
    for row in rows:
        for each in row:
            if type(each) is not int:
                raise wrong("ids", type(each).__name__, _FORMS, what="these are no token ids")
            if not 0 <= each <= _LARGEST:
                fix = "Replace what stands for no token: ids.masked_fill(ids < 0, pad_token_id)."
                raise wrong("ids", each, "numbers from 0 on", fix=fix)
    return rows, many


def _plain(ids: Any) -> Any:
    if isinstance(ids, torch.Tensor | np.ndarray | np.generic):
        if ids.ndim > 2:
            raise wrong("ids", f"{ids.ndim} dimensions", "one row of ids, or a row for each text", what="too deep")
        return ids.tolist()
    if isinstance(ids, list | tuple):
        return [_plain(each) for each in ids]
    return ids


_SPACED = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
           (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))  # fmt: skip


def clean(text: str) -> str:
    """A text without spaces before punctuation and contractions, as `clean_up_tokenization` of `transformers` does."""
    for old, new in _SPACED:
        text = text.replace(old, new)
    return text
