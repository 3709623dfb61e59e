"""The table of a generated function: every object that its source refers to, under a generated name.

The source itself holds only integers and these names, so nothing from a file is ever pasted into it. Nested functions
share the table of the outermost one.
"""

from __future__ import annotations

import keyword
from typing import Any

from .arrays import numpy_object
from .device import CPU, Device
from .errors import GraphError
from .graph import Literal


class Table:
    """Objects by name.

    Attributes:
        objects: what the source may refer to: the globals of the function.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._keep: list[Any] = []  # ids in _names stay taken

    def ref(self, thing: Any, prefix: str = "k") -> str:
        """The name of an object; one name an object."""
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
        """A plain Python value as source: integers are written, everything else is a reference."""
        if plain is None or plain is True or plain is False or type(plain) is int:
            return repr(plain)
        return "..." if plain is Ellipsis else self.add(plain, f"c_{type(plain).__name__}")

    def torch_object(self, literal: Literal, device: Device) -> str:
        """The name of a dtype, a layout, a memory format, or a device."""
        return self.ref(_torch_object(literal, device))


def keyword_name(name: str) -> str:
    """A keyword's name, which comes from a file: an identifier or nothing."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise GraphError("a keyword argument has an impossible name", got=repr(name[:80]))
    return name


def _torch_object(literal: Literal, device: Device) -> Any:
    """The object that a literal names: of torch (dtype, layout, memory format, device) or numpy (dtype, scalar)."""
    import torch

    if literal.kind.startswith("numpy."):
        return numpy_object(literal.kind, literal.name)
    if literal.kind == "device":
        return torch.device(str(CPU if literal.name == "cpu" else device))
    kinds = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}
    found = getattr(torch, literal.name, None)
    if literal.kind not in kinds or not isinstance(found, kinds[literal.kind]):
        raise GraphError(f"this torch has no {literal.kind} {literal.name!r}", where="a literal of the graph")
    return found
