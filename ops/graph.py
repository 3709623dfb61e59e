"""The one IR of the project: a Graph of Nodes over typed Values.

The body of an op lowered from a model and a traced processing function are both Graphs, so that one verifier, one
printer, one codec and one plan serve both. Uses point at Values by object, never by name. The order of the nodes is
the order of execution and is kept by everything: in-place operators and aliasing depend on it. This module knows
nothing of bytes or torch; a `Constant` carries its tensor as an opaque payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import GraphError
from .kernel import Kernel
from .types import Type


@dataclass(eq=False, slots=True)
class Value:
    """What one node produces, or one input of a graph."""

    type: Type


@dataclass(eq=False, slots=True)
class Constant:
    """A tensor that the graph holds: a weight, a buffer, a tensor that the function captured.

    A mutable constant is state: its tensor is the initial value, and every pipeline works on a copy of its own. A
    parameter is what training changes.
    """

    tensor: Any
    name: str
    mutable: bool = False
    parameter: bool = False


@dataclass(frozen=True)
class Literal:
    """A torch object written into the graph by name: kind ``dtype``, ``device``, ``layout``, ``memory_format``.

    The device ``"op"`` stands for the device of the op that the graph belongs to, and is substituted at load.
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Operator:
    """An operator by name: ``aten.add.Tensor``, ``torch.Tensor.view``, ``py.floordiv``."""

    name: str


@dataclass(frozen=True)
class KernelCall:
    """Applies a kernel."""

    kernel: Kernel


@dataclass(frozen=True)
class Guard:
    """Checks that its one argument equals what the recording relied on."""

    expected: bool | int | float | str | list[str] | None
    reason: str


@dataclass(frozen=True)
class BodyCall:
    """Applies an op by its lowered body."""

    body: Body


Target = Operator | KernelCall | Guard | BodyCall


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The user's line that a node was recorded from; the file without its folders."""

    file: str
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.code}"


@dataclass(eq=False, slots=True)
class Node:
    """One application of a target.

    Attributes:
        args: trees (tuple, list, dict, slice) of Values, Constants, Literals, Graphs and plain Python values.
        output: a tree (tuple, list, dict) of the Values that it produces, or None for a node run for its effect.
        varying: True where the shape or the value of the result depends on data, not only on input shapes, so
            that facts checked about it must be checked on every run.
    """

    target: Target
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    line: SourceLine | None = None
    varying: bool = False


@dataclass(eq=False, slots=True)
class Graph:
    """Inputs, nodes in order of execution, and a tree of outputs.

    An output tree may hold Values, Constants and plain Python values in tuples, lists, dicts and records.
    """

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    output: Any

    def __str__(self) -> str:
        from .text import graph_text

        return graph_text(self)


@dataclass(frozen=True)
class Facts:
    """What an op's body assumes about its inputs.

    Attributes:
        symbols: for each symbol the flat input and the dimension that define it.
        guards: expressions over the symbols that must hold, in the grammar of `expr`.
    """

    symbols: dict[str, tuple[int, int]]
    guards: tuple[str, ...]


@dataclass(eq=False)
class Body:
    """One lowered form of an op: a graph, what it assumes, and the device that the op was scripted for.

    Attributes:
        inputs: a name for every flat input, such as ``"x"`` or ``"mask[0]"``.
        contiguous: whether a non-contiguous output is made contiguous rather than refused.
    """

    name: str
    device: str
    graph: Graph
    facts: Facts
    inputs: tuple[str, ...]
    contiguous: bool = False


@dataclass(frozen=True)
class Record:
    """A tuple with named fields in an output tree: a namedtuple, or one of torch's return types.

    Attributes:
        name: ``"torch.return_types.max"``, or the bare class name of a namedtuple.
    """

    name: str
    fields: tuple[str, ...]
    items: tuple[Any, ...]


def leaves(tree: Any) -> Iterator[Any]:
    """Every leaf of a tree, in order; subgraphs are leaves."""
    match tree:
        case tuple() | list():
            for item in tree:
                yield from leaves(item)
        case dict():
            for item in tree.values():
                yield from leaves(item)
        case slice():
            yield from leaves((tree.start, tree.stop, tree.step))
        case Record():
            yield from leaves(tree.items)
        case _:
            yield tree


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with every leaf replaced; containers keep their exact kind among those of the IR."""
    match tree:
        case tuple():
            return tuple(map_leaves(function, item) for item in tree)
        case list():
            return [map_leaves(function, item) for item in tree]
        case dict():
            return {key: map_leaves(function, item) for key, item in tree.items()}
        case slice():
            return slice(*(map_leaves(function, item) for item in (tree.start, tree.stop, tree.step)))
        case Record():
            return Record(tree.name, tree.fields, map_leaves(function, tree.items))
        case _:
            return function(tree)


def uses(node: Node) -> Iterator[Any]:
    """The leaves of a node's arguments."""
    yield from leaves(node.args)
    yield from leaves(node.kwargs)


