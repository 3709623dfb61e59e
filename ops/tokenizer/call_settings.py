"""The arguments of one call of a tokenizer, by the names that `transformers` gives them.

`canonical` brings what a user wrote to the one form that a graph keeps. A file may hold any other, so `settings_of`
checks that form when a file is loaded, and again in every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import lru_cache
from typing import Any

from ..graph.errors import SignatureError
from ..runtime.safety.tokenizer_json import LONGEST, MOST_MULTIPLE

PADDING = ("longest", "max_length", "do_not_pad")
TRUNCATION = ("longest_first", "only_first", "only_second", "do_not_truncate")
SIDES = ("right", "left")
TASKS = ("decode", "batch_decode", "tokens")


@dataclass(frozen=True)
class Encode:
    """How texts become token ids; None stands for what the tokenizer itself does.

    Attributes:
        max_length: of a text in tokens, for truncation and for `padding="max_length"`.
        stride: the number of tokens that a piece of a truncated text has in common with the one before.
        return_word_ids, return_sequence_ids: what `word_ids()` and `sequence_ids()` of a batch of transformers give, as
            columns with -1 in place of None.
    """

    padding: str | None = None
    truncation: str | None = None
    max_length: int | None = None
    stride: int | None = None
    pad_to_multiple_of: int | None = None
    padding_side: str | None = None
    truncation_side: str | None = None
    add_special_tokens: bool = True
    is_split_into_words: bool = False
    return_attention_mask: bool = True
    return_token_type_ids: bool = True
    return_special_tokens_mask: bool = False
    return_offsets_mapping: bool = False
    return_word_ids: bool = False
    return_sequence_ids: bool = False
    return_length: bool = False
    return_overflowing_tokens: bool = False


@dataclass(frozen=True)
class Decode:
    """How token ids become texts.

    Attributes:
        task: ``"decode"``, ``"batch_decode"``, or ``"tokens"`` for the tokens one by one.
    """

    task: str = "decode"
    skip_special_tokens: bool = False
    clean_up_tokenization_spaces: bool = False


Settings = Encode | Decode


def wrong(name: str, got: object, expected: object = None, *, fix: str = "", what: str = "") -> SignatureError:
    """The error for an argument of a tokenizer."""
    text = got if isinstance(got, str) and what else repr(got)
    return SignatureError(
        what or "a tokenizer does not take this value",
        where=f"argument {name!r}", got=str(text)[:80], expected=expected, fix=fix,
    )  # fmt: skip


class TokenizerAttributeError(SignatureError, AttributeError):
    """What a tokenizer of transformers, or a batch of one, has, and an op has in another form."""


class TokenizerKeyError(SignatureError, KeyError):
    """A column that the batch of a tokenizer may have, and for which nobody asked."""

    __str__ = Exception.__str__  # that of a KeyError is the representation of its text


def _choice(*known: str) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is str and value in known, "one of " + ", ".join(map(repr, known))


def _number(least: int, most: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and least <= value <= most, f"an integer from {least} to {most}"


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "padding": _choice(*PADDING),
    "truncation": _choice(*TRUNCATION),
    "max_length": _number(1, LONGEST),
    "stride": _number(0, LONGEST),
    "pad_to_multiple_of": _number(1, MOST_MULTIPLE),
    "padding_side": _choice(*SIDES),
    "truncation_side": _choice(*SIDES),
    "task": _choice(*TASKS),
}
_FLAG = (lambda value: type(value) is bool, "True or False")
NUMBERS = ("max_length", "stride", "pad_to_multiple_of")
"""Arguments that may be numbers of run time."""


def settings_of(given: Mapping[str, Any], decided: type[Any] | None = None) -> Settings:
    """The settings of a call in canonical form.

    Args:
        given: the keyword arguments of the node.
        decided: the class of a number that is decided at run time, and is checked then; None for none.

    Raises:
        SignatureError: one of them is unknown, or of another type, or out of bounds.
    """
    kind: type[Any] = Decode if "task" in given else Encode
    names = [field.name for field in fields(kind)]
    for name, value in given.items():
        if name not in names:
            raise _unknown(name, names)
        if decided is not None and isinstance(value, decided) and name in NUMBERS:
            continue
        check, expected = _CHECKS.get(name, _FLAG)
        if not check(value):
            raise wrong(name, value, expected)
    found: Settings = kind(**given)
    return found


@lru_cache(64)
def checked_settings(*given: tuple[str, type, Any]) -> Settings:
    """The settings of a call from the names, types and values of its arguments: True is not 1 here.

    Raises:
        SignatureError: one of them is unknown, or of another type, or out of bounds.
    """
    return settings_of({name: value for name, _, value in given})


_INSTEAD = {
    "text_target": "Call the tokenizer once more, for the targets.",
    "text_pair_target": "Call the tokenizer once more, for the targets.",
    "split_special_tokens": "Set encode_special_tokens on the tokenizer before script().",
    "return_assistant_tokens_mask": "Compare offset_mapping with the places in the text.",
}


def _unknown(name: str, names: list[str]) -> SignatureError:
    fix = _INSTEAD.get(name, "")
    return SignatureError(
        "a tokenizer op has no such argument",
        where=f"argument {name!r}",
        expected=f"one of {', '.join(names)}",
        fix=fix,
    )


def canonical(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a user's call in the form that a graph keeps.

    Args:
        given: as the user wrote them.
        defaults: those of the tokenizer that the op was made from, where they differ from ours.

    Raises:
        SignatureError: one of them cannot be had.
    """
    found = {
        name: value.value if isinstance(value, Enum) else value for name, value in given.items() if value is not None
    }
    tensors = found.pop("return_tensors", "pt")
    if tensors != "pt":
        fix = "A tokenizer op returns tensors; .numpy() makes an array of one, .tolist() a list."
        raise wrong("return_tensors", tensors, "'pt', or nothing", fix=fix)
    found.pop("verbose", None)
    if found.get("split_special_tokens") is False:
        del found["split_special_tokens"]
    for name, yes, no in (("padding", "longest", "do_not_pad"), ("truncation", "longest_first", "do_not_truncate")):
        if type(found.get(name)) is bool:
            found[name] = yes if found[name] else no
    if "max_length" in found and "truncation" not in found and found.get("padding", "do_not_pad") == "do_not_pad":
        found["truncation"] = "longest_first"  # a length alone truncates, as in transformers
    return {**{name: value for name, value in defaults.items() if name not in found}, **found}
