"""Operators between texts, numbers and bytes: encodings, base64, hexadecimal digits, and the forms of `struct`.

A graph knows no bytes: they are tensors of uint8 with one dimension. Each operator is bounded by the length of what it
is given.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from numbers import Integral
from typing import Any

import torch

from ....graph.errors import GuardError
from ..bounded import MOST_ITEMS

_ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1", "cp1252", "utf-16", "utf-32")
_HANDLERS = ("strict", "ignore", "replace", "backslashreplace")


def require_encoding(encoding: Any, errors: Any) -> None:
    """Refuses a name of an encoding, or of what is done with errors, that is not on the list."""
    if str(encoding).lower() not in _ENCODINGS or errors not in _HANDLERS:
        got = f"{str(encoding)[:20]!r}, {str(errors)[:20]!r}"
        raise GuardError("there is no such encoding", got=got, expected=f"one of {', '.join(_ENCODINGS)}")


def _require_text(thing: Any, operator: str, times: int) -> None:
    if not isinstance(thing, str):
        raise GuardError(f"{operator} takes a str", got=type(thing).__name__)
    if len(thing) * times > MOST_ITEMS:
        raise GuardError(f"the text of {operator} grows too large", got=len(thing), expected=f"{MOST_ITEMS} bytes")


def bytes_of(data: Any, operator: str, times: int) -> bytes:
    """The bytes that a tensor of uint8 holds, of which an operator makes so many times as much at most."""
    if not isinstance(data, torch.Tensor) or data.dtype is not torch.uint8 or data.dim() != 1:
        raise GuardError(f"{operator} takes a tensor of uint8 with one dimension", got=type(data).__name__)
    if data.numel() * times > MOST_ITEMS:
        raise GuardError(f"what {operator} makes grows too large", got=data.numel(), expected=f"{MOST_ITEMS} bytes")
    return data.detach().cpu().contiguous().numpy().tobytes()


def _tensor_of(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def encoded(text: str, encoding: str = "utf-8", errors: str = "strict") -> torch.Tensor:
    """`text.encode` as a tensor of uint8."""
    require_encoding(encoding, errors)
    _require_text(text, "encode", 10)
    try:
        return _tensor_of(text.encode(encoding, errors))
    except UnicodeEncodeError as error:
        raise GuardError("a text cannot be encoded", got=str(error)[:80]) from None


def decoded(data: torch.Tensor, encoding: str = "utf-8", errors: str = "strict") -> str:
    """`bytes.decode` of a tensor of uint8."""
    require_encoding(encoding, errors)
    found = bytes_of(data, "decode", 4)
    try:
        return found.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise GuardError("bytes cannot be decoded", got=str(error)[:80]) from None


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Whether two tensors are equal, as a tensor of one flag."""
    return torch.tensor(torch.equal(one, other))


def _letters_of(others: str | None) -> bytes | None:
    """The two letters that stand for ``+`` and ``/``."""
    if others is not None and (not isinstance(others, str) or len(others) != 2 or not others.isascii()):
        raise GuardError("base64 has two other letters", got=repr(others)[:20])
    return None if others is None else others.encode("ascii")


def to_base64(data: torch.Tensor, others: str | None = None) -> torch.Tensor:
    """`base64.b64encode`."""
    return _tensor_of(base64.b64encode(bytes_of(data, "b64encode", 2), _letters_of(others)))


def from_base64(data: Any, others: str | None = None, strictly: bool = False) -> torch.Tensor:
    """`base64.b64decode` of a text, or of bytes."""
    if isinstance(data, str):
        _require_text(data, "b64decode", 1)
    else:
        data = bytes_of(data, "b64decode", 1)
    return _tensor_of(_read(lambda: base64.b64decode(data, _letters_of(others), validate=bool(strictly)), "base64"))


def to_hex(data: torch.Tensor) -> str:
    """`bytes.hex`."""
    return bytes_of(data, "hex", 2).hex()


def from_hex(text: str) -> torch.Tensor:
    """`bytes.fromhex`."""
    _require_text(text, "fromhex", 1)
    return _tensor_of(_read(lambda: bytes.fromhex(text), "hexadecimal digits"))


def bytes_of_numbers(numbers: Any) -> torch.Tensor:
    """`bytes` of a list of numbers."""
    if not isinstance(numbers, list | tuple):
        raise GuardError("bytes are made of a list of numbers", got=type(numbers).__name__)
    for each in numbers:
        if not isinstance(each, Integral):
            raise GuardError("bytes are made of a list of ints", got=type(each).__name__)
        if not 0 <= int(each) < 256:
            raise GuardError("a number is no byte", got="one below 0" if int(each) < 0 else "one above 255")
    return _tensor_of(bytes(numbers))


_FORMAT = re.compile(r"[@=<>!]?(?:\d{0,9}[xbBhHiIlLqQnNefd?])*")
"""What a format of `struct` is: the order of the bytes, and what they stand for, which are numbers."""


def _size_of(form: Any) -> int:
    """How many bytes a format of `struct` has."""
    if not isinstance(form, str) or not _FORMAT.fullmatch(form):
        raise GuardError("there is no such format of numbers", got=repr(form)[:80], expected="one of struct's")
    size: int = _in_form(lambda: struct.calcsize(form))
    if size > MOST_ITEMS:
        raise GuardError("what a format of numbers holds is too large", got=size, expected=f"{MOST_ITEMS} bytes")
    return size


def packed(form: str, *numbers: Any) -> torch.Tensor:
    """`struct.pack` of numbers."""
    _size_of(form)
    if not all(isinstance(each, int | float) for each in numbers):
        raise GuardError("struct.pack takes numbers", got=", ".join(type(each).__name__ for each in numbers)[:80])
    return _tensor_of(_in_form(lambda: struct.pack(form, *numbers)))


def unpacked(form: str, data: torch.Tensor) -> tuple[Any, ...]:
    """`struct.unpack` of numbers."""
    size, given = _size_of(form), bytes_of(data, "unpack", 1)
    if size != len(given):
        raise GuardError("there are more or fewer bytes than a format has", got=len(given), expected=size)
    return struct.unpack(form, given)


def _in_form(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (struct.error, OverflowError) as error:
        raise GuardError("numbers do not fit a format of bytes", got=str(error)[:80]) from None


def _read(reading: Callable[[], bytes], what: str) -> bytes:
    try:
        return reading()
    except (binascii.Error, ValueError) as error:
        raise GuardError(f"a text is no {what}", got=str(error)[:80]) from None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "encode": encoded, "decode": decoded, "same_bytes": same_bytes,
    "b64encode": to_base64, "b64decode": from_base64, "hex": to_hex, "from_hex": from_hex,
    "bytes": bytes_of_numbers, "pack": packed, "unpack": unpacked,
}  # fmt: skip
"""The operators between texts, numbers and bytes by their names in the family ``py.…``."""
