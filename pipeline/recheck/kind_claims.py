"""The kinds of a pipeline's plain results: one of several that data may choose is shown as any."""

from __future__ import annotations

from itertools import product
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator, Value
from ...ops.graph.traverse import leaves
from ...ops.graph.types import ANY, ScalarType, TensorType

_KINDS = ("int", "float", "bool", "complex", "str")
_CHOSEN: dict[str, slice] = {
    "sorted": slice(1), "sorted_by": slice(1), "foremost": slice(1),
    "reversed": slice(1), "list": slice(1), "getitem": slice(1),
    "min": slice(None), "max": slice(None), "best_by": slice(1, 2), "lookup": slice(0, None, 2),
    "cat_strings": slice(None),
}  # fmt: skip
"""Functions that give one of several values, or a list of them -> the arguments that hold those."""
_WIDER = ("int", "float", "complex")
_ARITHMETIC = frozenset(("add", "sub", "mul", "floordiv", "mod", "neg", "pos", "truediv", "pow"))
_COUNTS = frozenset(("size", "numel", "len", "abs"))
_KEEP_SIGN = frozenset(("add", "mul", "pow", "floordiv", "truediv", "mod", "pos", "max", "min"))


def forget_chosen_kinds(graph: Graph) -> None:
    """Hides the kinds of values that data chooses, such as ``sorted([1.5, n])[0]`` or ``2**n``, and of their uses."""
    held: dict[int, set[str]] = {}
    counts: set[int] = set()
    for node in graph.nodes:
        name = node.target.name.removeprefix("py.") if isinstance(node.target, Operator) else ""
        if not isinstance(node.output, Value):
            continue
        if name in _COUNTS or (name in _KEEP_SIGN and all(_at_least_zero(part, counts) for part in node.args)):
            counts.add(id(node.output))
        if name in _CHOSEN:
            found = _held(list(node.args[_CHOSEN[name]]), held)
        elif name in _ARITHMETIC:
            found = _computed(name, node, held, counts)
        else:
            continue
        held[id(node.output)] = found
        if len(found) > 1 and isinstance(node.output.type, ScalarType) and node.output.type.kind in _KINDS:
            node.output.type = ANY


def forget_reductions(graph: Graph) -> None:
    """Hides the ranks of results that hang on a loss whose `reduction` is an argument: "none" keeps all dimensions."""
    open_ranks = set[int]()
    for node in graph.nodes:
        parts = [part for part in leaves((node.args, node.kwargs)) if isinstance(part, Value)]
        if isinstance(node.kwargs.get("reduction"), Value) or any(id(part) in open_ranks for part in parts):
            open_ranks |= {id(made) for made in leaves(node.output)}
    for value in leaves(graph.output):
        if isinstance(value, Value) and id(value) in open_ranks and isinstance(value.type, TensorType):
            value.type = ANY


def _computed(name: str, node: Node, held: dict[int, set[str]], counts: set[int]) -> set[str]:
    """The kinds that arithmetic may give.

    A power of two ints is a float where the exponent is negative; a negative base to a broken exponent is complex.
    """
    parts = [{"int" if kind == "bool" else kind for kind in _held(part, held)} for part in node.args]
    if not all(parts) or any("str" in kinds for kinds in parts):  # a text, an array or a list
        return _held(node.output, {})
    found = {max(kinds, key=_WIDER.index) for kinds in product(*parts)}
    if name == "truediv":
        return {"float" if kind == "int" else kind for kind in found}
    if name == "pow":
        base, exponent = node.args
        if "int" in found and not _at_least_zero(exponent, counts):
            found = found | {"float"} if isinstance(exponent, Value) else found - {"int"} | {"float"}
        broken = not isinstance(exponent, float) or not exponent.is_integer()
        if "float" in parts[1] and broken and not _at_least_zero(base, counts):
            found |= {"complex"}
    return found


def _at_least_zero(thing: Any, counts: set[int]) -> bool:
    """Whether a number is never negative: a literal, a size, or what was computed from such."""
    return id(thing) in counts if isinstance(thing, Value) else isinstance(thing, int | float) and thing >= 0


def _held(thing: Any, held: dict[int, set[str]]) -> set[str]:
    """The kinds of the numbers and texts in an argument."""
    match thing:
        case Value():
            kind = thing.type.kind if isinstance(thing.type, ScalarType) else ""
            return held.get(id(thing), {kind} if kind in _KINDS else set())
        case list() | tuple():
            return {kind for part in thing for kind in _held(part, held)}
        case dict():
            return _held(list(thing.values()), held)
    return {type(thing).__name__} & {*_KINDS}


def is_of(kind: ScalarType, found: Any) -> bool:
    """Whether a plain value is of a kind; an int may stand for a float, as in Python's annotations."""
    name = type(found).__name__
    return kind.kind not in _KINDS or name not in _KINDS or kind.kind == name or (kind.kind, name) == ("float", "int")
