"""Checks the JSON of a tokenizer in a file before the `tokenizers` library reads it.

That library allocates as much as padding asks for, panics on unexpected JSON, and matches regular expressions by
backtracking. So sizes are bounded, and patterns are those of well-known tokenizers; any other pattern needs trust.
"""

from __future__ import annotations

import json
from typing import Any

from ...graph.errors import GraphError, SignatureError, TrustError
from .tokenizer_growth import MOST_LEVELS, growth_of, parts_of, steps_of, texts_of_charsmap

LARGEST = 64 << 20  # bytes of JSON
LONGEST = 1 << 17  # tokens of a text, after padding or truncation
MOST_GROWTH = 320  # the factor by which all steps together may lengthen a text; that of XLM-R is 297
MOST_STEPS = 32
MOST_REPEATED = 32  # how often the pieces of a text may have each token
LONGEST_WORD = 256  # characters, of which WordPiece tries each part
LONGEST_PIECE = 256  # characters, of a Unigram vocabulary, which is tried at each place; and of a model's prefix
MOST_REPLACED = 128  # bytes in place of one
MOST_COPIES = 8  # parts of a template
MOST_IDS = 64  # of a token in a template
MOST_MULTIPLE = 4096  # of which padding makes a length one
LONGEST_CONTENT = 1000  # characters, of a replacement and of the padding token
_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_AROUND = ("TemplateProcessing", "BertProcessing", "RobertaProcessing")

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
        TrustError: it has a pattern whose time cannot be bounded, or dropout.
    """
    data = _parsed(text)
    special = sum(1 for part in parts_of(data.get("post_processor")) if "SpecialToken" in part)
    special += sum(2 for part in parts_of(data.get("post_processor")) if {"sep", "cls"} & part.keys())
    _check_truncation(data.get("truncation"), special)
    _check_padding(data.get("padding"))
    for name in _STEPS:
        try:
            steps = steps_of(data.get(name))
        except ValueError:  # what the library would guess from its other names
            raise _wrong(f"its {name}", "a step without a type", "one of a type") from None
        if len(steps) > MOST_STEPS:
            raise _wrong(f"its {name}", f"{len(steps)} steps", f"{MOST_STEPS} at most")
        for step in steps:
            _check_step(step)
    _check_model(data["model"])
    _check_added(data.get("added_tokens"))
    for part in parts_of(data):
        _check_pattern(part)
    growth = growth_of(data)
    if growth > MOST_GROWTH:
        raise _wrong("its replacements", f"{growth:.3g} times the text", f"{MOST_GROWTH} times at most")
    _check_templates(data.get("post_processor"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ: of two values of a name the library may take another one than was checked."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise _wrong("its JSON", f"{len(text)} bytes", f"{LARGEST} at most")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise _wrong("its JSON", type(error).__name__, "JSON") from error
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise _wrong("its JSON", type(data).__name__, "an object with a model")
    try:
        all(parts_of(data))
    except RecursionError:
        raise _wrong("its JSON", f"more than {MOST_LEVELS} levels", "less nesting") from None
    return data


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
        SignatureError: they can be more than `MOST_REPEATED` times as long.
    """
    if stride and (room - stride) * MOST_REPEATED < room:
        raise SignatureError(
            "the pieces of a text repeat too much of each other",
            where="argument 'stride'", got=stride, expected=f"{room - 1 - (room - 1) // MOST_REPEATED} at most",
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
    if multiple is not None and not (type(multiple) is int and 0 < multiple <= MOST_MULTIPLE):
        raise _wrong("its padding", multiple, f"a multiple of 1 to {MOST_MULTIPLE}")
    numbers = (given.get("pad_id", 0), given.get("pad_type_id", 0))
    if not all(type(number) is int and 0 <= number < 1 << 32 for number in numbers) or len(token) > LONGEST_CONTENT:
        raise _wrong("its padding", numbers, "ids of 32 bits")
    _check_choices("its padding", {"direction": given.get("direction", "Right")})


def _check_choices(what: str, given: dict[str, Any]) -> None:
    for key, known in _CHOICES.items():
        if given.get(key, known[0]) not in known:
            raise _wrong(what, given[key], f"one of {known}")


def _check_step(step: dict[str, Any]) -> None:
    """Checks what a step of some kinds would do at every place of a text."""
    match step["type"]:
        case "Replace" | "Prepend":
            content = step.get("content", step.get("prepend"))
            if not isinstance(content, str) or len(content) > LONGEST_CONTENT:
                raise _wrong("its replacements", content, "a short text")
        case "Precompiled":
            _check_charsmap(step.get("precompiled_charsmap"))
        case "BPEDecoder" | "CTC":
            names = ("suffix",) if step["type"] == "BPEDecoder" else ("pad_token", "word_delimiter_token")
            if "" in (step.get(name) for name in names):  # which stands between any two characters
                raise _wrong("its decoder", f"an empty {' or '.join(names)}", "a text")


def _check_model(model: dict[str, Any]) -> None:
    """Checks what a model tries at each place of a text.

    With dropout the library tries all merges that it left out again after each that it makes: 128,000 characters of one
    word take 20 seconds, and a million a thousand.
    """
    if model.get("dropout"):
        raise TrustError(
            "the tokenizer leaves merges out at random, so its time has no bound",
            got=f"dropout {str(model['dropout'])[:40]}",
            fix="Pass trust=True if you trust where the file comes from, or set dropout to null in its JSON.",
        )
    longest = model.get("max_input_chars_per_word", 0)
    if type(longest) is not int or longest > LONGEST_WORD:
        raise _wrong("its longest word", longest, f"{LONGEST_WORD} characters at most")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if len(str(model.get(name))) > LONGEST_PIECE:
            raise _wrong(f"its {name}", f"{len(str(model[name]))} characters", f"{LONGEST_PIECE} at most")
    _check_merges(model)
    rows = model.get("vocab")
    if isinstance(rows, list):  # of Unigram: pairs of a piece and its score
        sizes = (len(row[0]) for row in rows if isinstance(row, list) and row and isinstance(row[0], str))
        if (most := max(sizes, default=0)) > LONGEST_PIECE:
            raise _wrong("its longest piece", f"{most} characters", f"{LONGEST_PIECE} at most")


def _check_merges(model: dict[str, Any]) -> None:
    """Checks that what follows in a merge has the prefix of what follows.

    The library cuts as many bytes off as the prefix has characters, also inside of a character; the text that is left
    is none, and ends the process where it is shown.
    """
    prefix, rows = model.get("continuing_subword_prefix"), model.get("merges")
    if not prefix or not isinstance(rows, list):
        return
    for row in rows:
        second = row.split(" ", 1)[-1] if isinstance(row, str) else row[-1] if isinstance(row, list) and row else None
        if not isinstance(second, str) or not second.startswith(str(prefix)) or not str(prefix).isascii():
            raise _wrong("a merge of it", row, "a second part that begins with the prefix, in ASCII")


def _check_added(given: Any) -> None:
    """Checks that no added token takes spaces on its sides that are tokens, too: each would look at all others."""
    for token in given if isinstance(given, list) else []:
        match token:
            case {"content": str(content)} if content.strip():
                pass
            case {"lstrip": False, "rstrip": False} | {"content": ""}:
                pass
            case _:
                raise _wrong("an added token", token, "a text that is not of spaces alone")


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
                fix="Pass trust=True (a command: --trust) if you trust where the file comes from.",
            )
    raise _wrong("a pattern of it", pattern, "a text, or a known regular expression")


