"""Says at once what a recording fixes: a text, or the length of a list, which else an error would say much later."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Protocol, TypeVar

from ...ops.graph.graph import Graph, Guard, Node, Operator, Value
from ...ops.graph.traverse import walk
from ...ops.graph.types import TensorType
from ...ops.runtime.safety.patterns import is_expression, is_linear, pattern_among
from ...ops.runtime.user_code import user_stacklevel


class _HasGraph(Protocol):
    """What has a graph."""

    @property
    def graph(self) -> Graph: ...


Traced = TypeVar("Traced", bound=_HasGraph)
_COMPARED = ("it was compared", "a branch was taken on it")
_LENGTHS = ("the length of the list was read", "the length of the dict was read", "its length was read")
_ONLY = "the recording holds for one value only, because "


def telling(pipeline: Traced) -> Traced:
    """A pipeline, with a line of warning for each text and length of a list that it guards, and for a need of trust.

    A branch on a text is no news: the signature shows its condition.
    """
    for line in dict.fromkeys(_lines(pipeline.graph)):
        warnings.warn(line, UserWarning, stacklevel=user_stacklevel())
    return pipeline


def fixes_length(pipeline: _HasGraph) -> bool:
    """Whether a pipeline guards the length of a list."""
    guards = (node.target for node in walk(pipeline.graph) if isinstance(node.target, Guard))
    return any(guard.reason.removeprefix(_ONLY) in _LENGTHS for guard in guards)


def _lines(graph: Graph) -> Iterator[str]:
    constant = set(_constant_sizes(graph))
    for node in walk(graph):
        if isinstance(node.target, Guard):
            yield from () if id(node.args[0]) in constant else _fixed(node, node.target)
        elif isinstance(node.target, Operator) and is_expression(node.target.name):
            pattern, flags = pattern_among(node.target.name, node.args)
            if not is_linear(pattern, flags):
                yield f"{node.line}: the file needs load(path, trust=True): the time of {pattern!r} has no bound"


def _constant_sizes(graph: Graph) -> Iterator[int]:
    """The ids of the sizes that no input decides, such as that of the five best: to guard them fixes nothing."""
    inputs = set(map(id, graph.inputs))
    for node in graph.nodes:
        match node:
            case Node(Operator("py.size"), (Value(TensorType(_, shape)) as value, int(dim)), _, Value() as size):
                if id(value) not in inputs and isinstance(shape[dim], int):
                    yield id(size)


def _fixed(node: Node, guard: Guard) -> Iterator[str]:
    why = guard.reason.removeprefix(_ONLY)
    if why in _LENGTHS:
        yield (
            f"{node.line}: the length is fixed to {guard.expected}. A list comprehension, or tracepack.map(fn, items), "
            "keeps it free"
        )
    elif isinstance(guard.expected, str | list) and why not in _COMPARED and why != guard.reason:
        yield f"{node.line}: a text is fixed to {guard.expected!r}, because {why}"
