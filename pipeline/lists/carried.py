"""What a plain loop carries from one round to the next: the names of its variables, and which of them are lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Carried:
    """What a loop carries.

    Attributes:
        names: of the variables.
        growing: the places among them of lists that the body does more with than to append to them.
        read: those of lists whose items it reads.
        later: those of lists that the function may change after the loop.
    """

    names: tuple[str, ...] = ()
    growing: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()
