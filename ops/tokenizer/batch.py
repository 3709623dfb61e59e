"""What a tokenizer is given and what it returns: the texts of one call, and the rows of token ids as tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..graph.device import Device
from ..graph.errors import SignatureError
from ..runtime.user_code import user_line
from .call_settings import Encode, TokenizerAttributeError, TokenizerKeyError, wrong

MOST_TOKENS = 1 << 26
"""The token ids of one call, with padding."""

NOTHING = -1
"""The number of the word and of the text of a special token, where transformers gives None."""

_TEXTS = "a str, or a list of str"
_WORDS = "a list of str, or a list of such lists"


def batch_of(texts: Any, pairs: Any, words: bool) -> tuple[list[Any], bool]:
    """The entries that the `tokenizers` library encodes, and whether they are pairs.

    Args:
        texts: one text or several; a text is a list of words where `words` is set.
        pairs: the second texts, as many; or None.
        words: whether texts are split into words already.

    Raises:
        SignatureError: they are something else, or their numbers differ.
    """
    first = _several("text", texts, words)
    if pairs is None or (isinstance(texts, str) and isinstance(pairs, str) and not pairs):  # as in transformers
        return first, bool(first) and not isinstance(first[0], str) and not words
    second = _several("text_pair", pairs, words)
    if len(second) != len(first) or isinstance(texts, str) != isinstance(pairs, str):
        got, expected = _number(pairs, len(second)), _number(texts, len(first))
        raise wrong("text_pair", got, expected, what="the two texts of a pair come in equal numbers")
    if any(not isinstance(text, str) for text in first) and not words:
        raise wrong("text_pair", "a list", "None", what="`text` holds pairs already")
    return list(zip(first, second, strict=True)), True


def _number(given: Any, count: int) -> str:
    return "one text" if isinstance(given, str) else f"a list of {count}"


def _several(name: str, given: Any, words: bool) -> list[Any]:
    if isinstance(given, str) and not words:
        return [given]
    if not isinstance(given, list | tuple) or isinstance(given, str):
        raise wrong(name, type(given).__name__, _WORDS if words else _TEXTS, what="this is no text")
    if words:
        if all(isinstance(word, str) for word in given):
            return [list(given)] if given else []
        return [_row(name, row) for row in given]
    pairs = bool(given) and not isinstance(given[0], str)
    return [_pair(name, item) if pairs else _text(name, item) for item in given]


def _text(name: str, item: Any) -> str:
    if not isinstance(item, str):
        raise wrong(name, f"a list with {type(item).__name__}", _TEXTS, what="this is no text")
    return item


def _pair(name: str, item: Any) -> tuple[str, str]:
    if isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(text, str) for text in item):
        return (item[0], item[1])
    fix = "Pass is_split_into_words=True for lists of words." if isinstance(item, list | tuple) else ""
    raise wrong(name, f"a list with {type(item).__name__}", f"{_TEXTS}, or of pairs", what="this is no text", fix=fix)


def _row(name: str, row: Any) -> list[str]:
    if not isinstance(row, list | tuple) or not all(isinstance(word, str) for word in row):
        raise wrong(name, type(row).__name__, _WORDS, what="this is no list of words")
    return list(row)


class Padding:
    """How rows become equally long.

    Args:
        length: of every row; None for the longest one.
        multiple: rounds the length up to a multiple of it; None for no rounding.
        stored: the ids and the direction, as the `tokenizers` library writes them.
    """

    def __init__(self, length: int | None, multiple: int | None, stored: dict[str, Any]) -> None:
        self.length, self.multiple = length, multiple
        self.left = stored.get("direction", "right").lower() == "left"
        self.fills = {
            "input_ids": stored.get("pad_id", 0), "token_type_ids": stored.get("pad_type_id", 0), "attention_mask": 0,
            "special_tokens_mask": 1, "offset_mapping": (0, 0), "word_ids": NOTHING, "sequence_ids": NOTHING,
        }  # fmt: skip

    def target(self, lengths: Sequence[int]) -> int:
        """The length of all rows; a row that is longer stays as it is."""
        target = max(lengths, default=0) if self.length is None else self.length
        return target if self.multiple is None else -(-target // self.multiple) * self.multiple

    def filled(self, name: str, row: list[Any], target: int) -> list[Any]:
        """A row of a column at that length."""
        fill = [self.fills[name]] * (target - len(row))
        return fill + row if self.left else row + fill


def tensors(rows: Sequence[Any], settings: Encode, padding: Padding | None) -> dict[str, torch.Tensor]:
    """The columns of encoded texts as tensors.

    Raises:
        SignatureError: the rows differ in length, or are too many.
    """
    lengths = [len(row) for row in rows]
    target = padding.target(lengths) if padding is not None else max(lengths, default=0)
    if target * len(rows) > MOST_TOKENS:
        raise SignatureError(
            "a call of a tokenizer makes too many token ids", got=f"{len(rows)} rows of {target}",
            expected=f"{MOST_TOKENS} at most", fix="Pass fewer texts, or truncation=True and a max_length.",
        )  # fmt: skip
    if any(length > target or (padding is None and length < target) for length in lengths):
        raise _ragged(padding)
    found: dict[str, torch.Tensor] = {}
    fills = padding if padding is not None and min(lengths, default=0) < target else None
    for name, column in _columns(rows, settings):
        filled = column if fills is None else [fills.filled(name, row, target) for row in column]
        pair = (2,) if name == "offset_mapping" else ()
        made = torch.tensor(filled, dtype=torch.int64)
        found[name] = made if made.numel() else made.reshape(len(rows), target if rows else 0, *pair)
    if settings.return_length:
        found["length"] = torch.full((len(rows),), target, dtype=torch.int64)
    return found


def _columns(rows: Sequence[Any], settings: Encode) -> Iterator[tuple[str, list[Any]]]:
    """The columns by name, in the order in which transformers has them."""
    yield "input_ids", [row.ids for row in rows]
    if settings.return_token_type_ids:
        yield "token_type_ids", [row.type_ids for row in rows]
    if settings.return_attention_mask:
        yield "attention_mask", [row.attention_mask for row in rows]
    if settings.return_special_tokens_mask:
        yield "special_tokens_mask", [row.special_tokens_mask for row in rows]
    if settings.return_offsets_mapping:
        yield "offset_mapping", [row.offsets for row in rows]
    if settings.return_word_ids:
        yield "word_ids", [_numbers(row.word_ids) for row in rows]
    if settings.return_sequence_ids:
        yield "sequence_ids", [_numbers(row.sequence_ids) for row in rows]


def _numbers(column: Sequence[int | None]) -> list[int]:
    return [NOTHING if each is None else each for each in column]


def _ragged(padding: Padding | None) -> SignatureError:
    if padding is None:
        what, fix = "texts have different numbers of tokens and no padding", "Pass padding=True."
    else:
        what, fix = "a text is longer than max_length", "Pass truncation=True."
    return SignatureError(f"{what}, so that their ids are no tensor", where="argument 'padding'", fix=fix)


class TokenBatch(dict[str, Any]):
    """The columns of a batch by name, each also as an attribute: ``batch["input_ids"]`` and ``batch.input_ids``."""

    is_named_columns = True

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__"):  # Python and its libraries ask for these
            raise AttributeError(name)
        raise self._without(TokenizerAttributeError, name)

    def _without(self, kind: type[SignatureError], name: Any) -> SignatureError:
        fix = _WITHOUT.get(name, "")
        known = None if fix else ", ".join(self)
        what = f"the batch of a tokenizer op has no {name!r}"
        return kind(what, where=str(user_line() or ""), expected=known, fix=fix)

    def __missing__(self, name: Any) -> Any:
        if type(name) is int:
            what, fix = "the batch of a tokenizer op has columns, and no encodings", "Write batch['input_ids'][i]."
            raise SignatureError(what, where=str(user_line() or ""), got=name, fix=fix)
        raise self._without(TokenizerKeyError, name)

    @property
    def data(self) -> dict[str, Any]:
        """The columns as a plain dict."""
        return dict(self)

    def to(self, device: Any) -> TokenBatch:
        """The batch with its tensors on a device."""
        place = str(device) if isinstance(device, Device) else device  # that of an op: batch.to(op.device)
        return TokenBatch({name: column.to(place) for name, column in self.items()})


_ENCODINGS = "Its columns are batch['input_ids'][i], batch['attention_mask'][i] and what return_… asks for."
_WITHOUT = {
    "word_ids": "Pass return_word_ids=True, and read batch['word_ids'][i], which has -1 in place of None.",
    "words": "Pass return_word_ids=True, and read batch['word_ids'][i], which has -1 in place of None.",
    "sequence_ids": "Pass return_sequence_ids=True, and read batch['sequence_ids'][i], which has -1 in place of None.",
    "char_to_token": "Pass return_offsets_mapping=True, and ask for the token around a place: low, high = "
    "batch['offset_mapping'][i].unbind(-1), then ((low <= place) & (place < high)).int().argmax().",
    "token_to_chars": "Pass return_offsets_mapping=True, and read batch['offset_mapping'][i, token].",
    "token_to_word": "Pass return_word_ids=True, and read batch['word_ids'][i, token].",
    "token_to_sequence": "Pass return_sequence_ids=True, and read batch['sequence_ids'][i, token].",
    "word_to_tokens": "Pass return_word_ids=True, and write (batch['word_ids'][i] == word).nonzero().",
    "tokens": "Write op.convert_ids_to_tokens(batch['input_ids'][i]).",
    "encodings": _ENCODINGS, "ids": "Write batch['input_ids'][i].", "offsets": "Pass return_offsets_mapping=True.",
    "offset_mapping": "Pass return_offsets_mapping=True.",
    "special_tokens_mask": "Pass return_special_tokens_mask=True.",
    "token_type_ids": "Pass return_token_type_ids=True.",
    "length": "Pass return_length=True.",
    "overflow_to_sample_mapping": "Pass return_overflowing_tokens=True.",
    "convert_to_tensors": "The columns are tensors already.",
}  # fmt: skip

pytree.register_pytree_node(
    TokenBatch,
    lambda batch: (list(batch.values()), list(batch)),
    lambda values, names: TokenBatch(zip(names, values, strict=True)),
    flatten_with_keys_fn=lambda batch: (
        [(pytree.MappingKey(name), value) for name, value in batch.items()],
        list(batch),
    ),
)
