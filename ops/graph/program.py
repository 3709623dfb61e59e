"""Program: a processing function as data, before any device is chosen for it, and how it is called.

Each parameter has a tree whose leaves are positions in the flat list of graph inputs; everything else in it is fixed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import field
from typing import Any

from .frozen_class import frozen, frozen_object
from .graph import Constant, Facts, Graph, Record
from .text import plain_text
from .types import Type


@frozen
class Slot:
    """The place of a flat graph input in a parameter's tree."""

    index: int


class Items(tuple[Any, ...]):
    """A tuple of an example of a file: it may stand for the named tuple that a call has to give."""

    __slots__ = ()


def unnamed(tree: Any) -> Any:
    """A value of a file, whose tuples may each stand for a named one."""
    match tree:
        case tuple():
            return Items(map(unnamed, tree))
        case list():
            return [*map(unnamed, tree)]
        case dict():
            return {key: unnamed(item) for key, item in tree.items()}
    return tree


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@frozen
class Parameter:
    """One parameter of a pipeline.

    Attributes:
        name: its key in `run`'s dict.
        kind: ``"positional"``, ``"keyword"``, or ``"variadic"`` for ``*args``.
        tree: its structure.
        default: the plain value that it has where it is not given; `REQUIRED` where it must be.
    """

    name: str
    kind: str
    tree: Any
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def defaults(self) -> Iterator[tuple[Any, Any]]:
        """The leaves of its tree, each with its part of the default; `REQUIRED` where there is none."""
        return _beside(self.tree, self.default)


def _beside(tree: Any, default: Any) -> Iterator[tuple[Any, Any]]:
    """A file may hold a default of another form than its tree: what has no part of it gets `REQUIRED`."""
    match tree:
        case dict():
            keyed = default if isinstance(default, dict) else {}
            pairs = [(part, keyed.get(key, REQUIRED)) for key, part in tree.items()]
        case tuple() | list() | Record():
            parts = tree.items if isinstance(tree, Record) else tree
            fits = isinstance(default, tuple | list) and len(default) == len(parts)
            pairs = list(zip(parts, default if fits else [REQUIRED] * len(parts), strict=True))
        case _:
            yield tree, default
            return
    for part, value in pairs:
        yield from _beside(part, value)


@frozen
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

    def texts(self, written: Container[int] = ()) -> list[str]:
        """Each input as signatures show it: ``"x: f32[N,4]"``, ``"k: int = 5"``, and ``"mode='mean'"`` for a fixed one.

        A fixed one that has another default is marked: ``"dtype=float16 (must be given)"``, and so is an input without
        a default behind one that has a default.

        Args:
            written: the flat inputs into which a run may write.
        """
        found: list[str] = []
        optional = False
        for item in self.items:
            must = " (must be given)" if item.required and optional else ""
            optional = optional or not item.required
            slots = [(leaf.index, default) for leaf, default in item.defaults() if isinstance(leaf, Slot)]
            for index, default in slots:
                value = None if item.default is None else default  # of a container as a whole, too
                given = "" if value is REQUIRED else f" = {plain_text(value)}"
                mark = " (written)" if index in written else ""
                found.append(f"{self.names[index]}: {self.types[index]}{given}{mark}{must}")
            given = " (must be given)" if item.required else ""
            found += [] if slots else [f"{item.name}={plain_text(item.tree)}{given}"]
        return found

    def __str__(self) -> str:
        return ", ".join(self.texts())


@frozen_object
class Artefact:
    """What an engine made of a region, as an archive holds it.

    Attributes:
        engine: the name of the engine.
        package: the package that made it, with its version: ``"onnxruntime 1.32.0"``.
        description: plain data that the engine needs besides the files.
        files: what the engine wrote, by a name of its own.
        constants: the weights that are not in the files, by the engine's name of each.
    """

    engine: str
    package: str
    description: Mapping[str, Any]
    files: Mapping[str, bytes]
    constants: Mapping[str, Constant]


@frozen_object
class EngineChoice:
    """A region of a program, and the engine that runs it.

    Attributes:
        body: the number of an op among the bodies that the graph calls; None for a run of nodes.
        nodes: the first node of the graph and the one after the last; None for an op.
        processor: the kind of processor on which it was measured; empty where a user named the engine.
        artefact: what the engine made of it.
        tolerance: by how much outputs of the pipeline may differ because of it; 0 for no more than by rounding.
    """

    body: int | None
    nodes: tuple[int, int] | None
    processor: Mapping[str, str]
    artefact: Artefact
    tolerance: float = 0.0


@frozen_object
class Program:
    """A processing function as an archive holds it; a pipeline shares it with its sessions.

    Attributes:
        name: the function's name.
        graph: the recorded function.
        parameters: how it is called.
        facts: the assumptions about the sizes of its inputs.
        source: the mapped file, kept so that other loads of it share its weights.
        metadata: what the user wrote about it: text, numbers, booleans, None, and lists and dicts of them.
        engines: the regions that an engine runs in place of the flat function.
    """

    name: str
    graph: Graph
    parameters: Parameters
    facts: Facts
    source: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    engines: tuple[EngineChoice, ...] = ()
