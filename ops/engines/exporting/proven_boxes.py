"""Boxes of sizes in which all that torch's exporter decided for the example holds.

The exporter runs a region on symbols in place of sizes, and notes what it asked of them: each branch that it took is a
condition. Intervals of all symbols decide whether a condition holds in a whole box.

Where a size is computed of others in floating point, no corner speaks for those between: a runtime that rounds
otherwise is one off at some of them (57% of 100 is 56 in double precision, and 57 in single). The same goes for steps
that fall on such numbers, see `rounded_steps`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types
import torch
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ..size_boxes import Box, SizeBoxes
from .rounded_steps import stepping_sizes

LEAST = 2  # the exporter tells one from all larger sizes; the corners of a box alone speak for one


def proven_boxes(
    program: torch.export.ExportedProgram,
    compared: Sequence[Sequence[torch.Tensor]],
    given: Sequence[Sequence[torch.Tensor]],
) -> list[SizeBoxes]:
    """The boxes between the sizes of some inputs for which an exported region is right.

    Args:
        program: the region, exported, and after all that decomposed it.
        compared: inputs on which it will be compared with the nodes.
        given: those of the user's examples: sizes that are equal in one are also taken for one size, since a function
            may want them equal, as those of ids and their mask.
    """
    names = set(program.graph_signature.user_inputs)
    values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    symbols = [size.node for value in values for size in value.shape if isinstance(size, torch.SymInt)]
    env: Any = symbols[0].shape_env if symbols else None
    if env is None or env.deferred_runtime_asserts or _has_rounded_sizes(program):
        return []
    shapes = [[env.replace(_expression(size)) for size in value.shape] for value in values]
    if not all(size.is_number or size.is_Symbol for shape in shapes for size in shape):
        return []
    conditions = [env.replace(guard.expr) for guard in env.guards]
    fixed = set().union(*(env.replace(symbol).free_symbols for symbol in stepping_sizes(program)))
    sizes = [[value.shape for value in inputs] for inputs in compared]
    found: dict[Any, SizeBoxes] = {}
    for equal in ({}, *(_equal(shapes, inputs) for inputs in given)):
        named = tuple(tuple(_name(equal.get(size, size)) for size in shape) for shape in shapes)
        asked = [condition.xreplace(equal) for condition in conditions]
        if named not in found:
            alone = {_name(equal.get(symbol, symbol)) for symbol in fixed}
            found[named] = SizeBoxes.among(named, sizes, partial(_all_hold, asked, alone))
    return [each for each in found.values() if each.boxes]


def _has_rounded_sizes(program: torch.export.ExportedProgram) -> bool:
    """Whether a size, or another whole number, is computed of sizes in floating point."""
    made = [leaf for node in program.graph.nodes for leaf in tree_leaves(node.meta.get("val"))]
    sizes = [size for value in made for size in (value.shape if isinstance(value, torch.Tensor) else (value,))]
    return any(isinstance(size, torch.SymInt) and _rounds(size.node.expr) for size in sizes)


def _rounds(size: Any) -> bool:
    """Whether some part of an expression of sizes is no whole number."""
    parts = (part for part in sympy.preorder_traversal(size) if isinstance(part, sympy.Expr))
    return any(part.is_integer is not True for part in parts)


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _name(size: Any) -> int | str:
    return int(size) if size.is_number else str(size)


def _equal(shapes: Sequence[Sequence[Any]], inputs: Sequence[torch.Tensor]) -> dict[Any, Any]:
    """For each free size the first one that is equal in some inputs."""
    first: dict[int, Any] = {}
    return {
        symbol: first.setdefault(size, symbol)
        for shape, value in zip(shapes, inputs, strict=True)
        for symbol, size in zip(shape, value.shape, strict=True)
        if symbol.is_Symbol
    }


def _all_hold(conditions: Sequence[Any], alone: Collection[int | str], box: Box) -> bool:
    """Whether conditions hold in a box in which some sizes, on which a step hangs, are the same everywhere."""
    if any(low != high for name, (low, high) in box.items() if name in alone):
        return False
    ranges = {name: ValueRanges(min(max(low, LEAST), high), high) for name, (low, high) in box.items()}
    return all(_holds(condition, ranges) for condition in conditions)


def _holds(condition: Any, ranges: dict[str, Any]) -> bool:
    known = {symbol: ranges[str(symbol)] for symbol in condition.free_symbols if str(symbol) in ranges}
    if len(known) < len(condition.free_symbols):
        return False
    try:
        found = bound_sympy(condition, known)
    except Exception:  # of functions that have no intervals it raises errors of many kinds
        return False
    return bool(found.is_singleton() and found.lower)
