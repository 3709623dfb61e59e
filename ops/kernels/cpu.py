"""The processor: what code may be compiled for, as far as schedules, emitters and cache keys need to know it."""

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
        name: its tag.
        vector_bytes: of its widest vectors.
        registers: how many vectors it holds.
        splits: whether it computes its widest vectors as two halves, so that narrower ones cost less.
    """

    name: str
    vector_bytes: int
    registers: int
    splits: bool = False


@cache
def target() -> Target:
    """The instruction set of this machine, tagged so that a foreign artifact is never loaded."""
    machine = platform.machine().lower()
    flags = set(_flags())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return Target(f"{machine}-avx512", 64, 32, _is_zen4())
    if {"avx2", "fma"} <= flags:
        return Target(f"{machine}-avx2", 32, 16)
    return Target(f"{machine}-base", 16, 32 if machine == "aarch64" else 16)


@cache
def processor() -> str:
    """What code for this very processor may rely on: a cache directory can be shared by unlike machines."""
    return " ".join((platform.machine(), *sorted(_flags())))


@cache
def _description() -> str:
    """What Linux says of the processor; empty on other systems."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _flags() -> list[str]:
    """The instruction sets of the first processor, by Linux's names."""
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", _description(), re.MULTILINE)
    return line[1].split() if line else []


def _is_zen4() -> bool:
    """AMD's family 25: the first with AVX-512, on units of 256 bits."""
    text = _description()
    return "AuthenticAMD" in text and re.search(r"^cpu family\s*: 25$", text, re.MULTILINE) is not None
