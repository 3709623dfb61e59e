"""Nodes that may write over their input: elementwise ones, and those that grow a list or a dict of a loop.

An elementwise node saves an allocation and gives the same bits. Its input must be a new tensor of an operator, of the
same dtype, that no other node reads. What a loop carries grows in place where each of its values has one last reader,
which makes the next one of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ..graph.graph import Graph, Node, Operator, Value
from ..graph.traverse import leaves, uses
from ..graph.types import ANY, STRINGS, ListType, TensorType, Type
from .primitives.owned_containers import borrowed, chosen, entered, extended, looping

# Operators whose result has new memory: it is never an argument or a view of one.
_MAKERS = frozenset(
    """aten.linear.default aten.addmm.default aten.mm.default aten.bmm.default aten.baddbmm.default aten.add.Tensor
    aten.sub.Tensor aten.mul.Tensor aten.conv1d.default aten.conv2d.default aten.conv3d.default aten.tanh.default
    aten.sigmoid.default aten.relu.default aten.layer_norm.default""".split()
)
_IN_PLACE = {f"aten.{name}.default": f"aten.{name}_.default" for name in ("tanh", "relu", "sigmoid")}


def in_place(graph: Graph) -> dict[int, str]:
    """The id of a node that may write over its input -> the operator that does so."""
    readers = Counter(id(leaf) for leaf in _reads(graph))
    made: dict[int, Node] = {}
    found: dict[int, str] = {}
    for node in graph.nodes:
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name in _IN_PLACE and not node.kwargs and _replaces(node, made, readers):
            found[id(node)] = _IN_PLACE[name]
        if name in _MAKERS and isinstance(node.output, Value):
            made[id(node.output)] = node
    return found


def _reads(graph: Graph) -> list[Any]:
    found = [leaf for node in graph.nodes for leaf in uses(node)]
    return [leaf for leaf in [*found, *leaves(graph.output)] if isinstance(leaf, Value)]


def _replaces(node: Node, made: dict[int, Node], readers: Counter[int]) -> bool:
    match node.args:
        case (Value() as value,) if id(value) in made and readers[id(value)] == 1 and isinstance(node.output, Value):
            before, after = value.type, node.output.type
            return isinstance(before, TensorType) and isinstance(after, TensorType) and before.dtype == after.dtype
    return False


# -- what loops carry ----------------------------------------------------------------------------------------------

_GROWS: dict[str, Callable[..., Any]] = {"py.cat_strings": extended, "py.with_entry": entered}
_READS = ("py.len", "py.contains", "py.lookup", "py.getitem")
_LEVELS = 8
_CARRIED = 16
"""How deep the loops and the choices lie in each other that are looked at, and how much of what a loop carries: so this
takes time linear in a file."""

Grown = dict[int, Callable[..., Any]]
"""The id of a node -> the function that takes the place of its operator."""


def grown_in_place(graph: Graph) -> Grown:
    """The nodes of the loops in a graph that grow a container in place, and those through which it goes."""
    found: Grown = {}
    for node in graph.nodes:
        if _is(node, "while_loop"):
            found |= _of_loop(node)
    return found


def _of_loop(node: Node) -> Grown:
    test, body, carried = node.args[:3]
    found, places = Grown(), list[int]()
    for place in range(min(len(carried), _CARRIED)):
        end = _followed(body, place, 0)
        if end is not None and end[0] == place and end[1] and _only_reads(test, place):
            places.append(place)
            found |= end[1]
    return found | {id(node): looping(places)} if places else {}


def _followed(graph: Graph, place: int, level: int) -> tuple[int, Grown] | None:
    """Where a graph returns a container that it is given, and the nodes that grow it; None where more than that is."""
    now, dead, found = graph.inputs[place], set[int](), Grown()
    if level > _LEVELS or not _is_container(now.type):
        return None
    if not isinstance(graph.output, tuple) or any(isinstance(each, tuple | list | dict) for each in graph.output):
        return None
    for at, node in enumerate(graph.nodes):
        used = [leaf for leaf in uses(node) if isinstance(leaf, Value)]
        if any(id(leaf) in dead for leaf in used):
            return None
        if not any(each is borrowed for each in found.values()):
            found |= _of_entry(graph, at, now) or {}
        count = sum(leaf is now for leaf in used)
        if not count or (_is(node, *_READS) and node.args[0] is now and count == 1):
            continue
        step = _step(node, now, level) if count == 1 else None
        if step is None:
            return None
        dead.add(id(now))
        now, more = step
        found |= more
    ends = [at for at, leaf in enumerate(graph.output) if leaf is now]
    return (ends[0], found) if len(ends) == 1 and not any(id(leaf) in dead for leaf in graph.output) else None


def _of_entry(graph: Graph, at: int, table: Value) -> Grown | None:
    """The nodes that grow an entry which a node looks up, where the table gets it again before it is read anew.

    So the entry may grow where it is. Any other reader gets a copy of an entry.
    """
    first = graph.nodes[at]
    if not _is(first, "py.lookup") or first.args[0] is not table or not isinstance(first.output, Value):
        return None
    key, now, owed, tables = first.args[1], first.output, False, {id(table)}
    dead, found = set[int](), Grown()
    for node in graph.nodes[at + 1 :] if _is_container(now.type) else ():
        used = [leaf for leaf in uses(node) if isinstance(leaf, Value)]
        holds, reads = sum(leaf is now for leaf in used), any(id(leaf) in tables for leaf in used)
        if any(id(leaf) in dead for leaf in used) or holds > 1 or (reads and not _is(node, *_OF_TABLES)):
            return None
        if reads and _is(node, "py.with_entry") and id(node.args[0]) in tables:
            puts = node.args[2] is now and node.args[1] is key
            if (holds or owed) and not puts:
                return None
            owed = False
            tables.add(id(node.output))
        elif reads and (owed or holds):
            return None
        elif holds and _is(node, *_GROWS) and node.args[0] is now and isinstance(node.output, Value):
            assert isinstance(node.target, Operator)
            found[id(node)] = _GROWS[node.target.name]
            dead.add(id(now))
            now, owed = node.output, True
        elif holds and not (_is(node, *_OF_TABLES) and node.args[0] is now):
            return None
    gone = dead | {id(now)}
    kept = any(id(leaf) in gone for leaf in leaves(graph.output))
    return None if kept or owed or not found else found | {id(first): borrowed}


_OF_TABLES = ("py.len", "py.contains", "py.lookup", "py.with_entry")


def _step(node: Node, now: Value, level: int) -> tuple[Value, Grown] | None:
    """What a node makes of the container that it reads last, and the nodes that grow it."""
    if _is(node, *_GROWS) and isinstance(node.output, Value) and node.args[0] is now and not node.kwargs:
        assert isinstance(node.target, Operator)
        return node.output, {id(node): _GROWS[node.target.name]}
    if _is(node, "cond"):
        _, *branches, operands = node.args
        places = [at for at, each in enumerate(operands) if each is now]
        ends = [_followed(branch, places[0], level + 1) for branch in branches] if places else [None]
        one, other = ends[0], ends[-1]
        if one is None or other is None or one[0] != other[0]:
            return None
        return node.output[one[0]], one[1] | other[1] | {id(node): chosen}
    if _is(node, "while_loop"):
        places = [at for at, each in enumerate(node.args[2]) if each is now]
        end = _followed(node.args[1], places[0], level + 1) if places else None
        owns = end is not None and end[0] == places[0] and _only_reads(node.args[0], places[0])
        return (node.output[places[0]], end[1]) if end is not None and owns else None
    return None


def _only_reads(graph: Graph, place: int) -> bool:
    """Whether a graph asks a container that it is given for nothing but its length and its items."""
    asked = graph.inputs[place]
    for node in graph.nodes:
        if any(leaf is asked for leaf in uses(node)) and not (_is(node, *_READS) and node.args[0] is asked):
            return False
    return not any(leaf is asked for leaf in leaves(graph.output))


def _is(node: Node, *names: str) -> bool:
    return isinstance(node.target, Operator) and node.target.name in names


def _is_container(kind: Type) -> bool:
    return kind in (ANY, STRINGS) or isinstance(kind, ListType)
