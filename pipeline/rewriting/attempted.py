"""One recording that was tried, and whether another one holds for more."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ...ops.graph.graph import Graph, Guard, Node, Operator
from ...ops.graph.operators.names import CODE
from ...ops.graph.traverse import subgraphs
from ...ops.graph.types import TensorType
from ...ops.runtime.user_code import user_stacklevel
from ..lists.fixed import fixed_pieces, fixed_values, telling
from ..rules.assertions import OWN_CHECKS
from ..rules.tried.tried_lines import CAUGHT
from ..signature.handlers import caught_errors
from ..signature.missing_results import missing_results


@dataclass
class Attempted:
    """What one call of `attempt` gave.

    Attributes:
        found: the pipeline.
        lines: what is to be said of lengths that it fixes.
        earlier: what was given up for it.
        causes: why choices hold for one way, by the places of their lines: ``"file.py:3"``.
        of_model: the form for a model that the function calls in rounds of a fixed number; empty without one.
    """

    found: Any
    lines: list[str]
    earlier: Any
    causes: dict[str, str] = field(default_factory=dict)
    of_model: str = ""

    def told(self) -> Any:
        """The pipeline, after all was said that is to be said of it."""
        for text in dict.fromkeys([*self.earlier.notes, *missing_results(self.found.graph)]):
            warnings.warn(text, stacklevel=user_stacklevel())
        return telling(self.found, self.lines, self.earlier.refused, self.earlier.mixed, self.causes, self.of_model)

    def guards(self, with_settings: bool = True) -> list[int]:
        """How many conditions each run checks, then how many those do that take one way, and so on inside of that.

        Args:
            with_settings: whether those of settings of torch count, which a block with tensors has.
        """
        outer, *inner = _guards(self.found.graph, with_settings)
        return [outer + len(self.lines) + len(self.caught()) + fixed_pieces(self.found.graph), *inner]

    def caught(self) -> list[str]:
        """What is said of errors that the function catches, and which end a run."""
        return list(caught_errors(self.found.graph))

    def fixed(self) -> int:
        """How many texts, numbers and lengths it fixes."""
        return len(self.lines) + fixed_values(self.found.graph)

    def sizes(self) -> int:
        """How many sizes of inputs are fixed."""
        types = [value.type for value in self.found.graph.inputs if isinstance(value.type, TensorType)]
        return sum(isinstance(size, int) for found in types for size in found.shape)


def is_better(found: Attempted, before: Attempted) -> bool:
    """Whether a recording fixes less than the one before.

    A text, a number or a list that any run may give is worth the settings that a block asks for; a size is not.
    """
    with_settings = found.fixed() >= before.fixed()
    return found.guards(with_settings) < before.guards(with_settings) and found.sizes() <= before.sizes()


def _guards(graph: Graph, with_settings: bool) -> list[int]:
    """The guards of a graph by their depth, without those of ranks, which the signature has anyway.

    Nor do those count that stand for errors of the function's own.

    A block with a loop asks for settings of torch: a loop of any length is worth that, a choice by a size is not.
    """
    asked = (*_RANKS, *_SETTINGS) if not with_settings or any(map(_loops, graph.nodes)) else _RANKS
    ranks = {id(node.output) for node in graph.nodes if node.target in asked}
    guards = [node for node in graph.nodes if isinstance(node.target, Guard)]
    count = sum(not any(id(each) in ranks for each in node.args) and not _is_own(node.target) for node in guards)
    inner = [_guards(each, with_settings) for node in graph.nodes for each in subgraphs(node)]
    return [count, *map(sum, zip_longest(*inner, fillvalue=0))]


def _is_own(guard: Any) -> bool:
    """Whether a guard is a check that the function itself makes."""
    reason: str = guard.reason
    return reason.startswith(OWN_CHECKS) and CAUGHT not in reason


def _loops(node: Node) -> bool:
    """Whether a node is a block with a loop."""
    if node.target != Operator(CODE):
        return False
    return any(isinstance(part, ast.For | ast.While) for part in ast.walk(ast.parse(node.args[0])))


_RANKS = (Operator("py.ndim"), Operator("py.array_rank"))
_SETTINGS = (Operator("py.default_dtype"), Operator("py.autocast"))
