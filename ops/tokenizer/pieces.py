"""What the pieces of texts that are truncated cost.

The `tokenizers` library keeps what it cuts off, as further pieces of the text, and of a pair each piece of the one with
each of the other, with the special tokens around all of them; so two long texts make a number of pieces that no memory
holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..graph.errors import SignatureError

MOST_PIECES = 1 << 23
"""Tokens in all pieces of one call, a gigabyte; texts of which there are more are their own measure."""
_MOST_REPEATED = 4
_OVERHEAD = 32  # tokens that take the memory of a piece without any


def cost_of_pieces(sizes: Sequence[Sequence[int]], added: int, truncation: Mapping[str, Any]) -> int:
    """The tokens in all pieces of texts.

    Args:
        sizes: the tokens of each text, or of both of a pair.
        added: the special tokens around them.
        truncation: the settings of the library, with `max_length`, `stride` and `strategy`.
    """
    room = max(truncation["max_length"] - added, 1)
    return sum(_pieces(pair, room, truncation) for pair in sizes) * (truncation["max_length"] + _OVERHEAD)


def _pieces(sizes: Sequence[int], room: int, truncation: Mapping[str, Any]) -> int:
    if sum(sizes) <= room:
        return 0
    strategy, stride = truncation["strategy"], truncation["stride"]
    each = lambda size, room: 1 + size // max(room - stride, 1)  # noqa: E731 - short
    if len(sizes) == 1:
        return int(each(sizes[0], room))
    if strategy == "longest_first":  # neither is cut below the half
        found = 1
        for size in sizes:
            found *= each(size, room // 2) if size > room // 2 else 1
        return found
    cut, other = sizes if strategy == "only_first" else reversed(sizes)
    return int(each(cut, room - other))


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
