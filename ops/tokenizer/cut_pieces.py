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


def check_overlap(sizes: Sequence[Sequence[int]], added: int, truncation: Mapping[str, Any]) -> None:
    """Refuses pairs of which a part would be cut to no more than its pieces have in common: the library panics there.

    Raises:
        SignatureError: there is one.
    """
    stride: int = truncation["stride"]
    for pair in sizes:
        for size, kept in zip(pair, _kept(pair, truncation["max_length"] - added, truncation["strategy"]), strict=True):
            if 0 < kept <= stride and kept < size:
                raise SignatureError(
                    "the pieces of a part of a pair have no room beside the other part",
                    where="argument 'stride'", got=f"{stride}, for parts of {' and '.join(map(str, pair))} tokens",
                    expected=f"{kept - 1} at most", fix="Give a larger max_length, or cut the other part before.",
                )  # fmt: skip


def _kept(sizes: Sequence[int], room: int, strategy: str) -> Sequence[int]:
    """How many tokens the library leaves of both parts of a pair."""
    first, second = sizes
    if first + second <= room:
        return sizes
    if strategy == "only_first":
        return room - second, second
    if strategy == "only_second":
        return first, room - first
    shorter = min(sizes)
    if 2 * shorter > room:
        low, high = room // 2, room - room // 2
    else:
        low, high = shorter, room - shorter
    return (low, high) if first <= second else (high, low)
