"""Whether a block gives another kind of value for no items, as the 0 that a sum of tensors begins with.

Code that goes on with the tensor would be refused then, where Python goes on with the 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

import torch

from .....ops.runtime.primitives.plain_code.running import block_of, misfit

_MOST = 8
"""How many others are tried; each runs the block once."""


def other_kind(text: str, kind: Any, given: Sequence[Any]) -> bool:
    """Whether a block gives another kind where one thing that it is given has no items, or two for none.

    Args:
        text: of the block.
        kind: of what it gives on the example.
        given: what it is given there.
    """
    if any(isinstance(each, ast.While) for each in ast.walk(ast.parse(text))):  # which may go on for ever
        return False
    others = [[*given[:at], other, *given[at + 1 :]] for at, each in enumerate(given) for other in _others(each)]
    return any(_misfits(text, kind, other) for other in others[:_MOST])


def _others(thing: Any) -> Iterator[Any]:
    """The same with no items, or with some where it has none."""
    if isinstance(thing, torch.Tensor):
        for dim, size in enumerate(thing.shape):
            yield thing.new_zeros((*thing.shape[:dim], 2 if size == 0 else 0, *thing.shape[dim + 1 :]))
    elif type(thing) in (list, dict, str) and thing:
        yield type(thing)()


def _misfits(text: str, kind: Any, given: Sequence[Any]) -> bool:
    with suppress(Exception):  # where Python fails, too, no other kind is given
        return misfit(block_of(text).run(deepcopy(tuple(given))), kind) is not None
    return False
