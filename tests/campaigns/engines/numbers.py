"""Numbers at which runtimes are known to differ: extremes, halves, ties, zeros of both signs, infinities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

Fill = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def fills(dtype: torch.dtype) -> dict[str, Fill]:
    """The ways to fill tensors of a dtype, by name."""
    if dtype == torch.bool:
        return {"true": _of([1]), "false": _of([0]), "drawn": _of([0, 1])}
    if not (dtype.is_floating_point or dtype.is_complex):
        bounds = torch.iinfo(dtype)
        edges = [2**p + d for p in (7, 8, 15, 16, 24, 31, 32, 53, 62) for d in (-1, 0, 1)]
        edges = [value for each in edges for value in (each, -each) if bounds.min <= value <= bounds.max]
        return {
            "small": _of([value for value in range(-3, 4) if value >= bounds.min]),
            "least": _of([bounds.min]), "most": _of([bounds.max]), "zero": _of([0]), "one": _of([1]),
            "edges": _of([*edges, bounds.min, bounds.max]), "middling": _of(range(max(-120, bounds.min), 120)),
        }  # fmt: skip
    wide = dtype.itemsize > 2
    return {
        "zero": _of([0.0, -0.0]), "one": _of([1.0]), "halves": _of([n / 2 for n in range(-9, 10)]),
        "drawn": _drawn(1.0), "hundred": _drawn(100.0), "large": _drawn(1e15 if wide else 1e3),
        "tiny": _drawn(1e-15 if wide else 1e-4), "infinite": _of([float("inf"), -float("inf"), 1.0, -2.5]),
        "tenths": _of([n / 10 for n in range(-20, 21)]), "ties": _of([1.5, -1.5]),
        "missing": _of([float("nan"), 0.5, -2.0]), "whole": _of(range(-300, 300)), "equal": _same,
        "shares": _of([n / 16 for n in range(17)]), "negative": _of([-0.0, -1e-3, -2.0, -7.5]),
    }  # fmt: skip


def filled(leaves: Sequence[torch.Tensor], number: int, generator: torch.Generator) -> tuple[str, list[torch.Tensor]]:
    """Tensors of the same kinds with other numbers, and what these are called.

    Args:
        leaves: the tensors.
        number: which of the ways is taken; each tensor takes another one for some numbers.
        generator: what draws.
    """
    names, found = [], []
    for place, leaf in enumerate(leaves):
        ways = fills(leaf.dtype)
        turn = number if number < MOST else number * (place + 1) + place
        name = list(ways)[turn % len(ways)]
        names.append(name)
        found.append(ways[name](leaf, generator))
    return "/".join(names), found


MOST = 15
"""The largest number of ways of one dtype."""


def _of(choices: Sequence[float]) -> Fill:
    def fill(leaf: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        table = torch.tensor(list(choices), dtype=torch.float64 if leaf.dtype.is_floating_point else None)
        return table[torch.randint(len(choices), leaf.shape, generator=generator)].to(leaf.dtype)

    return fill


def _drawn(scale: float) -> Fill:
    def fill(leaf: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return (torch.randn(leaf.shape, generator=generator, dtype=torch.float64) * scale).to(leaf.dtype)

    return fill


def _same(leaf: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn((), generator=generator).to(leaf.dtype).expand(leaf.shape).clone()
