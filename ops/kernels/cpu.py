"""What generated code is compiled for, as far as schedules and emitters need to know it."""

from __future__ import annotations

from dataclasses import dataclass


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
