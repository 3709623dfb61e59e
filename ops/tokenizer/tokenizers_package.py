"""The package `tokenizers`: how it is imported, and what becomes of its errors."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..graph.errors import GraphError, MissingExtraError
from .call_settings import wrong


class Panics:
    """While it is entered, exceptions and panics of the library become an error of tracepack."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            return
        if not isinstance(error, Exception):
            if type(error).__name__ == "PanicException":  # a panic of Rust, which is no Exception
                raise GraphError("the tokenizers library panicked", got=brief(error)) from error
            return
        if "Truncation error" in str(error):
            what = "this part of a pair cannot be cut to max_length"
            raise wrong("truncation", brief(error), what=what, fix="Pass truncation=True.") from error
        raise GraphError("the tokenizer cannot be used", got=brief(error)) from error


def brief(error: BaseException) -> str:
    """The beginning of what an error says."""
    return str(error).split("\n")[0][:120]


def tokenizers() -> Any:
    """The `tokenizers` package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError(
            "text ops need the package 'tokenizers'", fix="Install it with: pip install 'tracepack[text]'"
        ) from error
    return tokenizers
