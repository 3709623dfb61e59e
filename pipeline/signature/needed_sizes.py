"""Sizes of inputs that a pipeline needs behind other nodes: a last size of 3 for Slang, one more than another size.

What ops that take an input directly need is written in them. Of what lies behind a slice, a kernel, a product of
matrices, torch knows: the graph runs once on tensors without data whose sizes are symbols, and torch notes which have
to be a number, or follow from others. Torch also notes what holds for the example only, as that two sizes are equal
which may be broadcast. So each is tried: it is needed where the graph fails with every other size that is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch

from ...ops.graph.errors import GraphError
from ...ops.graph.graph import BodyCall, Graph, Guard, Node, Operator, Value
from ...ops.graph.guards import Expression
from ...ops.graph.operators.names import FRESH, VIEW, effect
from ...ops.graph.traverse import leaves, uses
from ...ops.graph.types import TensorType
from ...ops.lowering.patches.silence import Silence
from ...ops.lowering.sizes import dimension
from ...ops.runtime.plan import Plan
from .symbolic_run import SymbolicRun

MOST_NODES = 1_000
_OF_TORCH = ("torch.", "aten.", "py.")
_DRAWS = ("py.draw", "py.generator", "py.seeded")
_TRIED = (0, 1, 2, 3, 5, 64, 101)
_LEAST = 4
"""How many other sizes have to fail."""


def needed_sizes(graph: Graph, leaves_of_example: Sequence[Any]) -> list[Expression]:
    """What the sizes of inputs have to be, as conditions over the names of `dimension`.

    Args:
        graph: of the pipeline, with the inputs as they were recorded.
        leaves_of_example: the flat inputs.
    """
    sized = _without_data(graph)
    free = [_free(value, leaf) for value, leaf in zip(graph.inputs, leaves_of_example, strict=True)]
    if not any(free) or not sized.nodes or len(sized.nodes) > MOST_NODES:
        return []
    needs: _Needs | None = None
    # An operator that knows nothing of symbols says nothing of sizes: then the run itself does.
    with suppress(Exception), Silence():
        run = SymbolicRun(sized, leaves_of_example, free)
        needs = _Needs(sized, leaves_of_example, run.places)
        for equation in run.equations():
            needs.consider(equation)
    return list(needs.conditions()) if needs else []


def _free(value: Value, leaf: Any) -> list[int]:
    """The dimensions of an input whose size may be another: none and one are special to torch."""
    if not isinstance(value.type, TensorType) or not isinstance(leaf, torch.Tensor):
        return []
    return [dim for dim, size in enumerate(leaf.shape) if size > 1]


def _without_data(graph: Graph) -> Graph:
    """The nodes whose sizes follow from those of the inputs alone, without results."""
    unknown = {id(value) for value in graph.inputs if not isinstance(value.type, TensorType)}
    kept = list[Node]()
    for node in graph.nodes:
        used = {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
        if node.varying or not _tells_sizes(node) or used & unknown:
            unknown |= {id(leaf) for leaf in leaves(node.output)} | (used if _changes(node) else set())
        else:
            kept.append(node)
    return Graph(graph.inputs, tuple(kept), ())


def _tells_sizes(node: Node) -> bool:
    """Whether a node runs on tensors without data."""
    if isinstance(node.target, Operator):
        return node.target.name.startswith(_OF_TORCH) and node.target.name not in _DRAWS
    if isinstance(node.target, Guard):  # which says itself what it needs, with its line
        return False
    return isinstance(node.target, BodyCall) or node.target.kernel.tells_sizes


def _changes(node: Node) -> bool:
    return isinstance(node.target, Operator) and effect(node.target.name) not in (FRESH, VIEW)


class _Needs:
    """What sizes have to be, as far as runs of the graph with other sizes confirm it.

    Args:
        graph: the graph; none of its nodes needs data.
        leaves_of_example: the flat inputs.
        places: torch's symbol -> the input and the dimension whose size it is.

    Attributes:
        sizes: the symbols that are a number, or follow from others, which are free.
    """

    def __init__(self, graph: Graph, leaves_of_example: Sequence[Any], places: Mapping[Any, tuple[int, int]]) -> None:
        self.plan, self.example, self.places = Plan(graph), leaves_of_example, places
        self.now = {symbol: int(leaves_of_example[index].shape[dim]) for symbol, (index, dim) in places.items()}
        self.sizes: dict[Any, Any] = {}

    def consider(self, equation: Any) -> None:
        """Takes an equation of torch, if it holds for a symbol in all runs that do not fail."""
        difference = (equation.lhs - equation.rhs).subs(self.sizes).expand()
        if difference.free_symbols <= set(self.places) and self._fails_without(difference):
            for symbol in sorted(difference.free_symbols, key=self.places.__getitem__, reverse=True):
                factor = difference.coeff(symbol)
                rest = (difference - factor * symbol).expand()
                if factor in (1, -1) and symbol not in rest.free_symbols:
                    found = {symbol: -factor * rest}
                    self.sizes = {each: size.subs(found) for each, size in self.sizes.items()} | found
                    return

    def _fails_without(self, difference: Any) -> bool:
        """Whether the graph runs with the sizes of the example, and fails with others whose difference is not zero."""
        tried = 0
        for symbol in difference.free_symbols:
            size = self.now[symbol]
            for other in dict.fromkeys((*_TRIED, size - 1, size + 1, 2 * size, size + 7)):
                sizes = self._completed(symbol, other)
                if sizes is not None and difference.subs(sizes) != 0:
                    if self._runs(sizes):
                        return False
                    tried += 1
        return tried >= _LEAST and self._runs(self.now)

    def _completed(self, symbol: Any, other: int) -> dict[Any, int] | None:
        """All sizes where one is another; None where one that follows from it is none."""
        sizes = self.now | {symbol: other}
        sizes |= {each: size.subs(sizes) for each, size in self.sizes.items()}
        return {each: int(size) for each, size in sizes.items()} if all(n >= 0 for n in sizes.values()) else None

    def _runs(self, sizes: Mapping[Any, int]) -> bool:
        """Whether the graph runs with these sizes, on tensors without data."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        shapes = [list(leaf.shape) if isinstance(leaf, torch.Tensor) else [] for leaf in self.example]
        for symbol, (index, dim) in self.places.items():
            shapes[index][dim] = sizes[symbol]
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            inputs = [
                torch.empty(shape, dtype=leaf.dtype, device=leaf.device) if isinstance(leaf, torch.Tensor) else leaf
                for shape, leaf in zip(shapes, self.example, strict=True)
            ]
            try:
                self.plan.run(inputs)
            except Exception:
                return False
            return True

    def conditions(self) -> Iterator[Expression]:
        """What was found, over the names of `dimension`."""
        names = {str(symbol): dimension(*place) for symbol, place in self.places.items()}
        for symbol, size in self.sizes.items():
            with suppress(GraphError):  # a function of torch that is not in the grammar of guards
                yield Expression.parse(f"{symbol} == {size}").renamed(names)
