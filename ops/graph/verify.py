"""The verifier: the one place that knows what a well-formed graph is. It runs after every build and every load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .errors import GraphError
from .graph import Body, BodyCall, Constant, Graph, Guard, Literal, Node, Operator, Record, Value, target_name
from .operators.names import CODE, LEFT_OUT
from .traverse import bodies, leaves, uses

Where = str | tuple[int, Node]
"""A place in a graph: words, or a node and its number, of which a message alone makes words."""


def verify(graph: Graph) -> None:
    """Checks that a graph is well formed: run after every build and every load; linear in what it reads.

    Args:
        graph: what to check; the bodies it calls are checked with it, each once.

    Raises:
        GraphError: a value is used before it is produced, or is produced twice; an argument is of a type that no graph
            holds; or the call of an op does not fit its body.
    """
    _verify(graph)
    for body in bodies(graph):
        _verify(body.graph)


def _verify(graph: Graph) -> None:
    """Checks a graph and its subgraphs, which use no outer value but their inputs."""
    defined: set[int] = set()
    for value in graph.inputs:
        _define(value, defined, "the inputs")
    for index, node in enumerate(graph.nodes):
        where = index, node
        for leaf in uses(node):
            if type(leaf) is not Value or id(leaf) not in defined:
                _check_use(leaf, defined, where)
        if isinstance(node.target, Guard) and (len(node.args) != 1 or node.kwargs):
            raise _error("a guard takes one argument", where, len(node.args) + len(node.kwargs))
        if isinstance(node.target, BodyCall):
            _check_call(node, node.target.body, where)
        for value in leaves(node.output):
            if value is not None:
                _define(value, defined, where)
    for leaf in leaves(graph.output):
        _check_use(leaf, defined, "the outputs")


def _error(what: str, where: Where, got: object = None, expected: object = None) -> GraphError:
    place = where if isinstance(where, str) else f"node {where[0]} ({target_name(where[1].target)})"
    return GraphError(what, where=place, got=got, expected=expected)


def _check_call(node: Node, body: Body, where: Where) -> None:
    """Checks that the call of an op has the inputs and outputs of its body; in a file it may not."""
    if any(isinstance(arg, dict | slice | Record) for arg in node.args):
        raise _error("an op takes values and lists of them, and was given another container", where)
    got = len(node.args), len(list(leaves(node.output)))
    expected = len(body.graph.inputs), len(list(leaves(body.graph.output)))
    if got != expected or node.kwargs:
        numbers = "{} inputs and {} outputs"
        raise _error("the call of an op does not fit its body", where, numbers.format(*got), numbers.format(*expected))


def check_branches(node: Node, where: Where = "a choice or a loop") -> None:
    """Checks that subgraphs stand where a choice or a loop calls them, and nowhere else: none may become a value.

    Args:
        node: any node that has a subgraph, or applies an operator of control flow.
        where: its place, for messages.

    Raises:
        GraphError: a subgraph stands elsewhere, or something else where one is called.
    """
    name = node.target.name if isinstance(node.target, Operator) else ""
    places = _BRANCHES[name](node.args) if name in _BRANCHES else ()
    called = {place for place in places if place < len(node.args)}
    others = [arg for place, arg in enumerate(node.args) if place not in called]
    if any(isinstance(leaf, Graph) for leaf in leaves([others, node.kwargs])):
        raise _error("a subgraph stands where none is called", where)
    if len(called) < len(places) or not all(isinstance(node.args[place], Graph) for place in called):
        raise _error(f"{name} calls something that is not a subgraph", where)


_BRANCHES: dict[str, Callable[[Sequence[Any]], Sequence[int]]] = {
    "cond": lambda args: (1, 2),
    "while_loop": lambda args: (0, 1),
    "map": lambda args: (0, *range(3, len(args))),
    f"py.{LEFT_OUT}": lambda args: (1,),
    CODE: lambda args: [place for place, arg in enumerate(args) if place > 1 and isinstance(arg, Graph)],
}
"""The arguments that are called: by an operator of control flow, a block of plain Python, calls without an input."""


def _define(value: Any, defined: set[int], where: Where) -> None:
    if not isinstance(value, Value):
        raise _error("a node produces something that is not a value", where, type(value).__name__)
    if id(value) in defined:
        raise _error("a value is produced twice", where)
    defined.add(id(value))


_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), Constant, Literal)


def _check_use(leaf: Any, defined: set[int], where: Where) -> None:
    if isinstance(leaf, Value):
        if id(leaf) not in defined:
            raise _error("a value is used before it is produced", where)
    elif isinstance(leaf, Graph):
        if isinstance(where, str):
            raise _error("a subgraph is no value", where)
        check_branches(where[1], where)
        _verify(leaf)
    elif not isinstance(leaf, _PLAIN):
        raise _error("a graph cannot hold this argument", where, type(leaf).__name__)
