"""Writes JSON of tokenizers: steps, models, templates and settings of every kind, with values at the edges of each."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from tracepack.ops.runtime.safety.tokenizer_json import KNOWN_PATTERNS

Pick = random.Random
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    31,
    64,
    255,
    256,
    257,
    4096,
    2**16,
    2**17,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64,
    10**30,
)
TEXTS = (
    "", " ", "a", "b", "ab", "aa", "aaaaaaaaaaaaaaaa", "\u2581", "##", "</w>", "[UNK]", "[PAD]", "\n", "\0", "\u0301",
    "\ufdfa", "\u00df", "\u0130", "\U0001f468\u200d\U0001f469", "\u4e2d", "x" * 300, "$A", "'",
)  # fmt: skip
_BEHAVIOURS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_SCHEMES = ("always", "never", "first")


def flag(pick: Pick) -> bool:
    """A truth value."""
    return pick.random() < 0.5


def text(pick: Pick) -> str:
    """A short text, with odd characters."""
    return pick.choice(TEXTS) if pick.random() < 0.8 else pick.choice(TEXTS) + pick.choice(TEXTS)


def number(pick: Pick) -> int:
    """A number, mostly a small one."""
    return pick.choice(NUMBERS[:8]) if pick.random() < 0.8 else pick.choice(NUMBERS)


def pattern(pick: Pick) -> Any:
    """What is looked for."""
    if pick.random() < 0.5:
        return {"String": text(pick)}
    return {"Regex": pick.choice(sorted(KNOWN_PATTERNS))}


def charsmap(pick: Pick) -> str:
    """A table of characters: a trie of random or empty units, and texts."""
    kind = pick.randrange(4)
    units = 4 * pick.choice((0, 1, 2, 64, 256, 512))
    trie = b"\0" * units if kind == 0 else bytes(pick.randrange(256) for _ in range(units))
    if kind == 1:  # units that point to each other
        trie = b"".join(pick.randrange(1 << 32).to_bytes(4, "little") for _ in range(units // 4))
    length = len(trie) if pick.random() < 0.8 else pick.choice((0, 4, 1 << 20))
    data = length.to_bytes(4, "little") + trie + "\0".join(text(pick) for _ in range(3)).encode() + b"\0"
    return base64.b64encode(data).decode()


def _several(name: str, inner: Callable[[Pick], Any]) -> Callable[[Pick], dict[str, Any]]:
    return lambda pick: {name: [inner(pick) for _ in range(pick.choice((0, 1, 2, 3, 5)))]}


def _byte_level(pick: Pick) -> dict[str, Any]:
    return {"add_prefix_space": flag(pick), "trim_offsets": flag(pick), "use_regex": flag(pick)}


def _metaspace(pick: Pick) -> dict[str, Any]:
    mark = pick.choice(("\u2581", "_", " ", "a", "\u0301"))
    return {"replacement": mark, "prepend_scheme": pick.choice(_SCHEMES), "split": flag(pick)}


def _replace(pick: Pick) -> dict[str, Any]:
    return {"pattern": pattern(pick), "content": text(pick)}


def _around(pick: Pick) -> dict[str, Any]:
    pair = [[text(pick), number(pick)] for _ in range(2)]
    return {"sep": pair[0], "cls": pair[1], "trim_offsets": flag(pick), "add_prefix_space": flag(pick)}


def _template(pick: Pick) -> dict[str, Any]:
    names = [text(pick) or "s" for _ in range(2)]

    def row(parts: tuple[str, ...]) -> list[Any]:
        found = [{"Sequence": {"id": part, "type_id": number(pick) % 2**32}} for part in parts if pick.random() < 0.9]
        for _ in range(pick.randrange(3)):
            special = {"SpecialToken": {"id": pick.choice(names), "type_id": 0}}
            found.insert(pick.randrange(len(found) + 1), special)
        return found

    tokens = {
        name: {"id": name, "ids": [number(pick) for _ in range(count)], "tokens": [text(pick) for _ in range(count)]}
        for name in names
        for count in (pick.choice((0, 1, 1, 1, 2, 70)),)
    }
    return {"single": row(("A",)), "pair": row(("A", "B")), "special_tokens": tokens}


def _ctc(pick: Pick) -> dict[str, Any]:
    return {"pad_token": text(pick), "word_delimiter_token": text(pick), "cleanup": flag(pick)}


def _bert(pick: Pick) -> dict[str, Any]:
    names = ("clean_text", "handle_chinese_chars", "lowercase", "strip_accents")
    return {name: pick.choice((True, False, None)) if name == "strip_accents" else flag(pick) for name in names}


def _nothing(pick: Pick) -> dict[str, Any]:
    return {}


def _of(kinds: dict[str, Callable[[Pick], dict[str, Any]]]) -> Callable[[Pick], dict[str, Any]]:
    names = list(kinds)

    def make(pick: Pick) -> dict[str, Any]:
        name = pick.choice(names)
        return {"type": name, **kinds[name](pick)}

    return make


def _normalizer(pick: Pick) -> dict[str, Any]:
    return _of(NORMALIZERS)(pick)


def _pre_tokenizer(pick: Pick) -> dict[str, Any]:
    return _of(PRE_TOKENIZERS)(pick)


def _processor(pick: Pick) -> dict[str, Any]:
    return _of(PROCESSORS)(pick)


def _decoder(pick: Pick) -> dict[str, Any]:
    return _of(DECODERS)(pick)


NORMALIZERS: dict[str, Callable[[Pick], dict[str, Any]]] = {
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"), _nothing),
    "BertNormalizer": _bert,
    "Strip": lambda pick: {"strip_left": flag(pick), "strip_right": flag(pick)},
    "Prepend": lambda pick: {"prepend": text(pick)},
    "Replace": _replace,
    "Precompiled": lambda pick: {"precompiled_charsmap": charsmap(pick)},
    "Sequence": _several("normalizers", _normalizer),
}
PRE_TOKENIZERS: dict[str, Callable[[Pick], dict[str, Any]]] = {
    **dict.fromkeys(("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"), _nothing),
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "CharDelimiterSplit": lambda pick: {"delimiter": pick.choice((" ", "a", "\0", "\u0301"))},
    "Digits": lambda pick: {"individual_digits": flag(pick)},
    "Punctuation": lambda pick: {"behavior": pick.choice(_BEHAVIOURS)},
    "FixedLength": lambda pick: {"length": number(pick)},
    "Split": lambda pick: {"pattern": pattern(pick), "behavior": pick.choice(_BEHAVIOURS), "invert": flag(pick)},
    "Sequence": _several("pretokenizers", _pre_tokenizer),
}
PROCESSORS: dict[str, Callable[[Pick], dict[str, Any]]] = {
    "ByteLevel": _byte_level,
    "BertProcessing": _around,
    "RobertaProcessing": _around,
    "TemplateProcessing": _template,
    "Sequence": _several("processors", _processor),
}
DECODERS: dict[str, Callable[[Pick], dict[str, Any]]] = {
    **dict.fromkeys(("ByteFallback", "Fuse"), _nothing),
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Strip": lambda pick: {"content": pick.choice((" ", "a", "\u0301")), "start": number(pick), "stop": number(pick)},
    "WordPiece": lambda pick: {"prefix": text(pick), "cleanup": flag(pick)},
    "BPEDecoder": lambda pick: {"suffix": text(pick)},
    "CTC": _ctc,
    "Sequence": _several("decoders", _decoder),
}


def vocabulary(pick: Pick) -> dict[str, Any]:
    """Pieces and their ids, with gaps, twins and numbers that no table has."""
    pieces = dict.fromkeys([text(pick) for _ in range(pick.choice((0, 1, 5, 20)))])
    letters = [*"ab", "##a", "##b", "\u2581a", "<0x61>", "\u0120a"]
    plain = {piece: index for index, piece in enumerate([*letters, *pieces])}
    return {piece: number(pick) if pick.random() < 0.1 else index for piece, index in plain.items()}


def _unigram(pick: Pick) -> dict[str, Any]:
    scores = (-1.0, 0.0, 1.0, -1e300, 1e308, -1e-300)
    rows = [[piece, pick.choice(scores)] for piece in vocabulary(pick)]
    rows += [[text(pick), -2.0] for _ in range(pick.randrange(3))]  # twins
    unknown = pick.choice((None, 0, 1, len(rows), number(pick)))
    return {"unk_id": unknown, "vocab": rows, "byte_fallback": flag(pick)}


def _pairs(pick: Pick) -> dict[str, Any]:
    vocab = vocabulary(pick)
    parts = list(vocab)
    merges = [["a", "b"]] if "ab" in vocab else []
    merges += [[pick.choice(parts), pick.choice(parts)] for _ in range(pick.choice((0, 1, 5)))]
    return {
        "vocab": vocab, "merges": merges if flag(pick) else [" ".join(pair) for pair in merges],
        "dropout": pick.choice((None, None, 0.0, 0.5, 1.0, 2.0, -1.0)),
        "unk_token": pick.choice((None, text(pick))), "continuing_subword_prefix": pick.choice((None, "", "##")),
        "end_of_word_suffix": pick.choice((None, "", "</w>")), "fuse_unk": flag(pick), "byte_fallback": flag(pick),
        "ignore_merges": flag(pick),
    }  # fmt: skip


def _word_pieces(pick: Pick) -> dict[str, Any]:
    return {
        "vocab": vocabulary(pick),
        "unk_token": text(pick),
        "continuing_subword_prefix": pick.choice(("##", "", text(pick))),
        "max_input_chars_per_word": pick.choice((100, 256, number(pick))),
    }


MODELS: dict[str, Callable[[Pick], dict[str, Any]]] = {
    "WordLevel": lambda pick: {"vocab": vocabulary(pick), "unk_token": text(pick)},
    "WordPiece": _word_pieces,
    "BPE": _pairs,
    "Unigram": _unigram,
}


def added(pick: Pick) -> dict[str, Any]:
    """A token besides the vocabulary."""
    flags = {name: flag(pick) for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
    return {"id": number(pick), "content": text(pick), **flags}


def _truncation(pick: Pick) -> dict[str, Any]:
    strategies = ("LongestFirst", "OnlyFirst", "OnlySecond")
    sides = ("Left", "Right")
    return {
        "direction": pick.choice(sides), "max_length": number(pick), "strategy": pick.choice(strategies),
        "stride": number(pick),
    }  # fmt: skip


def _padding(pick: Pick) -> dict[str, Any]:
    return {
        "strategy": pick.choice(("BatchLongest", {"Fixed": number(pick)})), "direction": pick.choice(("Left", "Right")),
        "pad_to_multiple_of": pick.choice((None, number(pick))), "pad_id": number(pick), "pad_type_id": number(pick),
        "pad_token": text(pick),
    }  # fmt: skip


def _maybe(pick: Pick, make: Callable[[Pick], Any], share: float = 0.6) -> Any:
    return make(pick) if pick.random() < share else None


def written(pick: Pick) -> str:
    """The JSON of a tokenizer."""
    return json.dumps(
        {
            "version": "1.0", "truncation": _maybe(pick, _truncation, 0.3), "padding": _maybe(pick, _padding, 0.5),
            "added_tokens": [added(pick) for _ in range(pick.choice((0, 0, 1, 2, 4)))],
            "normalizer": _maybe(pick, _normalizer), "pre_tokenizer": _maybe(pick, _pre_tokenizer),
            "post_processor": _maybe(pick, _processor, 0.4), "decoder": _maybe(pick, _decoder),
            "model": _of(MODELS)(pick),
        }
    )  # fmt: skip
