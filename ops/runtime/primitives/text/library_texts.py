"""Functions of Python's library that make texts of texts, in a time in proportion to them, and digests of bytes."""

from __future__ import annotations

import hashlib
import html
import textwrap
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any

import torch

from ....graph.errors import GuardError
from ....graph.operators.names import CHECKSUMS, DIGESTS
from ..bounded import MOST_ITEMS
from .byte_codes import bytes_of

_FUNCTIONS: dict[str, tuple[Callable[..., str], int]] = {
    "html.escape": (html.escape, 6), "html.unescape": (html.unescape, 1),
    "urllib.parse.quote": (urllib.parse.quote, 12), "urllib.parse.quote_plus": (urllib.parse.quote_plus, 12),
    "urllib.parse.unquote": (urllib.parse.unquote, 1), "urllib.parse.unquote_plus": (urllib.parse.unquote_plus, 1),
    "textwrap.shorten": (lambda text, width, placeholder: textwrap.shorten(text, width, placeholder=placeholder), 2),
    "textwrap.fill": (textwrap.fill, 100), "textwrap.dedent": (textwrap.dedent, 1),
    "textwrap.indent": (textwrap.indent, 2),
}  # fmt: skip
"""A function by its name, and how many characters it makes of one at most, besides those of its other texts; of `fill`
how often it copies one, at worst, for each hundred."""


def text_of(name: str, text: Any, *args: Any) -> str:
    """``py.text``: a function of a text by its name."""
    if name not in _FUNCTIONS:
        raise GuardError("there is no such function of a text", got=repr(name)[:80], expected=", ".join(_FUNCTIONS))
    function, times = _FUNCTIONS[name]
    times += sum(len(each) for each in args if isinstance(each, str))
    if not isinstance(text, str) or not all(isinstance(each, str | int) for each in args):
        raise GuardError(f"{name} takes a str", got=type(text).__name__)
    if len(text) * times > MOST_ITEMS:
        raise GuardError(
            f"the text of {name} grows too large", got=len(text), expected=f"at most {MOST_ITEMS // times}"
        )
    return function(text, *args)


def digest(name: str, data: torch.Tensor) -> str:
    """``py.digest``: a digest of bytes by the name of its algorithm, in hexadecimal digits."""
    if name not in DIGESTS:
        raise GuardError("there is no such digest", got=repr(name)[:80], expected=", ".join(DIGESTS))
    return hashlib.new(name, bytes_of(data, "digest", 1), usedforsecurity=False).hexdigest()


def checksum(name: str, data: torch.Tensor) -> int:
    """``py.checksum``: a checksum of bytes by its name."""
    if name not in CHECKSUMS:
        raise GuardError("there is no such checksum", got=repr(name)[:80], expected=", ".join(CHECKSUMS))
    found: int = getattr(zlib, name)(bytes_of(data, "checksum", 1))
    return found


FUNCTIONS: dict[str, Callable[..., Any]] = {"text": text_of, "digest": digest, "checksum": checksum}
"""The operators by their names in the family ``py.…``."""
