"""The source of a generated function: its lines, and the table of the objects that they refer to.

Every node is exactly one line, so that a failing line number leads back to its node. The source holds only integers
and names of the table: nothing from a file is ever pasted into it. Nested functions share the outermost one's table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.device import CPU, Device
from ..graph.errors import GraphError
from ..graph.graph import Literal, Node
from ..graph.guards import is_plain_name
from ..graph.types import DTYPES as TORCH_DTYPES
from .primitives.numpy import numpy_object


@dataclass(eq=False, repr=False, slots=True)
class Line:
    """One line of generated source, with the variables that it reads and writes, and the op call that it belongs to."""

    text: str
    node: Node | None
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    call: Node | None = None

    def variables(self) -> list[str]:
        """Its local variables, without references to the table and literals."""
        return [name for name in dict.fromkeys((*self.reads, *self.writes)) if name.startswith("v")]


@dataclass(eq=False, repr=False)
class Source:
    """The text of a function; for every line number its node, and the call of an op that it belongs to."""

    text: str
    nodes: dict[int, Node]
    calls: dict[int, Node]


def source_of(lines: Sequence[Line], inputs: Sequence[str], result: str, kept: Iterable[str]) -> Source:
    """Joins lines to a function named ``plan`` that frees every value after its last use.

    Args:
        lines: the body.
        inputs: the parameters, which are not freed since the caller holds them.
        result: the returned expression.
        kept: the variables in the result, which are not freed.
    """
    used = [line.variables() for line in lines]
    last = {name: index for index, names in enumerate(used) for name in names}
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
        dead = [name for name in used[index] if last[name] == index and name not in held]
        if dead and index + 1 < len(lines) and not line.text.startswith("if "):
            text[-1] += f"; del {', '.join(dead)}"
    text.append(f" return {result}")
    return Source("\n".join(text), nodes, calls)


class References:
    """Names for objects.

    Attributes:
        objects: the globals of the generated function, by name.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._keep: list[Any] = []  # keeps the ids in _names from being reused

    def ref(self, thing: Any, prefix: str = "k") -> str:
        """The name of an object; each object has one."""
        key = id(thing)
        if key not in self._names:
            self._names[key] = self.add(thing, prefix)
            self._keep.append(thing)
        return self._names[key]

    def add(self, thing: Any, prefix: str) -> str:
        """A new name for an object."""
        name = f"{prefix}_{len(self.objects)}"
        self.objects[name] = thing
        return name

    def literal(self, plain: Any) -> str:
        """A plain Python value as source: small integers are written, everything else is a reference."""
        if plain is None or plain is True or plain is False:
            return repr(plain)
        if type(plain) is int and plain.bit_length() < 64:
            return str(plain) if plain >= 0 else f"({plain})"  # (-1) ** n is not -1 ** n
        return "..." if plain is Ellipsis else self.add(plain, f"c_{type(plain).__name__}")

    def torch_object(self, literal: Literal, device: Device) -> str:
        """The name of a dtype, a layout, a memory format, or a device."""
        return self.ref(torch_object(literal, device))


def keyword_name(name: str) -> str:
    """Checks that a keyword of a file is an identifier."""
    if not is_plain_name(name):
        raise GraphError("the name of a keyword argument is no identifier", got=repr(name[:80]))
    return name


_KINDS = {
    "dtype": frozenset(TORCH_DTYPES),
    "layout": frozenset(("strided",)),
    "memory_format": frozenset(("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")),
}
"""The objects of torch that a literal may name; no other one is looked up."""


def torch_object(literal: Literal, device: Device) -> Any:
    """The object that a literal names: of torch (dtype, layout, memory format, device) or numpy (dtype, scalar).

    Raises:
        GraphError: it is in none of the closed tables.
    """
    import torch

    if literal.kind.startswith("numpy."):
        return numpy_object(literal.kind, literal.name)
    if literal.kind == "device":
        return torch.device(str(CPU if literal.name == "cpu" else device))
    found = getattr(torch, literal.name, None) if literal.name in _KINDS.get(literal.kind, ()) else None
    if found is None:
        raise GraphError(f"there is no {literal.kind} {literal.name!r}"[:100], where="a literal of the graph")
    return found
