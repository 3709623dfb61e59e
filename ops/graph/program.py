"""Program: a processing function as data, before any device is chosen for it, and how it is called.

Each parameter has a tree whose leaves are positions in the flat list of graph inputs; everything else in it is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .graph import Facts, Graph
from .types import Type


@dataclass(frozen=True)
class Slot:
    """The place of a flat graph input in a parameter's tree."""

    index: int


@dataclass(frozen=True)
class Parameter:
    """One parameter of a pipeline.

    Attributes:
        name: its key in `run`'s dict.
        kind: ``"positional"``, ``"keyword"``, or ``"variadic"`` for ``*args``.
        tree: its structure.
    """

    name: str
    kind: str
    tree: Any


@dataclass(frozen=True)
class Parameters:
    """All parameters of a pipeline, with the names and types of the flat inputs.

    Attributes:
        items: the parameters in the function's order.
        names: a name for each flat input, such as ``"batch['ids']"``.
        types: a type for each flat input.
    """

    items: tuple[Parameter, ...]
    names: tuple[str, ...]
    types: tuple[Type, ...]


@dataclass(frozen=True)
class Program:
    """A processing function as an archive holds it; a pipeline shares it with its sessions.

    Attributes:
        name: the function's name.
        graph: the recorded function.
        parameters: how it is called.
        facts: the assumptions about the sizes of its inputs.
        source: the mapped file, kept so that other loads of it share its weights.
    """

    name: str
    graph: Graph
    parameters: Parameters
    facts: Facts
    source: Any = None
