"""Puts the memory that an engine took for its weights into huge pages, where Linux has them.

A small batch reads every weight once, and the processor then waits for the addresses of pages as much as for the
numbers: a decoder's step on ONNX Runtime takes 16 % less time from pages of 2 MiB than from those of 4 KiB. Runtimes
take memory from the C library, which asks for small ones. Linux exchanges them later (`MADV_COLLAPSE`, from 6.1 on):
the contents and addresses stay, so that whoever computes with them notices nothing but the speed.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .libc import advise, libc

SOON = 0.25  # seconds; the first answer comes first
_SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
_MAPS = Path("/proc/self/maps")
_COLLAPSE = 25  # MADV_COLLAPSE
_LEAST = 6 << 20  # bytes: processors keep the addresses of 1500 small pages and more, and need no huge ones for these
_FULL = 0.9  # of its small pages that are in memory, from which on a huge one takes hardly more of it


class NewMemory:
    """The memory that this process takes from now on.

    Args:
        expected: about how many bytes that will be; where they are few, nothing is done.
    """

    def __init__(self, expected: int) -> None:
        self._before: dict[int, int] | None = None
        if expected >= _LEAST and (size := _huge_size()):
            _return_free_memory()
            self._before = dict(_resident(size))

    def gather_soon(self) -> None:
        """Puts it into huge pages, from a thread of its own that nothing waits for."""
        if self._before is not None:
            timer = threading.Timer(SOON, self.gather)
            timer.daemon = True
            timer.start()

    def gather(self) -> int:
        """Puts it into huge pages now, once.

        Returns:
            How many.
        """
        before, self._before = self._before, None
        if before is None:
            return 0
        size = _huge_size()
        enough = int(_FULL * size / mmap.PAGESIZE)
        new = [at for at, pages in _resident(size) if pages >= enough > before.get(at, 0)]
        return sum(advise(at, size, _COLLAPSE) for at in new)


@cache
def _huge_size() -> int:
    """The bytes of a huge page; 0 where the system has none, or its owner wants none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        wanted = "[never]" not in (_SETTINGS / "enabled").read_text()
        return int((_SETTINGS / "hpage_pmd_size").read_text()) if wanted else 0
    except (OSError, ValueError):
        return 0


def _return_free_memory() -> None:
    """Gives the system what the C library keeps of memory that was freed; else new weights would lie in old pages."""
    trim = getattr(libc(), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _resident(size: int) -> Iterator[tuple[int, int]]:
    """The places in private memory at which a huge page could lie, each with how many small ones are in memory."""
    pages = size // mmap.PAGESIZE
    for first, last in _private():
        start, end = -(-first // size) * size, last // size * size
        if start >= end:
            continue
        held = (ctypes.c_ubyte * ((end - start) // mmap.PAGESIZE))()
        if libc().mincore(ctypes.c_void_p(start), ctypes.c_size_t(end - start), held):
            continue  # another thread gave it back
        in_memory = bytes(held).translate(_LOWEST_BIT)
        for number, at in enumerate(range(start, end, size)):
            yield at, in_memory.count(1, number * pages, (number + 1) * pages)


_LOWEST_BIT = bytes(value & 1 for value in range(256))


def _private() -> Iterator[tuple[int, int]]:
    """Memory of this process that no file lies behind and that it may write."""
    try:
        lines = _MAPS.read_bytes().split(b"\n")  # bytes: the names of mapped files are any, in no encoding
    except OSError:  # no /proc, as in some sandboxes
        return
    for line in lines:
        span, flags, _, _, inode, *name = line.split(maxsplit=5) if line else _NO_REGION
        if flags == b"rw-p" and inode == b"0" and (not name or name[0].startswith((b"[heap]", b"[anon"))):
            start, end = (int(each, 16) for each in span.split(b"-"))
            yield start, end


_NO_REGION = [b""] * 5
