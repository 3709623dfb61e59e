"""Says where a run may end with an error that the function itself catches: a recording holds no `except`."""

from __future__ import annotations

from collections.abc import Iterator

from ...ops.graph.graph import Graph, Guard, Node, Operator, SourceLine
from ...ops.graph.traverse import walk
from ..rules.tried.tried_lines import CAUGHT, TriedLine, tries_around

_MAY_FAIL = {
    "py.int": (r"bool(re.fullmatch(r'\s*[+-]?\d+\s*', text))", "int(text)", "-1"),
    "py.float": ("text.strip().lstrip('+-').replace('.', '', 1).isdecimal()", "float(text)", "0.0"),
    "py.lookup": ("", "table.get(key, default)", ""),
    "py.getitem": ("len(items) > 1", "items[1]", "default"),
    "py.index": ("item in items", "items.index(item)", "-1"),
    "py.str_index": ("", "text.find(part)", ""),
}
"""The operators whose errors people catch -> the condition under which they do not fail, what gives the result then,
and what else: what to write instead. In a loop a plain choice is recorded, elsewhere `tracepack.cond` is."""


_BUT_FOR = {"py.int": ", but for 1_000", "py.float": ", but for 1e3, 1_000, inf and nan"}
"""What such conditions do not know."""


_CHOOSE = "Test for it before, and choose with tracepack.cond"


def caught_errors(graph: Graph) -> Iterator[str]:
    """A line for each operator that may fail in a `try` with an `except`."""
    for node in walk(graph):
        if isinstance(node.target, Guard) and node.target.reason.endswith(CAUGHT):
            yield f"{node.line}: {node.target.reason}: a recording holds no `except`, and the run ends there. {_CHOOSE}"
        elif isinstance(node.target, Operator) and node.line is not None and not _is_sure(node.target.name, node):
            name = node.target.name
            form = _instead_of(name, node.line)
            if isinstance(node.line, TriedLine) or (form and tries_around(node.line)):
                instead = f"{form} takes its place{_BUT_FOR.get(name, '')}" if form else _CHOOSE
                yield f"{node.line}: an error here ends the run: a recording holds no `except`. {instead}"


def _is_sure(name: str, node: Node) -> bool:
    """Whether an operator has a default, or is what a loop asks of its items."""
    if name == "py.getitem":
        code = "" if node.line is None else node.line.code
        return "for " in code and "next(" not in code
    return name == "py.lookup" and len(node.args) == len(("table", "key", "default"))


def form_for(error: BaseException, line: SourceLine | None) -> str:
    """What to write instead of what raised an error that the function catches; empty where nothing is known."""
    code = line.code if line is not None else ""
    of_texts = "py.float" if "float(" in code else "py.int" if "int(" in code else ""
    names: dict[type[BaseException], str] = {ValueError: of_texts, KeyError: "py.lookup", IndexError: "py.getitem"}
    name = names.get(type(error), "")
    return _instead_of(name, line)


def _instead_of(name: str, line: SourceLine | None) -> str:
    condition, form, other = _MAY_FAIL.get(name, ("", "", ""))
    if not condition:
        return form
    in_loop = line is not None and any(tries_around(line))
    return (
        f"{form} if {condition} else {other}"
        if in_loop
        else (f"tracepack.cond({condition}, lambda: {form}, lambda: {other})")
    )
