"""Archives taken apart and put together again, as tests of bad ones need them."""

from __future__ import annotations

import io
import struct
import zipfile

import msgpack

from tracepack.serialization.container.archive import Archive
from tracepack.serialization.container.schema import MANIFEST


def manifest_of(path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return msgpack.unpackb(archive.read(MANIFEST))


def corrupt(data: bytes, member: str) -> bytes:
    """One bit of a member's data flipped."""
    archive = Archive(data)
    start, size = archive._members[member]
    changed = bytearray(data)
    changed[start + size // 2] ^= 1
    return bytes(changed)


def rewritten(path, change, padding: int = 0) -> bytes:
    """The archive with its manifest changed, everything else as it was; `padding` bytes shift where it lies."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == MANIFEST:
                manifest = msgpack.unpackb(data, strict_map_key=False)
                change(manifest)
                data = msgpack.packb(manifest)
            info = zipfile.ZipInfo(entry.filename)
            info.extra = struct.pack("<HH", 0x7470, padding) + bytes(padding) if padding else b""
            new.writestr(info, data)
            padding = 0
    return out.getvalue()


def with_graph(path, change, member: str = "graphs/main.msgpack") -> bytes:
    """The archive with a graph changed and its hash made right, as an attacker would."""
    import hashlib

    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        graph = msgpack.unpackb(old.read(member), strict_map_key=False)
        change(graph)
        data = msgpack.packb(graph)
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == member:
                content = data
            if entry.filename == MANIFEST:
                manifest = msgpack.unpackb(content, strict_map_key=False)
                manifest["members"][member] = {
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "size": len(data),
                }
                content = msgpack.packb(manifest)
            new.writestr(entry.filename, content)
    return out.getvalue()
