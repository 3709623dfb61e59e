"""Hostile arguments: values of every kind that a schema knows, most of them good, some at the edges of their types."""

from __future__ import annotations

import random
from typing import Any

import torch

from tracepack.ops.graph.graph import Literal, Value
from tracepack.ops.graph.types import ANY, DTYPES, TensorType

INTS = (0, 0, 1, 1, 2, 2, 3, 4, -1, -1, -2, 5, 7, 16, 64, -3, -100, 1000, 46341, 2**16, 2**20, 2**31 - 1, 2**31,
        2**32, 2**32 + 1, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63), -(2**62))  # fmt: skip
FLOATS = (0.0, 1.0, 0.5, -1.0, 2.0, 1e-5, 0.1, float("nan"), float("inf"), -float("inf"), 1e30, 1e308, -1e-300)
DTYPE_NAMES = ("float32",) * 8 + ("int64",) * 4 + tuple(DTYPES)
SHAPES = ((), (0,), (1,), (3,), (4,), (2, 3), (3, 3), (4, 4), (3, 0), (1, 4), (2, 3, 4), (1, 1, 5), (2, 2, 4, 4),
          (1, 4, 6, 6), (1, 2, 3, 4, 4), (2, 4, 8), (8, 8), (1, 1, 1, 1, 1, 2), (65,), (2, 0, 3))  # fmt: skip
STRINGS = ("", "none", "mean", "sum", "reflect", "bilinear", "nearest", "max", "min", "ij,jk->ik", "trunc", "floor",
           "constant", "linear", "tanh", "right", "left", "upper", "fro", "nuc", "ortho", "x" * 300, "\0", "prod",
           "amax", "amin", "replicate", "circular", "zeros", "border", "reduced", "complete", "gels",
           "gelsd")  # fmt: skip


class Hostile:
    """A source of hostile arguments; equal seeds give equal arguments.

    Args:
        seed: of the source.

    Attributes:
        tensors: the tensors behind the Values that were given out, by the Value's id.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.tensors: dict[int, Any] = {}
        self.values: list[Value] = []
        self.shape = self.random.choice(SHAPES)
        self.dtype = self.random.choice(DTYPE_NAMES)

    def value(self, thing: Any) -> Value:
        """A Value that stands for a thing when the operator is called."""
        kind = TensorType(str(thing.dtype)[6:], tuple(thing.shape)) if isinstance(thing, torch.Tensor) else ANY
        made = Value(kind)
        self.tensors[id(made)] = thing
        self.values.append(made)
        return made

    def tensor(self) -> torch.Tensor:
        """A tensor: often of the shape and dtype of the others of its call, sometimes of any."""
        pick = self.random.random()
        shape = self.shape if pick < 0.6 else self.random.choice(SHAPES)
        dtype = self.dtype if self.random.random() < 0.7 else self.random.choice(DTYPE_NAMES)
        kind = getattr(torch, dtype)
        filled = torch.zeros(shape, dtype=torch.float64)
        way = self.random.randrange(6)
        if way == 0:
            filled = torch.full(
                shape, float(self.random.choice((-1, 5, 100, -100, 2**31, 2**40, -(2**40), 2**52))), dtype=torch.float64
            )
        elif way == 1:
            filled = torch.full(shape, self.random.choice(FLOATS), dtype=torch.float64)
        elif way < 5:
            generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
            filled = torch.randint(-1 if way == 2 else 0, 4, shape, generator=generator).double()
        made = filled.to(kind)
        layout = self.random.randrange(8)
        if layout == 0 and made.dim() >= 2:
            return made.transpose(0, -1)
        if layout == 1 and made.dim() >= 1:
            return made[..., :1].expand(made.shape)
        if layout == 2 and made.dim() >= 1:
            return torch.cat([made, made], -1)[..., ::2]
        return made

    def integer(self) -> int:
        """An integer: a small one mostly."""
        return self.random.choice(INTS if self.random.random() < 0.5 else INTS[:12])

    def of(self, kind: str, name: str = "") -> Any:
        """An argument of a kind of a schema."""
        if kind.startswith("Optional["):
            return None if self.random.random() < 0.5 else self.of(kind[9:-1], name)
        if kind.startswith("List["):
            count = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8))
            if self.random.random() < 0.01:
                count = 100
            if kind == "List[int]" and self.random.random() < 0.3 and self.shape:
                return list(self.shape)
            return [self.of(kind[5:-1], name) for _ in range(count)]
        if self.random.random() < 0.02:
            return self.value(self.random.choice((3, -1, 2**63 - 1, 1.5, True, None, "text", [1, 2], (), {}, b"")))
        return self._simple(kind, name)

    def _simple(self, kind: str, name: str) -> Any:
        match kind:
            case "Tensor":
                return self.value(self.tensor())
            case "int":
                number = self.integer()
                return self.value(number) if self.random.random() < 0.2 else number
            case "bool":
                return self.random.random() < 0.5
            case "float":
                return self.random.choice(FLOATS)
            case "number":
                return self.random.choice((*FLOATS, *INTS, True, 1j))
            case "str":
                return self.random.choice(STRINGS)
            case "Device":
                return Literal("device", self.random.choice(("cpu", "op")))
            case "ScalarType":
                return self.integer() if self.random.random() < 0.3 else Literal("dtype", self._dtype())
            case "Layout":
                return self.integer() if self.random.random() < 0.3 else Literal("layout", "strided")
            case "MemoryFormat":
                names = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
                return self.integer() if self.random.random() < 0.3 else Literal("memory_format", self._one(names))
            case "Generator":
                return None
        return self.anything()

    def _dtype(self) -> str:
        return self.random.choice((*DTYPES, "qint8", "quint4x2", "bits8", "float4_e2m1fn_x2", "uint4", "strided"))

    def _one(self, names: tuple[str, ...]) -> str:
        return self.random.choice(names)

    def anything(self) -> Any:
        """An argument of any kind, for functions without a schema."""
        kinds = ("Tensor",) * 6 + ("int", "int", "int", "float", "bool", "str", "List[int]", "List[int]",
                                   "List[Tensor]", "ScalarType", "Optional[Tensor]", "List[float]")  # fmt: skip
        return self.of(self.random.choice(kinds))