def _check_charsmap(given: Any) -> None:
    """Checks the table of a normalizer."""
    try:
        if max(map(len, texts_of_charsmap(given)), default=0) > MOST_REPLACED:
            raise ValueError
    except (ValueError, TypeError) as error:
        raise _wrong("its table of characters", repr(given)[:40], "base64 of a trie and its texts") from error


def _check_templates(given: Any) -> None:
    """Checks that a template has each text once: the pieces of a text that is cut are taken in all combinations."""
    around = [step["type"] for step in steps_of(given) if step["type"] in _AROUND]
    if len(around) > 1:
        raise _wrong("its template", f"{len(around)} of them", "one at most")
    for part in parts_of(given):
        for key in ("single", "pair"):
            template = part.get(key)
            if not isinstance(template, list):
                continue
            if len(template) > MOST_COPIES:
                raise _wrong("its template", f"{len(template)} parts", f"{MOST_COPIES} at most")
            texts = [str(item["Sequence"]) for item in template if isinstance(item, dict) and "Sequence" in item]
            names = [name for text in texts for name in ("'A'", "'B'") if name in text]
            if len(set(names)) < len(texts):
                raise _wrong("its template", "a text twice", "each text once")
            if key == "single" and names != ["'A'"]:  # by which the pieces of both texts of a pair are counted
                raise _wrong("its template", "none of the text", "the text once")
    tokens = [part.get("ids") for part in parts_of(given) if isinstance(part.get("ids"), list)]
    if any(len(ids) > MOST_IDS for ids in tokens if ids is not None):
        raise _wrong("its template", "a token of many ids", f"{MOST_IDS} at most")


def _wrong(what: str, got: Any, expected: str) -> GraphError:
    return GraphError(f"the tokenizer of a file is refused: {what}", got=str(got)[:80], expected=expected)
