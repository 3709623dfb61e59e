"""Checks the JSON of a tokenizer in a file before the `tokenizers` library reads it.

That library allocates as much as padding asks for, panics on unexpected JSON, and matches regular expressions by
backtracking. So sizes are bounded, and patterns are those of well-known tokenizers; any other pattern needs trust.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from ...graph.errors import GraphError, SignatureError, TrustError

LARGEST = 64 << 20  # bytes of JSON
DEEPEST = 40
LONGEST = 1 << 17  # tokens of a text, after padding or truncation
MOST_GROWTH = 32  # the factor by which all replacements together may lengthen a text
MOST_NORMALIZERS = 32
LONGEST_WORD = 1000  # of which WordPiece tries each part
MOST_REPLACED = 128  # characters in place of one
MOST_COPIES = 8  # repetitions of a text in a template, and tokens put around it

KNOWN_PATTERNS = frozenset(
    (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
        r"\s+", r" {2,}", r"[0-9]", r"\d", r"\p{N}{1,3}", r"[0-9][0-9][0-9]", r" ", r"\n", r"[^\s]+",
    )
)  # fmt: skip
"""Regular expressions of GPT-2, Llama 3, Qwen 2, CLIP and others, none of which takes more than linear time."""

_CHOICES = {
    "direction": ("Left", "Right", "left", "right"),
    "strategy": ("LongestFirst", "OnlyFirst", "OnlySecond", "longest_first", "only_first", "only_second"),
}


def check_tokenizer(text: str) -> None:
    """Checks the JSON of a tokenizer from a file that is not trusted.

    Raises:
        GraphError: it is malformed, or asks for too much.
        TrustError: it has a pattern whose time cannot be bounded.
    """
    data = _parsed(text)
    special = sum(1 for part in _parts(data.get("post_processor")) if "SpecialToken" in part)
    special += sum(2 for part in _parts(data.get("post_processor")) if {"sep", "cls"} & part.keys())
    _check_truncation(data.get("truncation"), special)
    _check_padding(data.get("padding"))
    growth = 1.0
    normalizers = [part for part in _parts(data.get("normalizer")) if "type" in part]
    if len(normalizers) > MOST_NORMALIZERS:
        raise _wrong("its normalizers", len(normalizers), f"{MOST_NORMALIZERS} at most")
    if sum(part["type"] == "Precompiled" for part in normalizers) > 1:
        raise _wrong("its normalizers", "two tables", "one at most")
    longest = data["model"].get("max_input_chars_per_word", 0)
    if type(longest) is not int or longest > LONGEST_WORD:
        raise _wrong("its longest word", longest, f"{LONGEST_WORD} characters at most")
    for part in _parts(data):
        growth *= _growth(part)
        _check_pattern(part)
        if part.get("type") == "Precompiled":
            _check_charsmap(part.get("precompiled_charsmap"))
    if growth > MOST_GROWTH:
        raise _wrong("its replacements", f"{growth:.3g} times the text", f"{MOST_GROWTH} times at most")
    _check_templates(data.get("post_processor"))


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise _wrong("its JSON", f"{len(text)} bytes", f"{LARGEST} at most")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong("its JSON", type(error).__name__, "JSON") from error
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise _wrong("its JSON", type(data).__name__, "an object with a model")
    return data


def _parts(data: Any) -> Iterator[dict[str, Any]]:
    """Every object in the JSON except for vocabularies."""
    level = [data]
    for _ in range(DEEPEST):
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
    raise _wrong("its JSON", f"more than {DEEPEST} levels", "less nesting")


def _check_truncation(given: Any, special: int) -> None:
    if given is None:
        return
    match given:
        case {"max_length": int(longest), "stride": int(stride)}:
            pass
        case _:
            raise _wrong("its truncation", given, "null, or a length and a stride")
    room = longest - special
    if not 0 < room <= LONGEST or not (stride == 0 or 0 < stride < room):
        expected = f"at most {LONGEST} tokens, more than the {special} around a text, and a smaller stride"
        raise _wrong("its truncation", f"{longest} tokens, stride {stride}", expected)
    _check_choices("its truncation", given)


def check_stride(stride: int, room: int) -> None:
    """Checks that the pieces of a truncated text together are not much longer than the text.

    Raises:
        SignatureError: they can be more than `MOST_GROWTH` times as long.
    """
    if stride and (room - stride) * MOST_GROWTH < room:
        raise SignatureError(
            "the pieces of a text repeat too much of each other",
            where="argument 'stride'", got=stride, expected=f"{room - 1 - (room - 1) // MOST_GROWTH} at most",
        )  # fmt: skip


def _check_padding(given: Any) -> None:
    if given is None:
        return
    match given:
        case {"strategy": "BatchLongest", "pad_token": str(token)}:
            pass
        case {"strategy": {"Fixed": int(length)}, "pad_token": str(token)} if 0 <= length <= LONGEST:
            pass
        case _:
            raise _wrong("its padding", given, f"BatchLongest, or Fixed to at most {LONGEST}")
    multiple = given.get("pad_to_multiple_of")
    if multiple is not None and not (type(multiple) is int and 0 < multiple <= 4096):
        raise _wrong("its padding", multiple, "a multiple of 1 to 4096")
    numbers = (given.get("pad_id", 0), given.get("pad_type_id", 0))
    if not all(type(number) is int and 0 <= number < 1 << 32 for number in numbers) or len(token) > 1000:
        raise _wrong("its padding", numbers, "ids of 32 bits")
    _check_choices("its padding", {"direction": given.get("direction", "Right")})


def _check_choices(what: str, given: dict[str, Any]) -> None:
    for key, known in _CHOICES.items():
        if given.get(key, known[0]) not in known:
            raise _wrong(what, given[key], f"one of {known}")


def _growth(part: dict[str, Any]) -> float:
    """The factor by which a normalizer may lengthen a text, each time that it is applied."""
    if part.get("type") == "ByteLevel":
        return 2.0 if "add_prefix_space" not in part else 1.0  # as a normalizer, of which there may be many
    if part.get("type") not in ("Replace", "Prepend"):
        return 1.0
    content = part.get("content", part.get("prepend"))
    if not isinstance(content, str) or len(content) > 1000:
        raise _wrong("its replacements", content, "a short text")
    pattern = part.get("pattern")
    least = len(pattern["String"].encode()) if isinstance(pattern, dict) and _is_text(pattern) else 1
    return 1.0 if part["type"] == "Prepend" else max(1.0, len(content.encode()) / max(least, 1))


def _is_text(pattern: dict[str, Any]) -> bool:
    return isinstance(pattern.get("String"), str)


def _check_pattern(part: dict[str, Any]) -> None:
    """Checks a pattern: it is a text that is not empty, or one of the known regular expressions."""
    pattern = part.get("pattern")
    if pattern is None:
        return
    match pattern:
        case {"String": str(text)} if text:
            return
        case {"Regex": str(text)} if text in KNOWN_PATTERNS:
            return
        case {"Regex": str(text)}:
            raise TrustError(
                "the tokenizer has a regular expression that is not known, so its time has no bound",
                got=repr(text[:80]),
                fix="Pass trust=True if you trust where the file comes from.",
            )
    raise _wrong("a pattern of it", pattern, "a text, or a known regular expression")


def _check_charsmap(given: Any) -> None:
    """Checks the table of a normalizer: a length, a trie of as many bytes, and the texts that the trie points to."""
    if given is None or given == "":
        return
    try:
        data = base64.b64decode(given, validate=True)
        length = int.from_bytes(data[:4], "little")
        if len(data) < 4 or length % 4 or length + 4 > len(data):
            raise ValueError
        texts = data[4 + length :].decode()
        if max(map(len, texts.split("\0"))) > MOST_REPLACED:
            raise ValueError
    except (ValueError, TypeError) as error:
        raise _wrong("its table of characters", repr(given)[:40], "base64 of a trie and its texts") from error


def _check_templates(given: Any) -> None:
    """Checks that a template repeats a text a few times only."""
    for part in _parts(given):
        for key in ("single", "pair"):
            template = part.get(key)
            if isinstance(template, list) and len(template) > MOST_COPIES:
                raise _wrong("its template", f"{len(template)} parts", f"{MOST_COPIES} at most")
    tokens = [part.get("ids") for part in _parts(given) if isinstance(part.get("ids"), list)]
    if any(len(ids) > 64 for ids in tokens if ids is not None):
        raise _wrong("its template", "a token of many ids", "64 at most")


def _wrong(what: str, got: Any, expected: str) -> GraphError:
    return GraphError(f"the tokenizer of a file is refused: {what}", got=str(got)[:80], expected=expected)
