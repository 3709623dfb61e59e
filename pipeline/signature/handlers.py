"""Says where a run may end with an error that the function itself catches: a recording holds no `except`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath

from ...ops.graph.graph import Graph, Node, Operator, SourceLine
from ...ops.graph.traverse import walk

_MAY_FAIL = {
    "py.int": "tracepack.cond(text.isdigit(), lambda: int(text), lambda: -1)",
    "py.float": "tracepack.cond(text.isdigit(), lambda: float(text), lambda: 0.0)",
    "py.lookup": "table.get(key, default)",
    "py.getitem": "tracepack.cond(len(items) > 1, lambda: items[1], lambda: default)",
    "py.index": "tracepack.cond(item in items, lambda: items.index(item), lambda: -1)",
    "py.str_index": "text.find(part)",
}
"""The operators whose errors people catch -> what to write instead."""


def caught_errors(graph: Graph) -> Iterator[str]:
    """A line for each operator that may fail in a `try` with an `except`."""
    for node in walk(graph):
        form = _form(node)
        if form and node.line is not None and _is_caught(node.line):
            yield f"{node.line}: an error here ends the run: a recording holds no `except`. {form} takes its place"


def _form(node: Node) -> str:
    """What to write instead of an operator that may fail; empty for others, and for what a loop asks of its items."""
    name = node.target.name if isinstance(node.target, Operator) else ""
    has_default = name == "py.lookup" and len(node.args) == len(("table", "key", "default"))
    of_loop = name == "py.getitem" and node.line is not None and "for " in node.line.code
    return "" if has_default or of_loop else _MAY_FAIL.get(name, "")


def _is_caught(line: SourceLine) -> bool:
    """Whether a line stands in a `try` that catches something, as far as its source is known."""
    known = [path for path in list(linecache.cache) if PurePath(path).name == line.file]
    known = [path for path in known if linecache.getline(path, line.line).strip()[:200] == line.code]
    return any(first <= line.line <= last for path in known for first, last in _tried(path))


@lru_cache(maxsize=64)
def _tried(path: str) -> list[tuple[int, int]]:
    """The first and the last line of what each `try` of a file tries."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:  # it is being edited, or no Python
        return []
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    return [(node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno) for node in tries]
