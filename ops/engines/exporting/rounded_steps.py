"""Where a step of an exported region falls on numbers that sizes decide, and rounding may move it.

A runtime that rounds a quotient of sizes otherwise shows that in no sum, but a comparison, a whole number or the
nearest pixel is another one. Which sizes are unlucky no corner of a box says: of the images between 40 and 60 pixels a
side that are resized to 224, it is one in ten. Numbers of the data are not looked at; for these, size is no matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

_NEAREST = ("upsample_nearest", "_upsample_nearest_exact")
_RESIZING = ("upsample_", "_upsample_")
_KEEPING = frozenset(  # what makes of means of pixels such ones
    "squeeze unsqueeze select slice view reshape permute transpose contiguous clone mul div add sub clamp".split()
)
_BOUNDED = frozenset(
    "lt le gt ge eq ne floor ceil round trunc frac fix sign sgn heaviside bucketize remainder fmod floor_divide".split()
)
_ORDERING = frozenset("argmax argmin max min sort topk argsort searchsorted".split())  # of data, equal ones are rare
_CONVERSIONS = frozenset("to _to_copy bool long int short char byte".split())


def stepping_sizes(program: torch.export.ExportedProgram) -> set[Any]:
    """The symbols of sizes on which it hangs where a step falls.

    Args:
        program: the exported region.

    Returns:
        Those of the images that are resized to the nearest pixel, or whose means of pixels meet a bound; and all where
        a step falls on floating numbers that sizes decide, and no data.
    """
    inputs = set(program.graph_signature.user_inputs)
    found: set[Any] = set()
    of_data: set[Any] = set()  # nodes that hang on floating inputs
    resized: dict[Any, set[Any]] = {}  # images, with the symbols of their sizes before and after
    of_sizes: set[Any] = set()  # nodes whose numbers hang on sizes, and on no such input
    for node in program.graph.nodes:
        made, name = node.meta.get("val"), _name(node)
        given = list(_numbers(node))
        if node.op == "placeholder":
            of_data |= {node} if node.name in inputs and _is_floating(made) else set()
        elif name.startswith(_RESIZING):
            of_data |= {node}
            resized[node] = _symbols(size for each in (node.args[0].meta["val"], made) for size in each.shape[2:])
            found |= resized[node] if name.startswith(_NEAREST) else set()
        elif isinstance(made, int | float | torch.SymInt | torch.SymFloat | torch.SymBool):
            of_sizes |= {node}
        elif any(each in of_data for each in given):
            of_data |= {node}
            pixels = set().union(*(resized.get(each, ()) for each in given))
            if name in _KEEPING:
                resized[node] = pixels
            found |= pixels if _meets_bound(name, made) else set()
        elif numbers := [each for each in given if each in of_sizes]:
            of_sizes |= {node}
            if (name in _ORDERING or _meets_bound(name, made)) and any(
                _is_floating(each.meta.get("val")) for each in numbers
            ):
                found |= _symbols(_sizes_of(program))
    return found


def _meets_bound(name: str, made: Any) -> bool:
    return name in _BOUNDED or (name in _CONVERSIONS and not _is_floating(made))


def _sizes_of(program: torch.export.ExportedProgram) -> Iterator[Any]:
    """The sizes of all inputs."""
    for node in program.graph.nodes:
        if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor):
            yield from node.meta["val"].shape


def _symbols(sizes: Iterable[Any]) -> set[Any]:
    return {symbol for size in sizes if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols}


def _name(node: Any) -> str:
    """The name of an operator of torch without its overload."""
    target = node.target
    return str(target.overloadpacket.__name__) if isinstance(target, torch._ops.OpOverload) else ""


def _is_floating(value: Any) -> bool:
    kinds = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor | torch.SymFloat | float)]
    return any(not isinstance(each, torch.Tensor) or each.is_floating_point() for each in kinds)


def _numbers(node: Any) -> Iterator[Any]:
    """The nodes with which one computes, but for those that say of what size its result is, or where a part begins."""
    schema = getattr(node.target, "_schema", None)
    kinds = {} if schema is None else {arg.name: str(arg.real_type) for arg in schema.arguments}
    pairs = [*zip(kinds or map(str, range(len(node.args))), node.args, strict=False), *node.kwargs.items()]
    for name, given in pairs:
        counts = _name(node) == "arange" and name == "end"  # which changes none of the numbers before
        if not counts and ("int" not in kinds.get(name, "") or _name(node) == "linspace"):
            yield from (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.fx.Node))
