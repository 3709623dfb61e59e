"""Whether two recordings of one function are the same program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ops.graph.graph import Constant, Graph, Guard, Node, Record, SourceLine, Value, target_name
from ...ops.graph.traverse import leaves


@dataclass(frozen=True)
class Difference:
    """The first difference of two recordings.

    Attributes:
        guarded: whether a guard before it fails for one of the two, so that a run stops there.
    """

    what: str
    line: SourceLine | None
    guarded: bool


def difference(first: Graph, second: Graph) -> Difference | None:
    """Compares two graphs node by node; None if they are the same program."""
    numbers: dict[int, int] = {}
    _number(first.inputs, second.inputs, numbers)
    guarded = False
    for a, b in zip(first.nodes, second.nodes, strict=False):
        if isinstance(a.target, Guard) and isinstance(b.target, Guard) and a.target.expected != b.target.expected:
            guarded = True
            continue
        found = _node_difference(a, b, numbers)
        if found is not None:
            return Difference(found, a.line, guarded)
        if not _number(a.output, b.output, numbers):  # a run checks the number of results here
            return Difference(f"{target_name(a.target)} gave another number of results", a.line, True)
    if len(first.nodes) != len(second.nodes):
        longer = max(first, second, key=lambda graph: len(graph.nodes))
        extra = longer.nodes[min(len(first.nodes), len(second.nodes))]
        return Difference(f"{target_name(extra.target)} ran in one of them only", extra.line, guarded)
    found = _tree_difference(first.output, second.output, numbers)
    return Difference(f"the result: {found}", None, guarded) if found else None


def _number(first: Any, second: Any, numbers: dict[int, int]) -> bool:
    """Pairs the values that two trees define; whether the trees have the same shape."""
    left, right = list(leaves(first)), list(leaves(second))
    if len(left) != len(right):
        return False
    numbers.update({id(a): id(b) for a, b in zip(left, right, strict=True) if a is not None})
    return True


def _node_difference(a: Node, b: Node, numbers: dict[int, int]) -> str | None:
    if type(a.target) is not type(b.target) or target_name(a.target) != target_name(b.target):
        return f"{target_name(a.target)} in one, {target_name(b.target)} in the other"
    found = _tree_difference((a.args, a.kwargs), (b.args, b.kwargs), numbers)
    if found:
        return f"{target_name(a.target)} was called with {found}"
    return None


def _tree_difference(a: Any, b: Any, numbers: dict[int, int]) -> str | None:
    """What differs between two argument trees, or None."""
    match a:
        case Value():
            return None if isinstance(b, Value) and numbers.get(id(a)) == id(b) else "different values"
        case Constant():
            return None if isinstance(b, Constant) and _same_tensor(a, b) else "different captured tensors"
        case Record():
            if not isinstance(b, Record) or (a.name, a.fields) != (b.name, b.fields):
                return "different containers"
            return _tree_difference(a.items, b.items, numbers)
        case tuple() | list():
            if type(a) is not type(b) or len(a) != len(b):
                return f"{_short(a)} and {_short(b)}"
            return next((d for x, y in zip(a, b, strict=True) if (d := _tree_difference(x, y, numbers))), None)
        case dict():
            if not isinstance(b, dict) or list(a) != list(b):
                return f"different keys, {_short(a)} and {_short(b)}"
            return next((d for k in a if (d := _tree_difference(a[k], b[k], numbers))), None)
        case slice():
            ends = (b.start, b.stop, b.step) if isinstance(b, slice) else ()
            return _tree_difference((a.start, a.stop, a.step), ends, numbers)
        case Graph():
            if not isinstance(b, Graph):
                return "different branches"
            found = difference(a, b)
            return found.what if found else None
    same = type(a) is type(b) and (a == b or (a != a and b != b))
    return None if same else f"{_short(a)} and {_short(b)}"


def _same_tensor(a: Constant, b: Constant) -> bool:
    """Whether two captured tensors are one object, or equal because the function makes a new one in each run."""
    if a.tensor is b.tensor:
        return True
    x, y = a.tensor, b.tensor
    return bool(x.dtype == y.dtype and x.shape == y.shape and x.equal(y))


def _short(thing: Any) -> str:
    return "values" if any(isinstance(leaf, Value) for leaf in leaves(thing)) else repr(thing)[:60]
