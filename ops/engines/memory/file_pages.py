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
        How many bytes of the tensors' memory were given back.
    """
    if not sys.platform.startswith("linux"):
        return 0
    try:
        with open(_PAGES, "rb", buffering=0) as pages:
            return sum(
                size
                for first, last in _spans(tensors)
                for at, size in _unwritten(pages, first, last)
                if advise(at, size, mmap.MADV_DONTNEED)
            )
    except OSError:  # no /proc, as in some sandboxes
        return 0


def _spans(tensors: Iterable[torch.Tensor]) -> Iterator[tuple[int, int]]:
    """The first and the last address of each tensor that is large enough."""
    for tensor in tensors:
        if tensor.device.type == "cpu" and tensor.layout == torch.strided:
            memory = tensor.untyped_storage()
            if memory.nbytes() >= _LEAST:
                yield memory.data_ptr(), memory.data_ptr() + memory.nbytes()


def _unwritten(pages: io.FileIO, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The whole pages between two addresses that are the file's own: runs of them, as address and size."""
    page = mmap.PAGESIZE
    start, end = -(-first // page), last // page
    if start >= end:
        return
    pages.seek(start * _ENTRY)
    entries = pages.read((end - start) * _ENTRY)
    at = start
    for unwritten, run in groupby(entries[_ENTRY - 1 :: _ENTRY].translate(_KINDS)):
        count = sum(1 for _ in run)
        if unwritten:
            yield at * page, count * page
        at += count
