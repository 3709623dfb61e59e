"""Hostile arguments at the edges of their types: least integers, -1 and 0, mixed widths, nothing, NaN, wild indices.

Most calls of `Hostile` fail a check of torch's before a kernel runs. These are made to reach the kernels: shapes that
fit each other, integers mostly, and in them the values at which arithmetic and addressing of a processor end a process.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.fuzz.hostile import FLOATS, INTS, STRINGS, Hostile

SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = (*SIGNED * 3, "uint8", "bool", "uint16", "uint32", "uint64")
FLOATING = ("float32",) * 4 + ("float64", "float64", "float16", "bfloat16", "complex64", "complex128", "float8_e4m3fn")
SIZES = ((), (1,), (4,), (40,), (2, 3), (3, 3), (3, 33), (1, 4), (2, 3, 4), (4, 4, 4), (1, 2, 4, 4), (2, 2, 4, 4),
         (1, 2, 3, 4, 4))  # fmt: skip
EMPTY = ((0,), (3, 0), (0, 3), (2, 0, 3), (0, 0), (0, 2, 4, 4), (1, 0, 4, 4), (2, 2, 0, 4))
LEASTS = (-(2**7), -(2**15), -(2**31), -(2**63))
EDGES_OF_INT = (-1, 0, 1, 2, -2, *LEASTS, *(least + 1 for least in LEASTS), 127, 255, 32767, 65535, 2**31 - 1, 2**31,
                2**32 - 1, 2**32, 2**62, 2**63 - 1)  # fmt: skip
EDGES_OF_FLOAT = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 1e308, -1e308,
                  float("nan"), float("inf"), -float("inf"))  # fmt: skip
INDICES = ("index", "indices", "dim", "offset", "lengths", "target", "targets", "boundaries", "sorter", "mask",
           "pivots", "per_sample_weights", "input_lengths", "target_lengths", "batch_sizes", "permutation",
           "repeats")  # fmt: skip


class Edges(Hostile):
    """A source of arguments at the edges of their types."""

    def __init__(self, seed: str) -> None:
        super().__init__(f"edges/{seed}")
        self.shape = self.random.choice(EMPTY if self.random.random() < 0.12 else SIZES)
        self.dtype = self.random.choice(INTEGERS if self.random.random() < 0.6 else FLOATING)

    def tensor(self) -> torch.Tensor:
        """A tensor that often fits the others of its call, with values at the edges of its dtype."""
        pick = self.random.random()
        if pick < 0.7:
            shape = self.shape
        elif pick < 0.8:  # it is stretched to the others
            shape = tuple(size if self.random.random() < 0.5 else 1 for size in self.shape)
        elif pick < 0.9:
            shape = self.shape[self.random.randrange(len(self.shape) + 1) :]
        else:
            shape = self.random.choice((*SIZES, *EMPTY))
        pick = self.random.random()
        dtype = self.dtype if pick < 0.6 else self.random.choice(INTEGERS if pick < 0.85 else FLOATING)
        made = self._filled(shape, getattr(torch, dtype))
        layout = self.random.randrange(10)
        if layout == 0 and made.dim() >= 2:
            return made.transpose(0, -1)
        if layout == 1 and made.dim() >= 1:
            return made[..., :1].expand(made.shape)
        return made

    def _filled(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        count = math.prod(shape)
        small = self.random.random() < 0.35  # all but one are indices and sizes that fit
        values = [self._element(dtype, small) for _ in range(count)]
        if small and count and self.random.random() < 0.8:
            values[self.random.randrange(count)] = self._element(dtype, False)
        return torch.tensor(values, dtype=dtype).reshape(shape)

    def _element(self, dtype: torch.dtype, small: bool) -> Any:
        if dtype is torch.bool:
            return self.random.random() < 0.5
        if small:
            return self.random.choice((0, 0, 1, 1, 2, 3))
        if dtype.is_floating_point or dtype.is_complex:
            return self.random.choice(EDGES_OF_FLOAT)
        info = torch.iinfo(dtype)
        if self.random.random() < 0.35:
            return info.min
        return min(max(self.random.choice(EDGES_OF_INT), info.min), info.max)

    def integer(self) -> int:
        """An integer: one that fits, or one at an edge."""
        return self.random.choice(EDGES_OF_INT if self.random.random() < 0.4 else INTS[:12])

    def _simple(self, kind: str, name: str) -> Any:
        match kind:
            case "Tensor" if name in INDICES and self.random.random() < 0.6:
                dtype = self.random.choice((torch.int64,) * 4 + (torch.int32, torch.uint8, torch.bool, torch.float32))
                shape = self.shape if self.random.random() < 0.6 else self.random.choice(SIZES[1:4])
                return self.value(self._filled(shape, dtype))
            case "number":
                return self.random.choice((*EDGES_OF_FLOAT, *EDGES_OF_INT, *EDGES_OF_INT, True, False, 1j))
            case "float":
                return self.random.choice((*FLOATS, *EDGES_OF_FLOAT))
            case "str":
                return self.random.choice(("trunc", "floor", "mean", "sum", "prod", "amax", "amin", *STRINGS))
        return super()._simple(kind, name)

    def of(self, kind: str, name: str = "") -> Any:
        """An argument of a kind of a schema."""
        if kind in ("str", "Optional[str]"):  # what a rounding or a reduction is called decides its kernel
            return None if kind != "str" and self.random.random() < 0.2 else self._simple("str", name)
        if kind == "Tensor" and self.random.random() < 0.1:
            return self.value(self.random.choice((*EDGES_OF_INT, *EDGES_OF_FLOAT, True)))  # numbers do for tensors
        return super().of(kind, name)
