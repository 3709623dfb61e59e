"""The tokenizer as a kernel: texts to token ids, and token ids to texts.

It stores the JSON of the `tokenizers` package and runs on that package; loading it does not need `transformers`.
The library pads and truncates by settings of the tokenizer itself, which threads would change under each other. So
rows are padded here, and each kind of truncation has a tokenizer of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import torch

from ..graph.errors import GraphError, SignatureError, TracepackError
from ..graph.graph import Value
from ..graph.kernel import Kernel
from ..runtime.safety.tokenizer_growth import growth_of
from ..runtime.safety.tokenizer_json import check_stride, check_tokenizer
from .batch import Padding, batch_of, tensors
from .call_settings import Decode, Encode, checked_settings, settings_of, wrong
from .cut_pieces import MOST_PIECES, check_overlap, check_pieces, cost_of_pieces
from .decode import clean, rows_of
from .tokenizers_package import Panics, brief, tokenizers

MOST_TOKENIZERS = 4
MOST_READY = 64  # kinds of calls that are remembered
MOST_CHARACTERS = 1 << 28
"""The length of the texts that one call may decode."""


@dataclass(frozen=True)
class Habits:
    """What a tokenizer of `transformers` does otherwise than its JSON says; it is written into each call.

    Attributes:
        encoding: arguments that a call has where it does not name them.
        cleans: whether decoding removes spaces before punctuation.
        tokens: its special tokens by name, such as ``"mask_token"``, and their ids, such as ``"mask_token_id"``.
    """

    encoding: Mapping[str, Any] = field(default_factory=dict)
    cleans: bool = False
    tokens: Mapping[str, Any] = field(default_factory=dict)


class TokenizerKernel(Kernel):
    """Turns strings into padded token ids, and back.

    Args:
        source: the JSON text of a `tokenizers.Tokenizer`, with its truncation and padding.
        habits: of the object that it was made from.
    """

    kind: ClassVar[str] = "tokenizer"
    own_check: ClassVar[bool] = True
    varying: ClassVar[bool] = True
    on_host: ClassVar[bool] = True

    def __init__(self, source: str, habits: Habits | None = None) -> None:
        self._json, self.habits = source, Habits() if habits is None else habits
        self._lock = threading.Lock()
        self._made: dict[Any, Any] = {}
        self._ready: dict[tuple[Encode, bool], tuple[dict[str, Any] | None, Padding | None]] = {}
        self.plain = self._tokenizer()
        self._padding, self._truncation = self.plain.padding, self.plain.truncation
        self.plain.no_padding()
        self._spare: Any = self.plain

    def _check_added(self, tokens: Any) -> None:
        """Refuses added tokens of which the normalizer leaves nothing, or spaces that take those on their sides.

        The library looks for what is left: nothing is found at every byte, also inside of a character.

        Raises:
            GraphError: there is one.
        """
        normalizer = self.plain.normalizer
        for token in tokens if isinstance(tokens, list) and normalizer is not None else ():
            content, plain = token.get("content"), token.get("normalized") is False
            if not content or plain:
                continue
            with Panics():
                left = normalizer.normalize_str(content)
            if not left or not (left.strip() or token.get("lstrip") is token.get("rstrip") is False):
                what = "the tokenizer of a file is refused: its normalizer leaves nothing of an added token"
                raise GraphError(what, got=repr(content)[:80])

    def _tokenizer(self) -> Any:
        library = tokenizers()
        with Panics():
            return library.Tokenizer.from_str(self._json)

    @property
    def writes(self) -> bool:
        """No: it takes texts."""
        return False

    @property
    def name(self) -> str:
        """Always ``"tokenizer"``."""
        return "tokenizer"

    def description(self) -> dict[str, Any]:
        """An empty description: the JSON holds everything, and each call its arguments."""
        return {}

    def assets(self) -> dict[str, bytes]:
        """The tokenizer's JSON."""
        return {"tokenizer.json": self._json.encode()}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> TokenizerKernel:
        """Makes the tokenizer from its JSON.

        Raises:
            GraphError: the JSON is malformed, or asks for too much; TrustError: its time cannot be bounded.
        """
        source = cls._source(assets)
        check_tokenizer(source)
        found = cls(source)
        found._check_added(json.loads(source).get("added_tokens"))
        return found

    @classmethod
    def build_trusted(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> TokenizerKernel:
        """Makes the tokenizer from JSON that the caller trusts."""
        return cls(cls._source(assets))

    @staticmethod
    def _source(assets: Mapping[str, bytes]) -> str:
        try:
            return assets["tokenizer.json"].decode()
        except (KeyError, ValueError) as error:
            raise GraphError("a tokenizer has no JSON", expected="the asset tokenizer.json") from error

    def check_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Checks the arguments of a node of a file.

        Raises:
            GraphError: they are not those of a tokenizer, or ask for too much.
        """
        try:
            settings = settings_of(kwargs, decided=Value)
            if not 0 < len(args) <= (1 if isinstance(settings, Decode) else 2):
                raise SignatureError("a wrong number of arguments", got=len(args))
        except TracepackError as error:
            raise GraphError("the tokenizer of a file is refused: its call", got=brief(error)) from None

    def __call__(self, texts: Any, pairs: Any = None, **given: Any) -> Any:
        """Tokenizes texts, or decodes token ids.

        Args:
            texts: N strings, or one, which counts as a list of one; or ids.
            pairs: the second text of each pair.
            given: the settings of the call, see `call_settings`.

        Returns:
            For texts ``input_ids``, ``token_type_ids`` and ``attention_mask``, each int64 of shape [N, L], with L the
            length of the longest text in tokens, and what else the settings ask for. For ids a text, or a list.
        """
        settings = checked_settings(*((name, type(value), value) for name, value in given.items()))
        if isinstance(settings, Decode):
            return self._decoded(texts, settings)
        batch, paired = batch_of(texts, pairs, settings.is_split_into_words)
        truncation, padding = self._cut_and_filled(settings, paired)
        if truncation is not None:
            self._check_pieces(batch, settings, truncation, paired)
        with Panics():
            encoded = self._with(truncation).encode_batch(
                batch, is_pretokenized=settings.is_split_into_words, add_special_tokens=settings.add_special_tokens
            )
        if not settings.return_overflowing_tokens:
            return tensors(encoded, settings, padding)
        rows = [row for each in encoded for row in (each, *each.overflowing)]
        origins = [index for index, each in enumerate(encoded) for _ in range(1 + len(each.overflowing))]
        found = tensors(rows, settings, padding)
        return {**found, "overflow_to_sample_mapping": torch.tensor(origins, dtype=torch.int64)}

    # -- truncation and padding --------------------------------------------------------------------------------

    def _cut_and_filled(self, settings: Encode, paired: bool) -> tuple[dict[str, Any] | None, Padding | None]:
        """The truncation and the padding of a call, which are found once for all calls like it."""
        key = settings, paired
        if (found := self._ready.get(key)) is None:
            if len(self._ready) >= MOST_READY:
                self._ready.clear()
            truncation = self._truncated(settings, paired)
            found = self._ready[key] = truncation, self._padded(settings, truncation)
        return found

    def _with(self, truncation: Mapping[str, Any] | None) -> Any:
        """A tokenizer with a truncation, which no other thread changes."""
        key = None if truncation is None else tuple(truncation.items())
        with self._lock:
            if key not in self._made:
                if len(self._made) >= MOST_TOKENIZERS:
                    self._made.pop(next(iter(self._made)))
                found, self._spare = self._spare or self._tokenizer(), None
                found.no_padding()
                with Panics():
                    if truncation is None:
                        found.no_truncation()
                    else:
                        found.enable_truncation(**truncation)
                self._made[key] = found
            return self._made[key]

    def _truncated(self, settings: Encode, paired: bool) -> dict[str, Any] | None:
        """The truncation of a call; None for none.

        Raises:
            SignatureError: it leaves no room for a text.
        """
        stored = self._truncation or {}
        strategy = settings.truncation or stored.get("strategy")
        length = settings.max_length if settings.truncation and settings.max_length else stored.get("max_length")
        if strategy in (None, "do_not_truncate") or length is None:
            return None
        stride = settings.stride if settings.stride is not None else 0 if settings.truncation else stored.get("stride")
        added = self._added[paired] if settings.add_special_tokens else 0
        if length < added:
            what = f"the {added} special tokens around a text have no room"
            raise wrong("max_length", length, f"{added + 1} at least", what=what)
        # The stride changes nothing but the further pieces of a text, which take time even where nobody asks for them.
        stride = (stride or 0) if settings.return_overflowing_tokens else 0
        check_stride(stride, length - added)
        direction = settings.truncation_side or stored.get("direction", "right")
        return {"max_length": length, "stride": stride, "strategy": strategy, "direction": direction}

    def _check_pieces(
        self, batch: Sequence[Any], settings: Encode, truncation: Mapping[str, Any], paired: bool
    ) -> None:
        """Refuses texts whose pieces are too many: the library makes them, in all combinations, where nobody asks."""
        added = self._added[paired] if settings.add_special_tokens else 0
        pairs = batch if paired else [(text,) for text in batch]
        if paired and truncation["stride"]:
            check_overlap(self._sizes(pairs, settings), added, truncation)
        sizes = [[int(_bytes(text) * self._growth) for text in pair] for pair in pairs]
        if cost_of_pieces(sizes, added, truncation) > MOST_PIECES:
            check_pieces(self._sizes(pairs, settings), added, truncation)

    def _sizes(self, pairs: Sequence[Any], settings: Encode) -> list[list[int]]:
        """The tokens of all texts."""
        with Panics():
            plain = self._with(None)
            count = partial(plain.encode, is_pretokenized=settings.is_split_into_words, add_special_tokens=False)
            return [[len(count(text)) for text in pair] for pair in pairs]

    @cached_property
    def _growth(self) -> float:
        """How many tokens a byte of a text may become."""
        return growth_of(json.loads(self._json))

    def _padded(self, settings: Encode, truncation: Mapping[str, Any] | None) -> Padding | None:
        """The padding of a call; None for none."""
        stored = self._padding
        strategy = settings.padding or ("longest" if stored is not None else "do_not_pad")
        if strategy == "do_not_pad":
            return None
        if stored is None:
            raise wrong("padding", strategy, what="the tokenizer has no padding token", fix="Script one that has.")
        length = None if settings.padding else stored.get("length")
        multiple = settings.pad_to_multiple_of or (None if settings.padding else stored.get("pad_to_multiple_of"))
        if strategy == "max_length":
            length = settings.max_length or (self._truncation or {}).get("max_length")
            if length is None:
                raise wrong("max_length", None, "a length, for padding='max_length'")
        if settings.padding and settings.pad_to_multiple_of and truncation and truncation["max_length"] % multiple:
            raise wrong("pad_to_multiple_of", multiple, f"a divisor of max_length={truncation['max_length']}")
        side = {} if settings.padding_side is None else {"direction": settings.padding_side}
        return Padding(length, multiple, {**stored, **side})

    # -- decoding ----------------------------------------------------------------------------------------------

    def _decoded(self, ids: Any, settings: Decode) -> Any:
        rows, many = rows_of(ids)
        if sum(map(len, rows)) * self._longest > MOST_CHARACTERS:
            raise SignatureError("too many token ids to decode", got=sum(map(len, rows)), where="argument 'ids'")
        if settings.task == "tokens":
            if many:
                raise wrong("ids", "rows of ids", "the ids of one text", what="tokens are made for one text")
            return self._tokens(rows[0], settings.skip_special_tokens)
        with Panics():
            texts = [self.plain.decode(row, skip_special_tokens=settings.skip_special_tokens) for row in rows]
        if settings.clean_up_tokenization_spaces:
            texts = list(map(clean, texts))
        return texts if many or settings.task == "batch_decode" else texts[0]

    def _tokens(self, ids: Sequence[int], skip: bool) -> list[str]:
        kept = [each for each in ids if not skip or each not in self._special]
        found = [self.plain.id_to_token(each) for each in kept]
        if None in found:
            raise wrong("ids", kept[found.index(None)], "an id of the vocabulary")
        return found

    @cached_property
    def _added(self) -> tuple[int, int]:
        """How many special tokens stand around a text, and around a pair."""
        return self.plain.num_special_tokens_to_add(False), self.plain.num_special_tokens_to_add(True)

    @cached_property
    def _longest(self) -> int:
        """The length of the longest token."""
        return max(map(len, self.plain.get_vocab()), default=0)

    @cached_property
    def _special(self) -> frozenset[int]:
        """The ids of special tokens."""
        return frozenset(key for key, token in self.plain.get_added_tokens_decoder().items() if token.special)

    @property
    def is_bpe(self) -> bool:
        """Whether it is of the kind whose texts have no spaces to remove."""
        return type(self.plain.model).__name__ == "BPE"

    @property
    def has_limit(self) -> bool:
        """Whether it truncates texts by itself."""
        return self._truncation is not None


def _bytes(text: Any) -> int:
    """The bytes of a text, or of a list of words."""
    return len(text.encode(errors="replace")) if isinstance(text, str) else sum(map(_bytes, text))
