"""The plan of a call for one combination of sizes: its layout, its outputs and its compiled entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from ..binding.layout import Layout


class Entry(Protocol):
    """A compiled entry of a target, which runs `total` elements over numbers and addresses."""

    def __call__(self, total: int, dims: Any, words: Sequence[Any]) -> None:
        """Runs the kernel."""

    def split(self, total: int, dims: Any, words: Sequence[Sequence[Any]]) -> None:
        """Runs it on several threads, each with its own words."""


@dataclass(frozen=True)
class Backward:
    """A backward kernel with the parts that are equal in all of its runs.

    Attributes:
        entry: the kernel.
        slots: the slots for whose gradient it takes a pointer.
        results: the slots for which a gradient is made, `slots` among them.
        shared: those of `slots` to whose gradient several calls add.
        rounds: the limit of loops that have none of their own; 0 where all have.
    """

    entry: Entry
    slots: list[int]
    results: list[int]
    shared: list[int]
    rounds: int


@dataclass
class Plan:
    """The plan of a call for one combination of sizes.

    Attributes:
        layout: the layout of the tensors.
        total: the number of elements.
        outputs: size, strides and dtype of each output, and the slot whose content it starts from, or -1.
        table: the table of the layout.
        dims: `table` as the entry takes it.
        entry: the forward kernel.
        backwards: the backward kernels, by the slots that need gradients.
        seconds: the time of the first run on one thread, forward (None) and for each backward kernel.
    """

    layout: Layout
    total: int
    outputs: tuple[tuple[tuple[int, ...], tuple[int, ...], torch.dtype, int], ...]
    table: torch.Tensor
    dims: Any
    entry: Entry
    backwards: dict[tuple[int, ...], Backward] = field(default_factory=dict)
    seconds: dict[tuple[int, ...] | None, float] = field(default_factory=dict)
