"""Whether a recorded graph passes the checks that a load makes of every argument."""

from __future__ import annotations

from ...ops.graph.errors import RecordError, TracepackError
from ...ops.graph.graph import Graph, Operator
from ...ops.graph.traverse import every_node
from ...ops.runtime.safety.arguments import check_arguments


def refuse_unloadable(graph: Graph) -> None:
    """Refuses a graph whose file would not load.

    Raises:
        RecordError: an operator has an argument that no file may hold, with the line.
    """
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
