"""The processor for which kernels are compiled: facts for schedules, emitters and cache keys."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """An instruction set.

    Args:
        name: its tag in cache keys.
        vector_bytes: the bytes of its widest vectors.
        registers: the number of its vector registers.
        splits: whether it computes its widest vectors in two halves, so that narrower ones cost less.
    """

    name: str
    vector_bytes: int
    registers: int
    splits: bool = False


@cache
def target() -> Target:
    """The instruction set of this machine; its tag keeps libraries of other machines from being loaded."""
    machine = platform.machine().lower()
    flags = set(_flags())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return Target(f"{machine}-avx512", 64, 32, _is_zen4())
    if {"avx2", "fma"} <= flags:
        return Target(f"{machine}-avx2", 32, 16)
    return Target(f"{machine}-base", 16, 32 if machine == "aarch64" else 16)


@cache
def processor() -> str:
    """The features of this processor as text, for cache keys: unlike machines can share a cache folder."""
    return " ".join((platform.machine(), *sorted(_flags())))


@cache
def _description() -> str:
    """The text of /proc/cpuinfo for the first processor; empty on other systems than Linux."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _flags() -> list[str]:
    """The instruction sets of the first processor, by Linux's names."""
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", _description(), re.MULTILINE)
    return line[1].split() if line else []


def _is_zen4() -> bool:
    """Whether it is AMD's family 25, the first with AVX-512, which computes it on units of 256 bits."""
    text = _description()
    return "AuthenticAMD" in text and re.search(r"^cpu family\s*: 25$", text, re.MULTILINE) is not None