def subgraphs(node: Node) -> Iterator[Graph]:
    """The graphs inside a node: branches of a `cond`, bodies of a loop."""
    for leaf in uses(node):
        if isinstance(leaf, Graph):
            yield leaf


def bodies(graph: Graph) -> Iterator[Body]:
    """Every op body called in a graph, each once, in order of first call."""
    seen: set[int] = set()
    for node in walk(graph):
        if isinstance(node.target, BodyCall) and id(node.target.body) not in seen:
            seen.add(id(node.target.body))
            yield node.target.body


def walk(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of its subgraphs, not of the op bodies it calls."""
    for node in graph.nodes:
        yield node
        for inner in subgraphs(node):
            yield from walk(inner)


def constants(graph: Graph) -> Iterator[Constant]:
    """Every constant of a graph, of its subgraphs and of the bodies it calls, each once, in order of first use."""
    seen: set[int] = set()
    for leaf in _all_leaves(graph):
        if isinstance(leaf, Constant) and id(leaf) not in seen:
            seen.add(id(leaf))
            yield leaf


def _all_leaves(graph: Graph) -> Iterator[Any]:
    for node in graph.nodes:
        for leaf in uses(node):
            if isinstance(leaf, Graph):
                yield from _all_leaves(leaf)
            else:
                yield leaf
        if isinstance(node.target, BodyCall):
            yield from _all_leaves(node.target.body.graph)
    yield from leaves(graph.output)


def verify(graph: Graph, outer: frozenset[int] = frozenset()) -> None:
    """Checks that a graph is well formed: run after every build and every load.

    Args:
        graph: what to check; the bodies it calls are checked with it.
        outer: ids of Values that an enclosing graph defines. Subgraphs take everything as inputs, so it is empty.

    Raises:
        GraphError: a value is used before it is produced, is produced twice, a node has a foreign argument, or an op
            is called unlike its body.
    """
    defined = set(outer)
    for value in graph.inputs:
        _define(value, defined, "the inputs")
    for index, node in enumerate(graph.nodes):
        where = f"node {index} ({target_name(node.target)})"
        for leaf in uses(node):
            _check_use(leaf, defined, where)
        if isinstance(node.target, BodyCall):
            verify(node.target.body.graph)
            _check_call(node, node.target.body, where)
        for value in leaves(node.output):
            if value is not None:
                _define(value, defined, where)
    for leaf in leaves(graph.output):
        _check_use(leaf, defined, "the outputs")


def _check_call(node: Node, body: Body, where: str) -> None:
    """A call of an op must fit its body, which a file may say otherwise."""
    got = len(node.args), len(list(leaves(node.output)))
    expected = len(body.graph.inputs), len(list(leaves(body.graph.output)))
    if got != expected or node.kwargs:
        numbers = "{} inputs and {} outputs"
        raise GraphError(
            "an op is called unlike its body", where=where, got=numbers.format(*got), expected=numbers.format(*expected)
        )


def _define(value: Any, defined: set[int], where: str) -> None:
    if not isinstance(value, Value):
        raise GraphError("a node produces something that is not a value", where=where, got=type(value).__name__)
    if id(value) in defined:
        raise GraphError("a value is produced twice", where=where)
    defined.add(id(value))


_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), Constant, Literal)


def _check_use(leaf: Any, defined: set[int], where: str) -> None:
    if isinstance(leaf, Value):
        if id(leaf) not in defined:
            raise GraphError("a value is used before it is produced", where=where)
    elif isinstance(leaf, Graph):
        verify(leaf)
    elif not isinstance(leaf, _PLAIN):
        raise GraphError("an argument that a graph cannot hold", where=where, got=type(leaf).__name__)


def calling(body: Body) -> Graph:
    """A graph that only calls a body, so that a plan of it checks the op's inputs and outputs as in any pipeline."""
    inputs = tuple(Value(value.type) for value in body.graph.inputs)
    results = tuple(Value(leaf.type) if isinstance(leaf, Value) else leaf for leaf in leaves(body.graph.output))
    values = tuple(leaf if isinstance(leaf, Value) else None for leaf in results)
    return Graph(inputs, (Node(BodyCall(body), inputs, {}, values),), results)


def target_name(target: Target) -> str:
    """The short name of a target, for text and errors."""
    match target:
        case Operator(name):
            return name
        case KernelCall(kernel):
            return kernel.name
        case BodyCall(body):
            return body.name
        case Guard():
            return "guard"
