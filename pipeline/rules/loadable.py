"""Whether a recorded graph passes the checks that a load makes of every argument."""

from __future__ import annotations

from ...ops.graph.errors import RecordError, TracepackError
from ...ops.graph.graph import Graph, Operator
from ...ops.graph.traverse import bodies, every_node, subgraphs
from ...ops.runtime.safety.arguments import check_arguments

_DEEPEST = 17  # subgraphs inside of each other: a file may hold some more, with room for containers in the last one


def refuse_unloadable(graph: Graph) -> None:
    """Refuses a graph whose file would not load.

    Raises:
        RecordError: an operator has an argument that no file may hold, or branches and loops are nested too deeply,
            with the line.
    """
    for each in (graph, *(body.graph for body in bodies(graph))):
        _refuse_depth(each, 0)
    for node in every_node(graph):
        if isinstance(node.target, Operator):
            try:
                check_arguments(node)
            except TracepackError as error:
                raise RecordError(
                    f"{node.target.name} has an argument that a file cannot hold",
                    where=str(node.line or ""),
                    got=error.got,
                    expected=error.expected,
                ) from error


def _refuse_depth(graph: Graph, depth: int) -> None:
    for node in graph.nodes:
        for inner in subgraphs(node):
            if depth == _DEEPEST:
                raise RecordError(
                    f"branches and loops are nested more than {_DEEPEST} deep",
                    where=str(node.line or ""),
                    fix="Choose by a table, or by torch.where.",
                )
            _refuse_depth(inner, depth + 1)
