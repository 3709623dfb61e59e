"""Parts of containers that no recording tells from others: a `torch.Size`, and a member of an Enum that is a number.

The graph has a tuple for the one and a number or a text for the other, which is enough for what operators ask of them.
What gives such a part back would give something of another class, and is refused: a block has the thing itself.
"""

from __future__ import annotations

import enum
from typing import Any

import torch

from ...proxies.base import is_traced
from ...proxies.tracer import Tracer

_KEEPING = ("list", "with_entry", "dict", "cat_strings", "lookup", "getitem")
"""Operators whose result holds, or is, a part of what they are given."""


def refuse_kept(recorder: Tracer, name: str, args: tuple[Any, ...]) -> None:
    """Refuses an operator of Python that keeps what leaves the recording as something of another class.

    Args:
        recorder: of the recording.
        name: of the operator, in the family ``py.…``.
        args: what the function gave it.
    """
    if name not in _KEEPING:
        return
    parts = list(args[2:]) if name == "with_entry" else [part for arg in args for part in _parts(arg)]
    while parts:
        part = parts.pop()
        if type(part) is torch.Size:
            recorder.refuse("a list or a dict gets a torch.Size, which comes back as a tuple", "Write tuple(x.shape).")
        if isinstance(part, enum.Enum) and isinstance(part, int | str | float) and not is_traced(part):
            what = f"a list or a dict gets a member of {type(part).__name__}, which comes back as its value"
            recorder.refuse(what, "Write member.value, or int(member).")
        parts += _parts(part)


def _parts(thing: Any) -> list[Any]:
    """The parts of a container; none of a `torch.Size`, which is made of numbers."""
    if is_traced(thing) or type(thing) is torch.Size or not isinstance(thing, tuple | list | dict):
        return []
    return list(thing.values() if isinstance(thing, dict) else thing)
