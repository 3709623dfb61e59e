"""SymbolicRun: one run of a graph on tensors without data, whose free sizes are symbols of torch.

Of a choice both sides run. Where these agree on a size, or all rounds of a loop do, the result has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ....ops.graph.graph import Graph
from ....ops.graph.types import TensorType
from ....ops.runtime.placement import home_of
from ....ops.runtime.plan import Plan
from ....ops.runtime.primitives.control_flow import Otherwise
from .shared_sides import SharedSides


class SymbolicRun:
    """One run of a graph on tensors without data.

    Args:
        graph: the graph; of its results and nodes none needs data.
        leaves_of_example: the flat inputs.
        free: for each input the dimensions whose size becomes a symbol.

    Attributes:
        result: of the run.
        places: torch's symbol -> the input and the dimension whose size it is.
        known: what torch asked of the symbols.
    """

    def __init__(self, graph: Graph, leaves_of_example: Sequence[Any], free: Sequence[Sequence[int]]) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode

        self._asked_plainly: int | None = None
        self.known = self._noting_environment()
        mode = FakeTensorMode(shape_env=self.known, allow_non_fake_inputs=True)
        self.places: dict[Any, tuple[int, int]] = {}
        inputs = list(self._inputs(mode, graph, leaves_of_example, free))
        with mode, torch.no_grad(), Otherwise(SharedSides(self.known).functions()):
            self.result = Plan(graph, home=home_of(inputs)).run(inputs)

    def questions(self) -> list[Any]:
        """All that torch asked of the symbols, or took for granted of sizes that data decide."""
        assumed = [each for found in self.known.deferred_runtime_asserts.values() for each in found]
        return [each.expr for each in (*self.known.guards, *assumed)]

    def equations(self) -> list[Any]:
        """The equations that torch asked for, up to where it read a size as a plain number, which fixes that."""
        found = [guard.expr for guard in self.known.guards[: self._asked_plainly]]
        return [each for each in found if each.func.__name__ == "Equality"]

    def _noting_environment(self) -> Any:
        """A `ShapeEnv` that notes where a symbol is read as a plain number, which fixes it."""
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        class NotingShapeEnv(ShapeEnv):
            def evaluate_sym_node(known, sym_node: Any, *args: Any, **kwargs: Any) -> Any:
                if sym_node.pytype is int and sym_node.expr.free_symbols and self._asked_plainly is None:
                    self._asked_plainly = len(known.guards)
                return super().evaluate_sym_node(sym_node, *args, **kwargs)

        return NotingShapeEnv(duck_shape=False)

    def _inputs(
        self, mode: Any, graph: Graph, leaves_of_example: Sequence[Any], free: Sequence[Sequence[int]]
    ) -> Iterator[Any]:
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        for index, (value, leaf) in enumerate(zip(graph.inputs, leaves_of_example, strict=True)):
            if not isinstance(value.type, TensorType) or not isinstance(leaf, torch.Tensor):
                with mode:
                    yield SharedSides(self.known).of_unknown_sizes(leaf)
                continue
            kinds = [DimDynamic.DYNAMIC if dim in free[index] else DimDynamic.STATIC for dim in range(leaf.dim())]
            made = mode.from_tensor(leaf, symbolic_context=StatelessSymbolicContext(dynamic_sizes=kinds))
            for dim in free[index]:
                self.places[made.shape[dim].node.expr] = (index, dim)  # torch takes one and none for fixed: an error
            yield made
