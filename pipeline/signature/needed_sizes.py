"""Sizes of inputs that a pipeline needs behind other nodes: the last one is 3 for a Slang vector, one more than another.

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
from ...ops.graph.graph import BodyCall, Graph, Guard, KernelCall, Node, Operator, Value
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
    # An operator that knows nothing of symbols says nothing of sizes: then the run itself does.
    with suppress(Exception), Silence():
        run = SymbolicRun(sized, leaves_of_example, free)
        trial = _Trial(sized, leaves_of_example)
        found = run.known.replacements.items()
        return [c for s, size in found if (c := _condition(s, size, run.places)) is not None and trial.needs(c)]
    return []


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
    return isinstance(node.target, BodyCall | Guard) or (
        isinstance(node.target, KernelCall) and node.target.kernel.tells_sizes
    )


def _changes(node: Node) -> bool:
    return isinstance(node.target, Operator) and effect(node.target.name) not in (FRESH, VIEW)


def _condition(symbol: Any, size: Any, places: Mapping[Any, tuple[int, int]]) -> Expression | None:
    """That a symbol is a size, as a condition over dimensions; None where other symbols are in it."""
    names = {str(each): dimension(*place) for each, place in places.items()}
    if symbol not in places or not set(size.free_symbols) <= set(places):
        return None
    try:
        return Expression.parse(f"{symbol} == {size}").renamed(names)
    except GraphError:  # a function of torch that is not in the grammar of guards
        return None


class _Trial:
    """Runs a graph on tensors without data of other sizes.

    Args:
        graph: the graph.
        leaves_of_example: the flat inputs.
    """

    def __init__(self, graph: Graph, leaves_of_example: Sequence[Any]) -> None:
        self.plan, self.example = Plan(graph), leaves_of_example

    def needs(self, condition: Expression) -> bool:
        """Whether every run fails in which a condition does not hold, and that of the example does not."""
        places = {dimension(i, d): (i, d) for i, leaf in enumerate(self.example) for d in _dims(leaf)}
        names = sorted(condition.symbols)
        holds, tried = condition.compile(names), 0
        for sizes in self._others({name: places[name] for name in names}):
            if not holds(*sizes.values()):
                if self._runs({places[name]: size for name, size in sizes.items()}):
                    return False
                tried += 1
        return tried >= _LEAST and self._runs({})

    def _others(self, places: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, int]]:
        """Other sizes of one of some dimensions."""
        now = {name: int(self.example[index].shape[dim]) for name, (index, dim) in places.items()}
        for name, size in now.items():
            for other in dict.fromkeys((*_TRIED, size - 1, size + 1, 2 * size, size + 7)):
                yield now | {name: other}

    def _runs(self, sizes: Mapping[tuple[int, int], int]) -> bool:
        """Whether the graph runs where some dimensions have other sizes."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            inputs = [
                torch.empty([sizes.get((i, d), n) for d, n in enumerate(leaf.shape)], dtype=leaf.dtype, device=leaf.device)
                if isinstance(leaf, torch.Tensor)
                else leaf
                for i, leaf in enumerate(self.example)
            ]
            try:
                self.plan.run(inputs)
            except Exception:
                return False
            return True


def _dims(leaf: Any) -> range:
    return range(leaf.dim()) if isinstance(leaf, torch.Tensor) else range(0)
