"""Removes arithmetic and size reads that nothing uses: a function that looks at `x.shape` reads every size of it.

What may raise stays, since Python raises it, too: a division, an entry of a table, `int` of a float, which may be NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.operators.names import GRADIENTS, MATH
from ...ops.graph.traverse import leaves, uses
from ...ops.graph.types import ANY, BOOL, FLOAT, INT, SCALARS, STR, TensorType
from ...ops.runtime.primitives.numpy import writes

_EFFECTS = ("py.draw", *(f"py.{name}" for name in GRADIENTS))  # a draw moves its generator
_BY_TEXTS = (
    "str_split", "str_rsplit", "str_partition", "str_rpartition", "str_center", "str_ljust", "str_rjust", "format",
)  # fmt: skip
"""Functions that raise for some texts beside the first, such as an empty one."""
_RAISING = frozenset(
    f"py.{name}"
    for name in (
        *MATH, "int", "round", "float", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "getitem", "lookup",
        "lookup_all", "index", "str_index", "str_rindex", "ord", "chr", "fsum", "statistics", "max", "min", "best_by",
        "zip_strict", "math_pow", "encode", "decode", "b64decode", "from_hex", "bytes", "pack", "unpack", "re_group",
        "re_start", "re_end",
        "category", "combining", "date", "decimal", "text", "with_entry", "item", "bool", "is_nonzero", "size",
        "stride", "contains", "plain_code", *_BY_TEXTS,
    )
)  # fmt: skip
"""Functions that raise for some values of the types that they take."""

_FORMATTED = (INT, FLOAT, BOOL, STR)
"""Types whose values all take the format that one of them took; None, which may stand for one, takes none."""


def prune(graph: Graph) -> Graph:
    """The graph without unused ``py.…`` nodes that can do nothing. Torch operators stay, whether used or not."""
    return _without(graph, _is_arithmetic)


def deciding(graph: Graph) -> Graph:
    """The graph without unused nodes that only compute, such as what a function keeps beside its answer."""
    return _without(graph, lambda node: _is_arithmetic(node) or _computes(node))


def _without(graph: Graph, idle: Callable[[Node], bool]) -> Graph:
    """The graph without those idle nodes whose results nothing uses."""
    used = {id(leaf) for leaf in leaves(graph.output) if isinstance(leaf, Value)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if idle(node) and not any(id(v) in used for v in leaves(node.output)):
            continue
        kept.append(node)
        used |= {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
    return Graph(graph.inputs, tuple(reversed(kept)), graph.output)


def _is_arithmetic(node: Node) -> bool:
    """Whether a node without a use may go."""
    if not isinstance(node.target, Operator) or node.target.name in _EFFECTS:
        return False
    name = node.target.name
    return name.startswith("py.") and not writes(name) and not (name in _RAISING and _may_raise(name, *node.args))


def _computes(node: Node) -> bool:
    """Whether a node is a method of tensors, or a function of torch, that writes to none of its arguments."""
    if not isinstance(node.target, Operator) or "out" in node.kwargs:
        return False
    family, _, name = node.target.name.rpartition(".")
    return family in ("torch", "torch.Tensor") and not name.endswith("_")


def _may_raise(name: str, *args: Any) -> bool:
    """Whether one of these functions raises for some values of such arguments."""
    match name.removeprefix("py."), args:
        case (("int" | "round" | "float" | "floor" | "ceil" | "trunc"), (Value(type=kind), *_)):
            return kind not in (INT, BOOL)
        case (("truediv" | "floordiv" | "mod"), (Value(type=kind), (int() | float()) as divisor)):
            return kind not in (INT, BOOL) or not divisor
        case "getitem", (_, slice() as part):
            return isinstance(part.step, Value)  # which may be zero
        case (("max" | "min"), (_, _, *_)):
            return False
        case (("item" | "bool" | "is_nonzero"), (value, *_)):
            return isinstance(value, Value) and isinstance(value.type, TensorType) and value.type.shape != ()
        case (("size" | "stride"), (_, *places)):
            return any(isinstance(each, Value) for each in places)
        case "contains", (holder, item):
            types = (_type(holder), _type(item))
            return types[0] == ANY or types == (STR, ANY)  # either may be None
        case "format", (value, str(spec), conversion):
            return not conversion and (spec.endswith("c") or (spec != "" and _type(value) not in _FORMATTED))
        case short, (_, *others) if short in _BY_TEXTS:
            return any(isinstance(each, Value) for each in others)
    return True


def _type(argument: Any) -> Any:
    """The type of an argument, also of a constant number or text."""
    return argument.type if isinstance(argument, Value) else SCALARS.get(type(argument))
