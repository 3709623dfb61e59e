"""What stands for functions of `hashlib` and `zlib` that are given bytes of the recording."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .....ops.graph.operators.names import CHECKSUMS, DIGESTS
from ....proxies.byte_strings import TracedBytes
from ....recording.recorder import Recorder
from ...python.operations import active
from .byte_buffers import as_bytes


class TracedDigest:
    """A hash object over bytes that are decided at run time."""

    def __init__(self, recorder: Recorder, name: str, data: Any) -> None:
        self._recorder, self.name, self._data = recorder, name, data

    def update(self, data: Any) -> None:
        """As for a hash object."""
        self._data = self._data + as_bytes(data)

    def copy(self) -> TracedDigest:
        """As for a hash object."""
        return TracedDigest(self._recorder, self.name, self._data)

    def hexdigest(self) -> Any:
        """As for a hash object."""
        data = self._data
        if type(data) is not TracedBytes:
            return hashlib.new(self.name, data, usedforsecurity=False).hexdigest()
        return self._recorder.scalar("digest", self.name, data.tensor)

    def digest(self) -> Any:
        """As for a hash object."""
        if type(self._data) is not TracedBytes:
            return bytes.fromhex(self.hexdigest())
        return TracedBytes(self._recorder, self._recorder.scalar("from_hex", self.hexdigest()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or type(self._data) is not TracedBytes:
            return getattr(hashlib.new(self.name, self._data, usedforsecurity=False), name)
        return self._recorder.refuse(f"hashlib.{self.name}.{name} cannot be recorded", "Use hexdigest() or digest().")


def _hashing(name: str) -> Callable[..., Any]:
    plain = getattr(hashlib, name)

    def call(data: Any = b"", **options: Any) -> Any:
        recorder, data = active(), as_bytes(data)
        started = type(data) in (TracedBytes, bytes)  # a plain one may be given bytes of the recording later
        if recorder is None or options.keys() - {"usedforsecurity"} or not started:
            return plain(data, **options)
        return TracedDigest(recorder, name, data)

    return call


def new(name: Any, data: Any = b"", **options: Any) -> Any:
    """Stands for `hashlib.new`."""
    if active() is None or type(name) is not str or name not in DIGESTS:
        return hashlib.new(name, data, **options)
    return _hashing(name)(data, **options)


def _checking(name: str) -> Callable[..., Any]:
    plain = getattr(zlib, name)

    def call(data: Any, *start: Any) -> Any:
        recorder, data = active(), as_bytes(data)
        if recorder is None or type(data) is not TracedBytes or start:
            return plain(data, *start)
        return recorder.scalar("checksum", name, data.tensor)

    return call


OF_BYTES: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
    "new": (hashlib, new),
    **{name: (hashlib, _hashing(name)) for name in DIGESTS},
    **{name: (zlib, _checking(name)) for name in CHECKSUMS},
}
"""The name of a function -> its module, and what stands for it."""
