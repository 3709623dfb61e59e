"""The lines of a generated function. Every node is exactly one, so that a failing line number leads back to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .graph import Node


@dataclass
class Line:
    """One line of generated source, with what it reads and writes, and the call of an op that it belongs to."""

    text: str
    node: Node | None
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    call: Node | None = None

    def variables(self) -> list[str]:
        """Its local variables, without references to the table and literals."""
        return [name for name in dict.fromkeys((*self.reads, *self.writes)) if name.startswith("v")]


@dataclass
class Source:
    """The text of a function; for every line number its node, and the call of an op that it belongs to."""

    text: str
    nodes: dict[int, Node]
    calls: dict[int, Node]


def source_of(lines: Sequence[Line], inputs: Sequence[str], result: str, kept: Iterable[str]) -> Source:
    """Joins lines to a function named ``plan`` that frees every value after its last use.

    Args:
        lines: the body.
        inputs: the parameters, which the caller holds anyway.
        result: what is returned.
        kept: the variables in it.
    """
    last = {name: index for index, line in enumerate(lines) for name in line.variables()}
    held = {*kept, *inputs}
    text = [f"def plan({', '.join(inputs)}):"]
    nodes: dict[int, Node] = {}
    calls: dict[int, Node] = {}
    for index, line in enumerate(lines):
        text.append(f" {line.text}")
        if line.node is not None:
            nodes[len(text)] = line.node
        if line.call is not None:
            calls[len(text)] = line.call
        dead = [name for name in line.variables() if last[name] == index and name not in held]
        if dead and index + 1 < len(lines) and not line.text.startswith("if "):
            text[-1] += f"; del {', '.join(dead)}"
    text.append(f" return {result}")
    return Source("\n".join(text), nodes, calls)
