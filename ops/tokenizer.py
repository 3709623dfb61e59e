"""The tokenizer as an op, so that a pipeline takes text, and no one has to know how its token ids are made.

It stores the JSON of the `tokenizers` package and runs on that package; loading it does not need `transformers`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch

from .graph.device import CPU
from .graph.errors import GraphError, MissingExtraError, ScriptError
from .graph.kernel import Kernel
from .op import KernelOp
from .runtime.safety.tokenizer_json import check_tokenizer


class TokenizerKernel(Kernel):
    """Turns strings into padded token ids.

    Args:
        source: the JSON text of a `tokenizers.Tokenizer`, with its truncation and padding.
    """

    kind: ClassVar[str] = "tokenizer"
    varying: ClassVar[bool] = True
    on_host: ClassVar[bool] = True

    def __init__(self, source: str) -> None:
        self._json = source
        library = _tokenizers()
        with _panics():
            self._tokenizer = library.Tokenizer.from_str(source)

    @property
    def name(self) -> str:
        """Always ``"tokenizer"``."""
        return "tokenizer"

    def description(self) -> dict[str, Any]:
        """An empty description: the JSON holds everything."""
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
        return cls(source)

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

    def __call__(self, texts: str | Sequence[str]) -> dict[str, torch.Tensor]:
        """Tokenizes one text or several.

        Args:
            texts: N strings, or one, which counts as a list of one.

        Returns:
            ``input_ids``, ``attention_mask`` and ``token_type_ids``, each int64 of shape [N, L], with L the length of
            the longest text in tokens.
        """
        batch = [texts] if isinstance(texts, str) else list(texts)
        with _panics():
            encoded = self._tokenizer.encode_batch(batch)
        columns = {
            "input_ids": [e.ids for e in encoded],
            "attention_mask": [e.attention_mask for e in encoded],
            "token_type_ids": [e.type_ids for e in encoded],
        }
        if len({len(e.ids) for e in encoded}) > 1:
            raise GraphError("the tokenizer returned token ids of different lengths", fix="Enable its padding.")
        shape = (len(batch), -1) if batch else (0, 0)
        return {name: torch.tensor(rows, dtype=torch.int64).reshape(shape) for name, rows in columns.items()}


@contextmanager
def _panics() -> Iterator[None]:
    """Turns exceptions and panics of the `tokenizers` library into an error of tracepack."""
    try:
        yield
    except Exception as error:
        raise GraphError("the tokenizer cannot be used", got=_brief(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of Rust, which is no Exception
            raise
        raise GraphError("the tokenizers library panicked", got=_brief(error)) from error


def _brief(error: BaseException) -> str:
    return str(error).split("\n")[0][:120]


def tokenizer(source: Any, *, max_length: int | None = None, pad_token: str = "[PAD]") -> KernelOp:
    """Makes a tokenizer op: strings in, token ids and masks out.

    Args:
        source: a `tokenizers.Tokenizer`, a fast tokenizer of `transformers`, or the path of a ``tokenizer.json``.
        max_length: truncates texts to this many tokens; by default to as many as the source does.
        pad_token: the token that pads short texts, where the source has none.

    Raises:
        ScriptError: the source is none of these, or has no such padding token.
        MissingExtraError: the `tokenizers` package is not installed.

    Example:
        >>> import tracepack, tokenizers
        >>> words = tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "hello": 2}, unk_token="[UNK]")
        >>> made = tokenizers.Tokenizer(words)
        >>> made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        >>> tracepack.tokenizer(made)(["hello there", "hello"])["input_ids"]
        tensor([[2, 1],
                [2, 0]])
    """
    made = _tokenizers().Tokenizer.from_str(_json_of(source))
    padding = made.padding or {}
    token = padding.get("pad_token") or getattr(source, "pad_token", None) or pad_token
    identity = made.token_to_id(token)
    if identity is None:
        raise ScriptError("the tokenizer has no such padding token", got=repr(token), fix="Pass pad_token='…'.")
    made.enable_padding(pad_id=identity, pad_token=token, direction=padding.get("direction", "right"))
    limit = max_length or _limit(source, made)
    if limit is not None:
        made.enable_truncation(max_length=limit)
    return KernelOp(TokenizerKernel(made.to_str()), "tokenizer", CPU)


def _limit(source: Any, made: Any) -> int | None:
    if made.truncation:
        return int(made.truncation["max_length"])
    limit = getattr(source, "model_max_length", None)  # transformers writes 1e30 for no limit
    return int(limit) if limit is not None and limit < 1_000_000 else None


def _json_of(source: Any) -> str:
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


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError(
            "text ops need the package 'tokenizers'", fix="Install it with: pip install 'tracepack[text]'"
        ) from error
    return tokenizers
