"""FakeRuns: runs of a graph with other sizes than those of the example, on tensors without data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from ....ops.graph.graph import Graph
from ....ops.graph.traverse import walk
from ....ops.graph.types import TensorType
from ....ops.runtime.placement import home_of
from ....ops.runtime.plan import Plan
from ....ops.runtime.primitives.control_flow import Otherwise

Place = tuple[int, int]
"""An input, and a dimension of it."""
DRAWS = ("py.draw", "py.generator", "py.seeded")
"""Operators that draw random numbers, which no run without data has."""
_TRIED = (0, 1, 2, 3, 5, 64, 101)
_MOST_STEPS = 20_000
"""How many nodes all runs together may have, each some 0.1 ms."""


def steps_of(graph: Graph) -> int:
    """How many nodes a graph has, with those of its ops."""
    return sum(1 for _ in walk(graph))


def sizes_beside(size: int) -> dict[int, None]:
    """Sizes to try in place of one."""
    return dict.fromkeys(each for each in (size + 1, 2 * size, size + 7, size - 1, *_TRIED) if each != size)


def letters_of(graph: Graph, leaves_of_example: Sequence[Any]) -> list[list[Place]]:
    """The places of each letter, whose size may be another: none and one are special to torch."""
    found: dict[str, list[Place]] = {}
    for index, (value, leaf) in enumerate(zip(graph.inputs, leaves_of_example, strict=True)):
        if isinstance(value.type, TensorType) and isinstance(leaf, torch.Tensor):
            for dim, size in enumerate(value.type.shape):
                if isinstance(size, str) and leaf.shape[dim] > 1:
                    found.setdefault(size, []).append((index, dim))
    return list(found.values())


class FakeRuns:
    """Runs a graph with other sizes, on tensors without data.

    Args:
        graph: the graph; none of its nodes needs data.
        leaves_of_example: the flat inputs.
        otherwise: what stands for choices.
    """

    def __init__(
        self, graph: Graph, leaves_of_example: Sequence[Any],
        otherwise: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.otherwise = otherwise
        self.plan, self.example = Plan(graph, home=home_of(leaves_of_example)), leaves_of_example
        self.steps, self.left = steps_of(graph), _MOST_STEPS

    def size(self, place: Place) -> int:
        """The size of a dimension in the example."""
        return int(self.example[place[0]].shape[place[1]])

    def others(self, places: Sequence[Place]) -> Iterator[dict[Place, int]]:
        """Other sizes of the places of one letter."""
        for other in sizes_beside(self.size(places[0])):
            yield dict.fromkeys(places, other)

    def runs(self, sizes: Mapping[Place, int]) -> bool:
        """Whether the graph runs where some dimensions have other sizes; so it does after too many runs."""
        return self.run(sizes) is not None or self.left < 0

    def run(self, sizes: Mapping[Place, int]) -> tuple[list[Any], Any] | None:
        """The flat inputs and the result where some dimensions have other sizes.

        None where the graph fails, and after too many runs.
        """
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.left -= self.steps
        if self.left < 0:
            return None
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), Otherwise(self.otherwise):
            inputs = [
                torch.empty(
                    [sizes.get((index, dim), size) for dim, size in enumerate(leaf.shape)],
                    dtype=leaf.dtype, device=leaf.device,
                )
                if isinstance(leaf, torch.Tensor)
                else leaf
                for index, leaf in enumerate(self.example)
            ]  # fmt: skip
            try:
                return inputs, self.plan.run(inputs)
            except Exception:
                return None
