"""Random processing functions as Python source, with the inputs that they are run on, and the strategy that draws them."""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st

from tests.campaigns.functions.surroundings import plain


@dataclass(frozen=True)
class Program:
    """A processing function as source, with examples for it.

    Attributes:
        source: defines ``process(x, y, k)``.
        dtypes: of x and of y.
        aliased: whether x and y are given as one tensor.
        layout: how the memory of x is laid out: ``"plain"``, ``"transposed"``, ``"sliced"``.
        scalar: k, a number, a string or a list of strings.
        columns: how many x and y have.
    """

    source: str
    dtypes: tuple[torch.dtype, torch.dtype]
    aliased: bool
    layout: str
    scalar: Any
    columns: int

    def function(self, names: Callable[[], dict[str, Any]] = plain) -> Callable[..., Any]:
        """The function itself, with the names that it calls."""
        name = f"<string {hash(self.source)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        namespace = names()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(self.source, name, "exec"), namespace)
        return namespace["process"]  # type: ignore[no-any-return]  # torch leaves it untyped

    def others(self) -> list[list[Any]]:
        """Other inputs to run it on: other data, other strides, one tensor given twice, other sizes."""
        x, y, k = self.inputs(3, 1)
        found = [[x, y, k], self.inputs(3, 2), [x.t().contiguous().t(), y, k]]
        if x.dtype == y.dtype and not self.aliased:
            found += [[x, x, k], [x, x.view(-1).view(x.shape) if x.is_contiguous() else x[:], k]]
        found += [self.inputs(rows, 3) for rows in (1, 2, 4, 5, 7, 0)]
        return found + [self.inputs(4, 3, columns) for columns in (2, 5)] + [[x, y, _another(k)]]

    def inputs(self, rows: int, seed: int = 0, columns: int | None = None) -> list[Any]:
        """Inputs with a number of rows."""
        source = torch.Generator().manual_seed(seed)
        wide = self.columns if columns is None else columns
        x = _tensor(rows, wide, self.dtypes[0], source, self.layout)
        y = x if self.aliased else _tensor(rows, wide, self.dtypes[1], source, "plain")
        return [x, y, self.scalar]


def _tensor(rows: int, columns: int, dtype: torch.dtype, source: torch.Generator, layout: str) -> torch.Tensor:
    full = torch.randn(rows * 2, columns * 2, generator=source) * 3
    whole = full > 0 if dtype is torch.bool else full.to(dtype)
    match layout:
        case "transposed":
            return whole[:rows, :columns].t().contiguous().t()
        case "sliced":
            return whole[::2, ::2]
    return whole[:rows, :columns].contiguous()


def _another(scalar: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(scalar, str):
        return "mean" if scalar == "sum" else "sum"
    return [*scalar[::-1], "c"] if isinstance(scalar, list) else scalar + 1


DTYPES = [torch.float32] * 6 + [
    torch.float64,
    torch.int64,
    torch.int32,
    torch.bool,
    torch.uint8,
    torch.complex64,
    torch.bfloat16,
]


@st.composite
def programs(draw: Any, length: int = 10) -> Program:
    """A strategy of whole functions."""
    from tests.campaigns.functions.writer import Writer  # which needs Program

    choose = random.Random(draw(st.integers(0, 2**64 - 1)))  # Hypothesis would repeat parts of its own choices
    aliased = choose.random() < 0.08
    dtypes = (choose.choice(DTYPES), choose.choice(DTYPES))
    layout = choose.choice(["plain", "plain", "plain", "transposed", "sliced"])
    scalar = choose.choice([2, 0.5, 3, 1.5, 2, 0.5, "sum", "mean", ["a", "b"]])
    empty = Program("", dtypes, aliased, layout, scalar, choose.choice([4, 4, 3, 1]))
    return replace(empty, source=Writer(choose, empty).write(choose.randint(2, length)))
