"""How much longer the steps of a tokenizer may make a text, by its JSON.

One step alone grows a text a little. Steps in turns multiply: a character that NFKD makes eleven times as long and that
a replacement puts back again is eleven times as many characters. So what counts is the product over all steps.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

MOST_LEVELS = 40
_FACTORS = {
    "NFC": 3.0,
    "NFD": 3.0,
    "NFKC": 11.0,
    "NFKD": 11.0,
    "Lowercase": 1.5,
    "BertNormalizer": 8.0,
    "ByteLevel": 2.0,
}
"""Bytes out for bytes in, at most: Unicode Standard Annex 15 (section 9) for the forms; BERT's lowercases, puts spaces
around Chinese characters, and decomposes."""


_SEQUENCES = ("normalizers", "pretokenizers", "processors", "decoders")


def parts_of(data: Any) -> Iterator[dict[str, Any]]:
    """Every object in the JSON except for vocabularies; as many levels as `MOST_LEVELS`.

    Raises:
        RecursionError: there are more.
    """
    level = [data]
    for _ in range(MOST_LEVELS):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                yield item
                inner += [value for key, value in item.items() if key not in ("vocab", "merges")]
            elif isinstance(item, list):
                inner += item
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return
    raise RecursionError


def steps_of(data: Any) -> list[dict[str, Any]]:
    """The steps of a normalizer, a pre-tokenizer, a post-processor or a decoder, and the sequences around them.

    Raises:
        ValueError: one is no object with a type.
    """
    parts = [] if data is None else [data]
    parts += [step for part in parts_of(data) for name in _SEQUENCES for step in part.get(name) or ()]
    if not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts):
        raise ValueError
    return parts


def growth_of(data: dict[str, Any]) -> float:
    """The factor by which a tokenizer's steps may lengthen the bytes of a text, before its model or after it."""
    before = [*steps_of(data.get("normalizer")), *steps_of(data.get("pre_tokenizer"))]
    return max(math.prod(map(_factor, steps)) for steps in (before, steps_of(data.get("decoder"))))


def _factor(step: dict[str, Any]) -> float:
    kind = step["type"]
    if kind == "Replace":
        pattern, content = step.get("pattern"), step.get("content")
        text = pattern.get("String") if isinstance(pattern, dict) else None
        least = len(text.encode()) if isinstance(text, str) else 1
        return max(1.0, len(str(content).encode()) / max(least, 1))
    if kind == "Precompiled":
        return float(max(map(len, texts_of_charsmap(step.get("precompiled_charsmap"))), default=1) or 1)
    if kind == "Metaspace":  # each piece begins with its character, and is cut wherever that stands
        return float(max(2, len(str(step.get("replacement")).encode())))
    return _FACTORS.get(kind, 1.0)


def texts_of_charsmap(given: Any) -> list[bytes]:
    """The texts that the table of a normalizer puts in place of others: after a length, a trie of as many bytes.

    Raises:
        ValueError: it is malformed; TypeError: it is no text.
    """
    if given is None or given == "":
        return []
    data = base64.b64decode(given, validate=True)
    length = int.from_bytes(data[:4], "little")
    if len(data) < 4 or length % 4 or length + 4 > len(data):
        raise ValueError
    data[4 + length :].decode()
    return data[4 + length :].split(b"\0")
