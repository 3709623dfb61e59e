"""What stands for functions of `base64`, and for `bytes.fromhex`, which take texts and bytes of the recording."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from ....proxies.base import is_traced
from ....proxies.byte_strings import TracedBytes
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ...python.operations import active
from .byte_buffers import as_bytes

_SAFE_IN_URLS = "-_"


def _is_ours(data: Any) -> bool:
    return type(data) in (TracedStr, TracedBytes)


def _given(data: Any) -> Any:
    return data.tensor if type(data) is TracedBytes else data


def _letters(recorder: Recorder, others: Any) -> str | None:
    if others is None:
        return None
    if is_traced(others) or type(others) not in (str, bytes, bytearray):
        recorder.refuse("the letters of base64 are not constant", "Write them as they are: b64decode(text, b'-_').")
    return others if isinstance(others, str) else bytes(others).decode("latin-1")


def b64encode(s: Any, altchars: Any = None) -> Any:
    """Stands for `base64.b64encode`."""
    recorder, s = active(), as_bytes(s)
    if recorder is None or type(s) is not TracedBytes:
        return base64.b64encode(s, altchars)
    return TracedBytes(recorder, recorder.scalar("b64encode", s.tensor, _letters(recorder, altchars)))


def b64decode(s: Any, altchars: Any = None, validate: Any = False) -> Any:
    """Stands for `base64.b64decode`."""
    recorder = active()
    if recorder is None or not _is_ours(s):
        return base64.b64decode(s, altchars, validate)
    found = recorder.scalar("b64decode", _given(s), _letters(recorder, altchars), bool(validate))
    return TracedBytes(recorder, found)


def _fixed(name: str) -> Callable[..., Any]:
    """Stands for a function of base64 with an alphabet of its own."""
    plain, others = getattr(base64, name), _SAFE_IN_URLS if name.startswith("urlsafe") else None
    ours = b64encode if name.endswith("encode") else b64decode

    def call(s: Any) -> Any:
        return ours(s, others) if _is_ours(as_bytes(s)) else plain(s)

    return call


def from_bytes(data: Any, byteorder: Any = "big", *, signed: bool = False) -> Any:
    """Stands for `int.from_bytes`."""
    recorder = active()
    if recorder is None or type(data) is not TracedBytes:
        return int.from_bytes(data, byteorder, signed=signed)
    if byteorder not in ("big", "little"):
        return int.from_bytes(b"", byteorder)  # Python's own error
    digits = recorder.scalar("hex", data.tensor if byteorder == "big" else data.tensor.flip(0))
    found = recorder.scalar("int", recorder.scalar("join_texts", "0", digits), 16)
    if not signed:
        return found
    half = (1 << (8 * data.length())) >> 1  # the number of the sign's bit; of no bytes none
    return (found ^ half) - half


def fromhex(text: Any) -> Any:
    """Stands for `bytes.fromhex`."""
    recorder = active()
    if recorder is None or type(text) is not TracedStr:
        return bytes.fromhex(text)
    return TracedBytes(recorder, recorder.scalar("from_hex", text))


OF_BASE64: dict[str, Callable[..., Any]] = {
    "b64encode": b64encode,
    "b64decode": b64decode,
    **{
        f"{kind}_b64{way}": _fixed(f"{kind}_b64{way}")
        for kind in ("standard", "urlsafe")
        for way in ("encode", "decode")
    },
}
"""The names of functions of `base64` -> what stands for them."""
