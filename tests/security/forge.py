"""Forged archives: graphs that no recorder writes, saved with hashes that are right, as an attacker would."""

from __future__ import annotations

import io
from typing import Any

from tracepack.ops.graph.graph import Body, BodyCall, Facts, Graph, Node, Operator, Value
from tracepack.ops.graph.program import Parameter, Parameters, Program, Slot
from tracepack.ops.graph.types import ANY, TensorType
from tracepack.serialization.container.archive_writer import write
from tracepack.serialization.program import packed

VECTOR = TensorType("float32", ("N",))
NO_FACTS = Facts({}, ())


def tensor(*shape: Any, dtype: str = "float32") -> Value:
    """A new value of a tensor."""
    return Value(TensorType(dtype, shape or ("N",)))


def apply(name: str, *args: Any, output: Any = None, **kwargs: Any) -> Node:
    """A node of an operator; its result may be anything unless said otherwise."""
    return Node(Operator(name), args, kwargs, Value(ANY) if output is None else output)


def archive_of(graph: Graph, facts: Facts = NO_FACTS) -> bytes:
    """The archive of a graph whose inputs are named x0, x1, …"""
    names = tuple(f"x{i}" for i in range(len(graph.inputs)))
    items = tuple(Parameter(name, "positional", Slot(i)) for i, name in enumerate(names))
    parameters = Parameters(items, names, tuple(value.type for value in graph.inputs))
    file = io.BytesIO()
    manifest, members, _ = packed(Program("forged", graph, parameters, facts))  # no check: `save` would refuse most
    write(file, manifest, members)
    return file.getvalue()


def one_node(name: str, *args: Any, inputs: int = 1, **kwargs: Any) -> bytes:
    """The archive of one node over tensors; strings ``"x0"`` among the arguments stand for the inputs."""
    values = tuple(tensor() for _ in range(inputs))

    def place(arg: Any) -> Any:
        if isinstance(arg, str) and arg[:1] == "x" and arg[1:].isdigit():
            return values[int(arg[1:])]
        return [place(item) for item in arg] if isinstance(arg, list) else arg

    node = apply(name, *map(place, args), **{key: place(arg) for key, arg in kwargs.items()})
    return archive_of(Graph(values, (node,), node.output))


def body_of(graph: Graph, name: str = "inner") -> Body:
    """An op with a graph."""
    return Body(name, "cpu", graph, NO_FACTS, tuple(f"a{i}" for i in range(len(graph.inputs))))


def call(body: Body, *args: Any) -> Node:
    """A node that calls an op with one output."""
    return Node(BodyCall(body), args, {}, tensor())
