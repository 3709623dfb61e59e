"""``tracepack show``: the graph of an archive as text or as a picture, without torch."""

from __future__ import annotations

from ...ops.graph.graph import Body, Graph
from ...ops.graph.svg.picture import svg
from ...ops.graph.text import graph_text
from ...ops.graph.traverse import named_bodies
from ..exit_codes import UsageError
from ..manifest import Described, describe
from ..output_files import is_stdout, write_output
from ..report import Block, Report, Text


def show(path: str, *, picture: str | None, with_bodies: bool, op: str | None, lines: bool) -> Report:
    """Shows the graph of a pipeline, or of one of its ops.

    Args:
        path: the archive.
        picture: a file for an SVG, ``"-"`` for standard output, or None for text.
        with_bodies: shows the graphs of the ops too.
        op: the name of an op to show instead of the pipeline; the second one of a name is ``name#2``.
        lines: appends the user's line to every node.

    Raises:
        ArchiveError: the archive cannot be read.
        UsageError: there is no such op, or the picture cannot be written.
    """
    found = describe(path)
    title, graph, names = _chosen(found, op)
    if picture is None:
        text = graph_text(graph, bodies=with_bodies, lines=lines)
        return Report({"name": title, "text": text}, [Text(text, code=True)])
    panels = [(title, graph, names)]
    called = named_bodies(graph) if with_bodies else {}
    panels += [(f"{name} @{body.device}", body.graph, list(body.inputs)) for name, body in called.items()]
    drawn = svg(panels).encode("ascii", "xmlcharrefreplace")  # right in whatever encoding a terminal or a pipe has
    if picture == "-":
        return Report({"name": title, "svg": drawn.decode()}, [Text(drawn.decode().rstrip("\n"))])
    write_output(picture, drawn)
    blocks: list[Block] = [] if is_stdout(picture) else [Text(f"{picture}: {len(graph.nodes)} nodes")]
    return Report({"name": title, "written": picture}, blocks)


def _chosen(found: Described, op: str | None) -> tuple[str, Graph, list[str]]:
    contents = found.contents
    if op is None:
        return contents.name, contents.graph, [name for name, _ in found.inputs]
    body = _body(contents.graph, op)
    return f"{op} @{body.device}", body.graph, list(body.inputs)


def _body(graph: Graph, op: str) -> Body:
    known = named_bodies(graph)
    if op not in known:
        raise UsageError(f"no op is named {op!r}", expected=f"one of {', '.join(known) or 'none: it holds no ops'}")
    return known[op]
