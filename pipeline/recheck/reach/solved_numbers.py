"""The numbers at which a comparison of a graph may turn: ``v * 7 + 3 == 2803`` does at 400."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ....ops.graph.graph import Graph, Node, Operator, Value
from ....ops.graph.traverse import walk

_COMPARED = frozenset(f"py.{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
_MOST = 16
_LONGEST = 8  # calculations between an input and what is compared

_BACK: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "py.add": (lambda wanted, other: wanted - other, lambda wanted, other: wanted - other),
    "py.sub": (lambda wanted, other: wanted + other, lambda wanted, other: other - wanted),
    "py.mul": (lambda wanted, other: wanted / other, lambda wanted, other: wanted / other),
    "py.truediv": (lambda wanted, other: wanted * other, lambda wanted, other: other / wanted),
    "py.floordiv": (lambda wanted, other: wanted * other, lambda wanted, other: other / wanted),
    "py.mod": (lambda wanted, other: wanted, lambda wanted, other: wanted),
}
"""What a calculation was given, by its result and the constant on its right, or on its left."""


def solved_numbers(graph: Graph) -> list[Any]:
    """What was given where calculations with constants lead to a comparison with one."""
    nodes = list(walk(graph))
    made = {id(node.output): node for node in nodes if isinstance(node.output, Value)}
    found = dict[Any, None]()
    for node in nodes:
        if isinstance(node.target, Operator) and node.target.name in _COMPARED and len(node.args) == 2:
            for value, wanted in (node.args, node.args[::-1]):
                if isinstance(value, Value) and type(wanted) in (int, float):
                    found.update(dict.fromkeys(_back(made, value, wanted)))
    return list(found)[:_MOST]


def _back(made: dict[int, Node], value: Value, wanted: Any) -> Iterator[Any]:
    for _ in range(_LONGEST):
        node = made.get(id(value))
        name = node.target.name if node is not None and isinstance(node.target, Operator) else ""
        if node is None or name not in (*_BACK, "py.neg", "py.abs", "py.float", "py.int"):
            return
        try:
            value, wanted = _before(node, name, wanted)
        except (ArithmeticError, TypeError, StopIteration):
            return
        if not math.isfinite(wanted):
            return
        whole = round(wanted)
        yield whole if abs(whole - wanted) < 1e-9 else wanted


def _before(node: Node, name: str, wanted: Any) -> tuple[Value, Any]:
    """What a calculation was given, and the number that gives the wanted result."""
    if name not in _BACK:
        return node.args[0], -wanted if name == "py.neg" else wanted
    place = next(place for place in (0, 1) if type(node.args[1 - place]) in (int, float))
    return node.args[place], _BACK[name][place](wanted, node.args[1 - place])
