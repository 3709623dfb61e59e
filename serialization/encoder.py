"""Writes graphs, bodies and kernels as members and a manifest, in the form that `decoder` describes.

It needs no torch: constants are numbered here, and `weights` stores their tensors.
"""

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
from ..ops.graph.program import Parameter, Parameters, Slot
from ..ops.graph.traverse import callers_first
from ..ops.graph.types import ListType, ScalarType, Type
from .container.archive_writer import Member, member, pack
from .container.schema import FORMAT, MAIN_GRAPH, VERSION
from .contents import Contents
from .kernel_data import check_assets, check_description


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


def encode(contents: Contents, producer: dict[str, str]) -> tuple[dict[str, Any], list[Member], Tables]:
    """The manifest without constants and examples, the members without tensors, and the tables of numbered objects."""
    tables = Tables()
    for body in callers_first(contents.graph):  # a body may call those after it only
        tables.number(body, tables.bodies)
    members = [member(MAIN_GRAPH, pack(Encoder(tables).graph(contents.graph)))]
    bodies: list[dict[str, Any]] = []
    for index, body in enumerate(tables.bodies):
        name = f"graphs/op{index}.msgpack"
        members.append(member(name, pack(Encoder(tables).graph(body.graph))))
        bodies.append(_body_row(body, name))
    kernels = [_kernel_row(index, kernel, members) for index, kernel in enumerate(tables.kernels)]
    manifest = {
        "format": FORMAT,
        "version": list(VERSION),
        "producer": producer,
        "name": contents.name,
        "parameters": contents.parameters,
        "facts": encode_facts(contents.facts),
        "bodies": bodies,
        "kernels": kernels,
    }
    return manifest, members, tables


def _body_row(body: Body, member_name: str) -> dict[str, Any]:
    return {
        "name": body.name,
        "device": body.device,
        "graph": member_name,
        "inputs": list(body.inputs),
        "types": [encode_type(value.type) for value in body.graph.inputs],
        "facts": encode_facts(body.facts),
        "contiguous": body.contiguous,
    }


def _kernel_row(index: int, kernel: Kernel, members: list[Member]) -> dict[str, Any]:
    assets: dict[str, str] = {}
    for name, data in sorted(check_assets(kernel).items()):
        assets[name] = f"kernels/{index}/{len(assets)}"
        members.append(member(assets[name], data))
    return {
        "kind": kernel.kind,
        "name": kernel.name,
        "description": check_description(kernel),
        "assets": assets,
        "runs_code": kernel.runs_code,
    }


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
                return ["guard", encode_tree(expected, self.tree), reason]
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


def encode_parameters(parameters: Parameters) -> dict[str, Any]:
    """The parameters as plain data."""
    return {
        "items": [_encode_parameter(item) for item in parameters.items],
        "names": list(parameters.names),
        "types": [encode_type(kind) for kind in parameters.types],
    }


def _encode_parameter(item: Parameter) -> list[Any]:
    row = [item.name, item.kind, _encode_slots(item.tree)]
    return row if item.required else [*row, _encode_slots(item.default)]


def _encode_slots(tree: Any) -> Any:
    return {"p": tree.index} if isinstance(tree, Slot) else encode_tree(tree, _encode_slots)
