"""Gives the pages of a file that an engine has read its weights from back to the system, on Linux.

An engine copies weights into the form that it computes with. What it read them from stays in this process's memory,
beside the copies, though hardly anybody reads it again. Where that is the map of a file, the pages may go: whoever
does read them finds them in the system's cache of the file.
"""

from __future__ import annotations

import io
import mmap
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

import torch

from .libc import advise

_PAGES = "/proc/self/pagemap"
_ENTRY = 8  # bytes that describe a page, the least significant first
_UNWRITTEN = 0b1010_0000  # of the last one: the page is in memory, and it is the file's own
_KINDS = bytes(byte & _UNWRITTEN == _UNWRITTEN for byte in range(256))
_LEAST = 1 << 20  # bytes, below which it is not worth the time


def release(tensors: Iterable[torch.Tensor]) -> int:
    """Gives back the pages of files in which tensors lie, but for those that were written to since they were mapped.

    Returns:
        How many bytes were given back.
    """
    if not sys.platform.startswith("linux"):
        return 0
    try:
        with open(_PAGES, "rb", buffering=0) as pages:
            return sum(
                size
                for start, end in _spans(tensors)
                if end - start >= _LEAST
                for at, size in _unwritten(pages, start, end)
                if advise(at, size, mmap.MADV_DONTNEED)
            )
    except OSError:  # no /proc, as in some sandboxes
        return 0


def _spans(tensors: Iterable[torch.Tensor]) -> Iterator[tuple[int, int]]:
    """The pages in which tensors lie, as addresses of the first and of the one after the last; neighbours as one."""
    page = mmap.PAGESIZE
    memory = {tensor.data_ptr(): tensor.nbytes for tensor in tensors if tensor.device.type == "cpu"}
    start = end = 0
    for at, size in sorted(memory.items()):
        first, last = at // page * page, -(-(at + size) // page) * page
        if first > end:
            yield start, end
            start = first
        end = max(end, last)
    yield start, end


def _unwritten(pages: io.FileIO, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The pages between two addresses that are a file's own: runs of them, as address and size."""
    pages.seek(start // mmap.PAGESIZE * _ENTRY)
    entries = pages.read((end - start) // mmap.PAGESIZE * _ENTRY)
    for unwritten, run in groupby(entries[_ENTRY - 1 :: _ENTRY].translate(_KINDS)):
        size = sum(1 for _ in run) * mmap.PAGESIZE
        if unwritten:
            yield start, size
        start += size
