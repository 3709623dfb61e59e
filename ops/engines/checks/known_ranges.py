"""Between which numbers the integers lie that no data decides, so that no run has to check them as indices.

Networks index by positions: by parts of an `arange`, or of a table of numbers that the model holds. A check of each
would cost a run as much as a small operator does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

_TAKING = frozenset(
    "permute transpose t reshape view flatten unflatten unsqueeze squeeze expand expand_as contiguous clone select "
    "slice narrow movedim swapaxes detach alias getitem unbind split chunk repeat flip gather index_select take long "
    "to".split()
)  # give nothing but elements of their first argument
_WRITING = frozenset("setitem iadd isub imul ifloordiv imod ipow iand ior ixor ilshift irshift set".split())

Ends = tuple[Any, Any]
"""The least number of a tensor, and what is beyond its largest: integers, or symbols."""

Range = tuple[torch.Tensor, Any, Any]
"""A tensor with its ends."""


def ranges_of(constants: Iterable[torch.Tensor]) -> list[Range]:
    """The ranges of the integers that a region holds; not to be asked for within an export, which hides numbers."""
    return [
        (each, int(each.min()), int(each.max()) + 1) for each in constants
        if each.dtype == torch.int64 and each.numel()
    ]  # fmt: skip


class KnownRanges:
    """The ranges of the tensors of integers that a region makes, noted while it runs to be exported.

    Args:
        constants: those of what the region holds.
    """

    def __init__(self, constants: Iterable[Range] = ()) -> None:
        self._found = {id(constant[0]): constant for constant in constants}

    def note(self, function: str, name: str, args: Sequence[Any], given: Any, made: Any) -> None:
        """Notes what a function made.

        Args:
            function: its own name, with a `_` at its end where it writes.
            name: its plain name.
            args: its arguments.
            given: those by name.
            made: its result.
        """
        if name in _TAKING and args and isinstance(args[0], torch.Tensor):
            ends = self.of(args[0])
        elif _writes(function.split(".", maxsplit=1)[0], name, args, given, made):
            self._found.clear()  # a view of what it wrote to may be among these
            return
        elif name == "arange":
            ends = _ends(args, given)
        elif name == "add" and len(args) == 2 and not given and is_integer(args[1]):
            ends = self.of(args[0])
            ends = ends and (ends[0] + args[1], ends[1] + args[1])
        else:
            return
        for each in made if isinstance(made, tuple | list) else (made,):
            if ends is not None and each.dtype == torch.int64:
                self._found[id(each)] = (each, *ends)

    def of(self, value: Any) -> Ends | None:
        """What is known of a tensor."""
        found = self._found.get(id(value))
        return None if found is None else found[1:]


def is_within(ends: Ends | None, rows: Any) -> bool:
    """Whether numbers between these ends are indices of so many rows, whatever the sizes are."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true  # which a file that is loaded needs not

    return ends is not None and statically_known_true(ends[0] >= 0) and statically_known_true(ends[1] <= rows)


def is_small(ends: Ends, most: int, size: int) -> bool:
    """Whether numbers between these ends are at most so far from zero, as long as no size is beyond one."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
    from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

    for end in ends:
        if isinstance(end, int):
            least = largest = end
        else:
            expression = end.node.expr
            if free_unbacked_symbols(expression):
                return False  # data decide it
            bounds = bound_sympy(expression, dict.fromkeys(expression.free_symbols, ValueRanges(0, size)))
            least, largest = bounds.lower, bounds.upper
        if not (-most <= least and largest <= most):
            return False
    return True


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, or a symbol of one."""
    return isinstance(value, int | torch.SymInt) and not isinstance(value, bool)


def _writes(function: str, name: str, args: Sequence[Any], given: Any, made: Any) -> bool:
    written = function.endswith("_") and not function.startswith("__")
    return written or name in _WRITING or "out" in given or (bool(args) and made is args[0])


def _ends(args: Sequence[Any], given: Any) -> Ends | None:
    """The ends of an `arange` of integers by steps of 1."""
    if {"start", "end", "step"} & set(given) or len(args) not in (1, 2) or not all(map(is_integer, args)):
        return None
    return (0, args[0]) if len(args) == 1 else (args[0], args[1])
