"""Checks a graph from a file once, at load: the grade of every operator, and every argument."""

from __future__ import annotations

from ...graph.errors import GraphError, TrustError
from ...graph.graph import Graph, KernelCall, Node, Operator, target_name
from ...graph.operators.names import CODE, TRUSTED, check_name, grade, is_expression, reason
from ...graph.traverse import every_node, uses
from .arguments import check_arguments


def admit(graph: Graph, *, trust: bool, label: str) -> None:
    """Checks every node of a graph and of the bodies that it calls.

    Args:
        graph: the graph of the file.
        trust: whether the caller trusts the file.
        label: the name of the file in messages.

    Raises:
        TrustError: it uses an operator that only a trusted file may use.
        GraphError: an argument does not fit the schema of its operator.
        UnknownOperatorError: this torch lacks an operator.
    """
    for node in every_node(graph):
        if isinstance(node.target, Operator):
            _admit(node, node.target.name, trust, label)
        elif any(isinstance(leaf, Graph) for leaf in uses(node)):
            raise GraphError(
                "a node has a graph among its arguments, but takes none", where=f"node {target_name(node.target)}"
            )
        elif isinstance(node.target, KernelCall):
            node.target.kernel.check_call(node.args, node.kwargs)


def _admit(node: Node, name: str, trust: bool, label: str) -> None:
    drawn = _drawn(node) if name == "py.draw" else []
    if not trust:
        for used in (name, *drawn):
            _require_untrusted(used, label)
        if is_expression(name):
            from .patterns import check_pattern  # what few files need

            check_pattern(name, node.args, label)
        if name == CODE:
            from .code_patterns import check_code

            check_code(node, label)
    check_arguments(node)


def _require_untrusted(name: str, label: str) -> None:
    if grade(name) == TRUSTED:
        raise TrustError(
            f"operator {name!r} is for trusted files only: {reason(name)}",
            where=label,
            fix="Pass trust=True (a command: --trust) if you trust where the file comes from.",
        )


def _drawn(node: Node) -> list[str]:
    """The name of the operator that a draw calls, if it is one."""
    if len(node.args) > 1 and isinstance(node.args[1], str):
        check_name(node.args[1])
        return [node.args[1]]
    return []
