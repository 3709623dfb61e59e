"""The C library's advice about memory, which Python gives for its own maps alone."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def advise(at: int, size: int, advice: int) -> bool:
    """Calls `madvise`, and returns whether the system took the advice."""
    return bool(libc().madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), advice) == 0)
