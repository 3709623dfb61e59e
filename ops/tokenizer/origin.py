"""The objects that a tokenizer op is made from, and what they do besides their JSON."""

from __future__ import annotations

import json
import os
from typing import Any

from ..graph.errors import ScriptError
from .kernel import Habits

UNLIMITED = 1_000_000  # transformers writes 1e30 for no limit


def json_of(source: Any) -> str:
    """The JSON of a tokenizer.

    Raises:
        ScriptError: the source is no tokenizer, and no path of one.
    """
    backend = getattr(source, "backend_tokenizer", source)
    if hasattr(backend, "to_str"):
        return str(backend.to_str())
    try:
        with open(os.fspath(source), encoding="utf-8") as file:
            text = file.read()
        json.loads(text)
    except (OSError, TypeError, ValueError) as error:
        raise ScriptError(
            "cannot read a tokenizer",
            got=f"{type(source).__name__}: {error}",
            expected="a tokenizers.Tokenizer, a fast tokenizer of transformers, or the path of a tokenizer.json",
        ) from error
    return text


def _is_of_transformers(source: Any) -> bool:
    return hasattr(source, "backend_tokenizer")


def truncation_of(source: Any, made: Any, max_length: int | None) -> dict[str, Any] | None:
    """The truncation of a source, or to a length that the user gave; None where it does not truncate.

    A call of a tokenizer of `transformers` changes the truncation of its JSON, so its own limit counts.
    """
    if _is_of_transformers(source):
        limit = int(max_length or getattr(source, "model_max_length", None) or UNLIMITED)
        return {"max_length": limit, "direction": source.truncation_side} if limit < UNLIMITED else None
    stored = made.truncation or {}
    if max_length is None and not stored:
        return None
    kept = {name: stored[name] for name in ("strategy", "direction") if name in stored}
    return {**kept, "max_length": max_length or stored["max_length"]}


def padding_of(source: Any, made: Any, pad_token: str) -> dict[str, Any]:
    """The token, the side and the type of padding; its id comes from the vocabulary."""
    stored = made.padding or {}
    if _is_of_transformers(source):
        return {
            "pad_token": getattr(source, "pad_token", None) or pad_token,
            "direction": getattr(source, "padding_side", "right"),
            "pad_type_id": getattr(source, "pad_token_type_id", 0),
        }
    return {
        "pad_token": stored.get("pad_token") or pad_token,
        "direction": stored.get("direction", "right"),
        "pad_type_id": stored.get("pad_type_id", 0),
    }


_TOKENS = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


def habits_of(source: Any) -> Habits:
    """What a tokenizer of `transformers` does otherwise than its JSON says."""
    if not _is_of_transformers(source):
        return Habits()
    columns = getattr(source, "model_input_names", ["attention_mask", "token_type_ids"])
    encoding: dict[str, Any] = {
        f"return_{name}": False for name in ("attention_mask", "token_type_ids") if name not in columns
    }
    if source.truncation_side != "right" and truncation_of(source, None, None) is None:
        encoding["truncation_side"] = source.truncation_side
    names = [f"{name}_token{end}" for name in _TOKENS for end in ("", "_id")]
    names += ["all_special_tokens", "all_special_ids", "model_max_length"]
    tokens = {name: getattr(source, name, None) for name in names}
    return Habits(encoding, bool(getattr(source, "clean_up_tokenization_spaces", False)), tokens)
