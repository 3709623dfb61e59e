"""Tokenizers of Hugging Face's library, which show neither their words nor how they cut texts off and fill them up."""

from __future__ import annotations

import sys
from typing import Any

from .open_files import Access

TOKENIZER = "a tokenizer"


def tokenizer_access(thing: Any) -> Access | None:
    """A name for a tokenizer, and functions that read and set what calls may change in it; None for other things.

    Words that are added stay there: nothing takes one out again.
    """
    library = sys.modules.get("tokenizers")
    if library is None or not isinstance(thing, library.Tokenizer):
        return None
    truncation, padding = thing.truncation, thing.padding

    def write(items: dict[Any, Any]) -> None:
        if thing.truncation != truncation:
            thing.no_truncation() if truncation is None else thing.enable_truncation(**truncation)
        if thing.padding != padding:
            thing.no_padding() if padding is None else thing.enable_padding(**padding)

    return TOKENIZER, lambda: {"": f"{thing.get_vocab_size()} {thing.truncation} {thing.padding}"}, write
