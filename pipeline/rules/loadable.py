"""Whether a recorded graph passes the checks that a load makes of every argument, and holds no address of a process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...ops.graph.errors import RecordError, TracepackError
from ...ops.graph.graph import Graph, Operator
from ...ops.graph.traverse import bodies, every_node, leaves, subgraphs
from ...ops.runtime.safety.arguments import check_arguments

_DEEPEST = 17  # subgraphs inside of each other: a file may hold some more, with room for containers in the last one


def refuse_unloadable(graph: Graph, where: str, known: Sequence[Any] = ()) -> None:
    """Refuses a graph whose file would not load, or would hold an address of this process.

    Args:
        graph: the graph.
        where: the line of the function, for what its result shows.
        known: constants of the function's code and what it could reach before it ran: a text of those is no address.

    Raises:
        RecordError: an operator has an argument that no file may hold, branches and loops are nested too deeply, or a
            text shows where an object lies, with the line.
    """
    for each in (graph, *(body.graph for body in bodies(graph))):
        _refuse_depth(each, 0)
    texts = [text for text in known if isinstance(text, str)]
    _refuse_addresses(graph.output, where, texts)
    for node in every_node(graph):
        _refuse_addresses((node.args, node.kwargs), str(node.line or ""), texts)
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


def refuse_other_addresses(what: str, where: str) -> None:
    """Refuses a difference of two recordings that is where an object lies.

    Args:
        what: the difference, with what was in the one and in the other.
        where: the line.

    Raises:
        RecordError: it is that.
    """
    if len(set(_ADDRESS.findall(what))) > 1:
        _refuse_addresses([what], where, [])


def _refuse_addresses(tree: object, where: str, texts: Sequence[str]) -> None:
    shown = [found for leaf in leaves(tree) if isinstance(leaf, str) for found in _ADDRESS.findall(leaf)]
    for found in shown:
        if not any(found in text for text in texts):
            raise RecordError(
                "a text shows the address of an object, which is another one in each process",
                where=where,
                got=found[:80],
                fix="Give the class a __repr__, or name the object by its __name__.",
            )


_ADDRESS = re.compile("<[^<>]* at 0x[0-9a-fA-F]{8,}>")
"""What Python writes of an object that has no text of its own."""


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
