"""What the pieces of texts that are truncated cost.

The `tokenizers` library keeps what it cuts off, as further pieces of the text, and of a pair each piece of the one with
each of the other, with the special tokens around all of them; so two long texts make a number of pieces that no memory
holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..graph.errors import SignatureError

MOST_PIECES = 1 << 21
"""Tokens in all pieces of one call, a gigabyte: of a pair each takes up to 540 bytes while pieces are joined. Texts of
which there are more are their own measure."""
_MOST_REPEATED = 4
_OVERHEAD = 32  # tokens that take the memory of a piece without any


def cost_of_pieces(sizes: Sequence[Sequence[int]], added: int, truncation: Mapping[str, Any]) -> int:
    """The tokens in all pieces of texts.

    Args:
        sizes: the tokens of each text, or of both of a pair.
        added: the special tokens around them.
        truncation: the settings of the library, with `max_length`, `stride` and `strategy`.
    """
    length: int = truncation["max_length"]
    room = max(length - added, 1)
    return sum(_pieces(pair, room, truncation) for pair in sizes) * (length + _OVERHEAD)


def _pieces(sizes: Sequence[int], room: int, truncation: Mapping[str, Any]) -> int:
    if sum(sizes) <= room:
        return 0
    stride: int = truncation["stride"]

    def each(size: int, room: int) -> int:
        return 1 + size // max(room - stride, 1)

    if len(sizes) == 1:
        return each(sizes[0], room)
    if truncation["strategy"] == "longest_first":  # neither is cut below the half
        found = 1
        for size in sizes:
            found *= each(size, room // 2) if size > room // 2 else 1
        return found
    cut, other = sizes if truncation["strategy"] == "only_first" else reversed(sizes)
    return each(cut, room - other)


def check_pieces(sizes: Sequence[Sequence[int]], added: int, truncation: Mapping[str, Any]) -> None:
    """Refuses texts whose pieces are too many.

    Raises:
        SignatureError: they are.
    """
    found = cost_of_pieces(sizes, added, truncation)
    if found > max(MOST_PIECES, _MOST_REPEATED * sum(map(sum, sizes))):
        raise SignatureError(
            "the pieces of texts that are cut are too many",
            where="argument 'max_length'", got=f"{found} tokens for texts of {sum(map(sum, sizes))}",
            expected=f"{MOST_PIECES} at most", fix="Cut long texts before they are tokenized.",
        )  # fmt: skip
