"""Writes graphs, types and trees as plain data for msgpack, in the form that `decoder` describes. No torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..ops.graph.graph import (
    Body,
    BodyCall,
    Constant,
    Facts,
    Graph,
    Guard,
    KernelCall,
    Literal,
    Node,
    Operator,
    Record,
    SizeTuple,
    Value,
)
from ..ops.graph.kernel import Kernel
from ..ops.graph.types import ListType, ScalarType, Type


@dataclass(eq=False, repr=False)
class Tables:
    """The objects that graphs refer to by number, in order of first use."""

    constants: list[Constant] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def number(self, thing: Any, table: list[Any]) -> int:
        """The number of an object in its table, to which it is added if it is new."""
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(table)
            table.append(thing)
        return self._numbers[id(thing)]


class Encoder:
    """Writes one graph; each subgraph gets its own encoder."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.values: dict[int, int] = {}

    def graph(self, graph: Graph) -> dict[str, Any]:
        """A graph as plain data."""
        inputs = [self.define(value) for value in graph.inputs]
        nodes = [self.node(node) for node in graph.nodes]
        return {"inputs": inputs, "nodes": nodes, "output": self.tree(graph.output)}

    def define(self, value: Value) -> Any:
        """A new value, numbered in order of definition; its type is written."""
        self.values[id(value)] = len(self.values)
        return encode_type(value.type)

    def node(self, node: Node) -> dict[str, Any]:
        """A node; arguments are written before its own values are defined."""
        args, kwargs = [self.tree(a) for a in node.args], {k: self.tree(a) for k, a in node.kwargs.items()}
        out: dict[str, Any] = {"target": self.target(node.target), "args": args}
        if kwargs:
            out["kwargs"] = kwargs
        if node.output is not None:
            out["output"] = self.output(node.output)
        if node.line is not None:
            out["line"] = [node.line.file, node.line.line, node.line.function, node.line.code]
        if node.varying:
            out["varying"] = True
        return out

    def target(self, target: Any) -> list[Any]:
        """The target of a node."""
        match target:
            case Operator(name):
                return ["operator", name]
            case KernelCall(kernel):
                return ["kernel", self.tables.number(kernel, self.tables.kernels)]
            case BodyCall(body):
                return ["body", self.tables.number(body, self.tables.bodies)]
            case Guard(expected, reason):
                return ["guard", expected, reason]
        raise AssertionError(target)

    def output(self, output: Any) -> Any:
        """The values that a node produces, with their types, in the tree of its result."""
        match output:
            case None:
                return None
            case Value():
                return {"o": self.define(output)}
            case dict():
                return {"d": [[key, self.output(item)] for key, item in output.items()]}
        return {"t": [self.output(item) for item in output]}

    def tree(self, tree: Any) -> Any:
        """A tree of arguments."""
        match tree:
            case Value():
                return {"v": self.values[id(tree)]}
            case Constant():
                return {"c": self.tables.number(tree, self.tables.constants)}
            case Graph():
                return {"g": Encoder(self.tables).graph(tree)}
        return encode_tree(tree, self.tree)


def encode_tree(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """Containers and plain values; `leaf` encodes what is inside containers."""
    match tree:
        case SizeTuple():
            return {"z": [leaf(item) for item in tree]}
        case tuple():
            return {"t": [leaf(item) for item in tree]}
        case list():
            return [leaf(item) for item in tree]
        case dict():
            return {"d": [[leaf(key), leaf(item)] for key, item in tree.items()]}
        case slice():
            return {"s": [leaf(tree.start), leaf(tree.stop), leaf(tree.step)]}
        case Literal(kind, name):
            return {"k": [kind, name]}
        case Record(name, fields, items):
            return {"r": [name, list(fields), [leaf(item) for item in items]]}
        case complex():
            return {"x": [tree.real, tree.imag]}
        case int() if not isinstance(tree, bool) and not -(2**63) <= tree < 2**64:
            return {"i": str(tree)}
        case _ if tree is Ellipsis:
            return {"e": 0}
    return tree


def encode_type(kind: Type) -> Any:
    """A type: a scalar's name, a tensor's dtype and shape, or a list with the type of its items."""
    if isinstance(kind, ListType):
        return ["list", _encode_item(kind.item)]
    return kind.kind if isinstance(kind, ScalarType) else [kind.dtype, list(kind.shape)]


def _encode_item(item: Any) -> Any:
    return encode_tree(item, _encode_item) if isinstance(item, tuple | dict | str) else encode_type(item)


def encode_facts(facts: Facts) -> dict[str, Any]:
    """Facts about sizes."""
    return {
        "symbols": {name: list(place) for name, place in facts.symbols.items()},
        "guards": list(map(str, facts.guards)),
    }
