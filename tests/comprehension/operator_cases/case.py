"""One case of an operator, and the table that `case` fills."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    """One operator."""

    name: str
    text: str
    inputs: Callable[[Maker], list[torch.Tensor]]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = ("float", "double")
    constants: dict[str, object] = field(default_factory=dict)
    gradient: bool = True


class Maker:
    """Makes inputs; `k` grows the sizes."""

    def __init__(self, dtype: torch.dtype, k: int = 0, seed: int = 0) -> None:
        self.dtype, self.k = dtype, k
        self.random = torch.Generator().manual_seed(seed)

    def f(self, *shape: int) -> torch.Tensor:
        """Normal values, rounded a little so that half precision can hold them."""
        return torch.randn(shape, generator=self.random, dtype=torch.float64).to(self.dtype)

    def positive(self, *shape: int) -> torch.Tensor:
        """Values in 0.5..1.5."""
        return (torch.rand(shape, generator=self.random, dtype=torch.float64) + 0.5).to(self.dtype)

    def i(self, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Integers below `high`."""
        return torch.randint(0, high, shape, generator=self.random).to(dtype)

    def b(self, *shape: int) -> torch.Tensor:
        """Booleans."""
        return torch.rand(shape, generator=self.random) > 0.5


CASES: list[Case] = []


def case(
    name: str,
    text: str,
    inputs: Callable[[Maker], list[torch.Tensor]],
    reference: Callable[..., Any],
    **more: Any,
) -> None:
    """Adds one to the table."""
    CASES.append(Case(name, text, inputs, reference, **more))


# A name for inputs that many cases share.
VECTOR = lambda m: [m.f(41 + m.k)]  # noqa: E731
