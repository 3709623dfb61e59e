"""The text form of a graph, as `print(mod.graph)` and `tracepack show` give it.

    graph   := "graph(" [input,*] "):" line* "return" tree
    input   := "%" number ": " type
    line    := [results " = "] target "(" [arg,*] ")" [" @" device] ["  # " source]
    results := "%" number ": " type {"," ...}
    arg     := [name "="] tree;  tree has the form of Python's literals, with %n, $name for a constant
               and {graph} for a subgraph

Values are numbered in order of definition. The form is for people and tests; archives hold msgpack.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import one_line
from .graph import BodyCall, Constant, Graph, Guard, Literal, Node, Record, Value, target_name
from .guards import Expression, is_plain_name
from .traverse import leaves


def graph_text(graph: Graph, *, bodies: bool = False, lines: bool = False) -> str:
    """Prints a graph.

    Args:
        graph: what to print.
        bodies: also prints the graph of every op that is called, indented below its first call.
        lines: appends the user's line to every node.
    """
    # A name, a size or a line of source that a file gives must not look like another node, nor steer a terminal.
    return "\n".join(map(one_line, _Printer(bodies, lines).graph(graph, "")))


def guards_text(guards: Sequence[Expression]) -> str:
    """Guards as one text, joined by ``and``; guards that others imply are left out."""
    texts = [guard.plain for guard in guards if not _implied(guard, guards)]
    return " and ".join(f"({text})" if " or " in text and len(texts) > 1 else text for text in texts)


def _implied(guard: Expression, guards: Sequence[Expression]) -> bool:
    """Whether a guard is a lower bound and another one is a higher bound of the same size."""
    bound = _bound(guard)
    return bound is not None and any((b := _bound(o)) and b[0] == bound[0] and b[1] > bound[1] for o in guards)


def _bound(guard: Expression) -> tuple[str, int] | None:
    """The symbol and the number of a lower bound such as ``N >= 2``."""
    match guard.tree:
        case ast.Compare(ast.Name(name), [ast.GtE()], [ast.Constant(int(least))]):
            return name, least
    return None


def _field(name: str) -> str:
    """The name of a field, or the key of an OrderedDict, which may be any text."""
    return name if is_plain_name(name) else repr(name)


def _printable(name: str) -> str:
    """A name that others chose on one line: quoted where it would break the line, or steer a terminal."""
    return name if name.isprintable() else repr(name)


def types_text(tree: Any, known: Mapping[int, Any] | None = None) -> str:
    """An output tree with the type of every value in its place, as signatures show it.

    Args:
        tree: the output of a graph.
        known: the ids of values -> what is shown of them in place of their type.

    Example:
        >>> from tracepack.ops.graph.types import TensorType
        >>> types_text((Value(TensorType("float32", ("N", 4))), None))
        '(f32[N,4], None)'
    """
    match tree:
        case Value():
            return str((known or {}).get(id(tree), tree.type))
        case Literal(_, name):
            return name
        case Constant() if (kind := tree.type()) is not None:
            return str(kind)
        case Record():
            pairs = zip(tree.fields, tree.items, strict=True)
            return f"{tree.name}({', '.join(f'{_field(k)}={types_text(v, known)}' for k, v in pairs)})"
        case tuple():
            return f"({', '.join(types_text(part, known) for part in tree)}{',' if len(tree) == 1 else ''})"
        case list():
            return f"[{', '.join(types_text(part, known) for part in tree)}]"
        case dict():
            return "{" + ", ".join(f"{k!r}: {types_text(v, known)}" for k, v in tree.items()) + "}"
    return repr(tree)


def plain_text(tree: Any) -> str:
    """An argument as text, ``%`` in place of a value.

    Example:
        >>> plain_text((1, Literal("dtype", "float32"), slice(None, 2)))
        '(1, float32, :2)'
    """
    return _Printer(False, False).tree(tree)


class _Printer:
    def __init__(self, bodies: bool, lines: bool) -> None:
        self.bodies, self.lines = bodies, lines
        self.numbers: dict[int, int] = {}
        self.shown: set[int] = set()

    def graph(self, graph: Graph, indent: str) -> list[str]:
        inputs = ", ".join(self.define(value) for value in graph.inputs)
        out = [f"{indent}graph({inputs}):"]
        for node in graph.nodes:
            out += self.node(node, indent + "  ")
        return [*out, f"{indent}  return {self.tree(graph.output)}"]

    def node(self, node: Node, indent: str) -> list[str]:
        call = f"{_printable(target_name(node.target))}({', '.join(self.arguments(node))})"
        results = ", ".join(self.define(v) for v in leaves(node.output) if v is not None)
        text = f"{indent}{results} = {call}" if results else f"{indent}{call}"
        out = [text + self.suffix(node)]
        if self.bodies and isinstance(node.target, BodyCall) and id(node.target.body) not in self.shown:
            self.shown.add(id(node.target.body))
            out += _Printer(True, False).graph(node.target.body.graph, indent + "  | ")
        return out

    def arguments(self, node: Node) -> list[str]:
        args = [self.tree(arg) for arg in node.args]
        args += [f"{name}={self.tree(arg)}" for name, arg in node.kwargs.items()]
        if isinstance(node.target, Guard):
            args.append(f"== {node.target.expected!r}")
        return args

    def suffix(self, node: Node) -> str:
        device = f" @{node.target.body.device}" if isinstance(node.target, BodyCall) else ""
        return device + (f"  # {node.line}" if self.lines and node.line else "")

    def define(self, value: Value) -> str:
        self.numbers[id(value)] = len(self.numbers)
        return f"%{self.numbers[id(value)]}: {value.type}"

    def tree(self, tree: Any) -> str:
        match tree:
            case Value():
                return f"%{self.numbers.get(id(tree), '')}"
            case Constant():
                return f"${_printable(tree.name)}"
            case Literal():
                return f"device {tree.name}" if tree.kind == "device" else tree.name
            case Graph():
                lines = _Printer(self.bodies, False).graph(tree, "")
                return "{" + "; ".join(line.strip() for line in lines) + "}"
            case tuple():
                return f"({', '.join(map(self.tree, tree))}{',' if len(tree) == 1 else ''})"
            case list():
                return f"[{', '.join(map(self.tree, tree))}]"
            case dict():
                return "{" + ", ".join(f"{k!r}: {self.tree(v)}" for k, v in tree.items()) + "}"
            case Record():
                pairs = zip(tree.fields, tree.items, strict=True)
                return f"{tree.name}({', '.join(f'{_field(k)}={self.tree(v)}' for k, v in pairs)})"
            case slice():
                start, stop = ("" if i is None else self.tree(i) for i in (tree.start, tree.stop))
                return f"{start}:{stop}" + ("" if tree.step is None else f":{self.tree(tree.step)}")
            case _:
                return "..." if tree is Ellipsis else repr(tree)


Graph.__str__ = graph_text  # type: ignore[method-assign, assignment]  # the printer knows graphs, and they do not know it
