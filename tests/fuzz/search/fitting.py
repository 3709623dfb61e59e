"""Arguments that fit together mostly, each from a seed of its own, so that one can be made anew and the others kept.

A call is a theme (a shape and a dtype that its tensors share) and a seed for each argument. The names that schemas and
signatures give to arguments say what is likely to fit: a dimension, a size, an index, a mode.
"""

from __future__ import annotations

import random
from typing import Any

import torch

from tests.fuzz.edges import EDGES_OF_FLOAT, EDGES_OF_INT, INDICES
from tests.fuzz.hostile import FLOATS, INTS, STRINGS
from tracepack.ops.graph.graph import Literal, Value
from tracepack.ops.graph.types import ANY, ARRAY, DTYPES, TensorType

HOSTILE = 0.1  # of the arguments
_DTYPES = ("float32",) * 8 + ("int64",) * 3 + ("float64", "float64", "complex64", "bool", *DTYPES)
_HUGE = ((2**31, 0), (0, 2**62), (2**32, 0, 2**32), (0, 2**31, 2**31), (40000,), (300, 300))
_WORDS = (*STRINGS, "L", "U", "V", "N", "ij", "xy", "i,i->", "ij->ji", "...i,...i->...i", "gelsy", "gesvd", "gesvdj",
          "nearest-exact", "bicubic", "trilinear", "area", "sum_pooling", "float32", "int64", "C", "F", "K", "clip",
          "wrap", "raise", "edge", "symmetric", "valid", "same", "full", "nearest", "lower", "higher", "midpoint",
          "stable", "heapsort", "unsafe", "raw", "r", "utf-8", "a", "ab\u00e9", "abc abc", "a+", "(a)(b)", "\\d*",
          "{:>5}", "12", "-7", "YWJj", "6162", "NFC")  # fmt: skip


class Fitting:
    """Makes the arguments of one call.

    Args:
        theme: a seed of what its tensors share.
        arrays: whether tensors are arrays of numpy.

    Attributes:
        things: what stands behind the Values that were given out, by the Value's id.
        inputs: these Values.
    """

    def __init__(self, theme: int, *, arrays: bool = False) -> None:
        chance = random.Random(theme)
        rank = chance.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5))
        same = chance.random() < 0.5
        size = chance.choice((1, 2, 3, 4, 5, 7))
        self.shape = tuple(size if same else chance.choice((1, 2, 3, 4, 5, 8)) for _ in range(rank))
        if chance.random() < 0.04 and rank:
            self.shape = (*self.shape[:-1], 0)
        if chance.random() < 0.1 and rank:  # numpy keeps small memory aside, which no allocator sees
            self.shape = (*self.shape[:-1], 300)
        self.dtype = chance.choice(_DTYPES)
        self.way = chance.randrange(9)  # what the operators of Python take, mostly
        self.arrays = arrays
        self.things: dict[int, Any] = {}
        self.inputs: list[Value] = []
        self._made: list[Value] = []

    def argument(self, kind: str, name: str, seed: int) -> Any:
        """The argument of a kind and a name that a seed stands for."""
        chance = random.Random(f"{seed}/{kind}/{name}")
        return self._of(kind, name, chance, chance.random() < HOSTILE)

    def value(self, thing: Any) -> Value:
        """A Value that stands for a thing when the operator is called."""
        if isinstance(thing, torch.Tensor) and self.arrays:
            if thing.dtype in (torch.bfloat16, torch.complex32) or "float8" in str(thing.dtype):
                thing = thing.to(torch.complex64 if thing.dtype.is_complex else torch.float32)
            made = Value(ARRAY)
            thing = thing.resolve_conj().resolve_neg().numpy()
        else:
            tensor = isinstance(thing, torch.Tensor)
            made = Value(TensorType(str(thing.dtype)[6:], tuple(thing.shape)) if tensor else ANY)
        self.things[id(made)] = thing
        self.inputs.append(made)
        return made

    def _of(self, kind: str, name: str, chance: random.Random, hostile: bool) -> Any:
        if kind.startswith("Optional["):
            return None if chance.random() < 0.4 else self._of(kind[9:-1], name, chance, hostile)
        if hostile and chance.random() < 0.1:
            odd = (3, -1, 2**63 - 1, 1.5, True, None, "text", [1, 2], (), {}, b"", [None], [[1], [2, 3]], -0.0, 2**70)
            return self.value(chance.choice(odd))
        if kind.startswith("List["):
            return self._list(kind[5:-1], name, chance, hostile)
        match kind:
            case "Tensor":
                return self._tensor(name, chance, hostile)
            case "int":
                number = self._int(name, chance, hostile)
                return self.value(number) if chance.random() < 0.1 else number
            case "bool":
                return chance.random() < 0.5
            case "float":
                return chance.choice((*FLOATS, *EDGES_OF_FLOAT) if hostile else (0.0, 0.1, 0.5, 1.0, 1e-5, 2.0))
            case "number":
                return chance.choice((*EDGES_OF_FLOAT, *EDGES_OF_INT, True, 1j) if hostile else (0, 1, 2, 0.5, -1, 3.0))
            case "str":
                return chance.choice(_WORDS)
            case "Device":
                return Literal("device", chance.choice(("cpu", "op")))
            case "ScalarType":
                names = tuple(DTYPES) if hostile else ("float32", "float64", "int64", "complex64", "bool", self.dtype)
                return Literal("numpy.dtype" if self.arrays else "dtype", chance.choice(names))
            case "Layout":
                return Literal("layout", "strided")
            case "MemoryFormat":
                formats = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
                return Literal("memory_format", chance.choice(formats))
            case "Generator":
                return None
            case "text":
                text = chance.choice(_WORDS) if chance.random() < 0.8 else "".join(chance.choices("ab1 {}%\u0301", k=9))
                return self.value(text) if chance.random() < 0.5 else text
            case "plain":
                return self._plain(chance, hostile)
        return self._of(chance.choice(_ANY), name, chance, hostile)

    def _plain(self, chance: random.Random, hostile: bool) -> Any:
        """What the operators of Python take: numbers, texts, lists and dicts."""
        way = self.way if chance.random() < 0.6 else chance.randrange(9)
        if way < 2:
            return self._of("int", "", chance, hostile)
        if way == 2:
            return self._of("float", "", chance, hostile)
        if way == 3:
            return self._of("text", "", chance, hostile)
        if way == 4:
            return self.value(chance.choice(([3, 1, 2], ["b", "a"], [1.5, -0.0], [[1, 2], [3]], [(1, "a")], [True])))
        if way == 5:
            return self.value(chance.choice(({"a": 1}, {1: "x", 2: [3]}, {}, {97: "b", 98: None}, {"k": {"l": [1]}})))
        if way == 6 and hostile:
            return self.value(chance.choice(("a" * 10**6, list(range(10**5)), 2**65000, -(2**64), [2**70], "\ud800")))
        return self._of("Tensor", "", chance, hostile)

    # -- numbers and lists -------------------------------------------------------------------------------------

    def _int(self, name: str, chance: random.Random, hostile: bool) -> int:
        if hostile:
            return chance.choice((*INTS, *EDGES_OF_INT))
        if "dim" in name or "axis" in name:
            return chance.randrange(-len(self.shape) - 1, len(self.shape) + 1) if chance.random() < 0.8 else 0
        return chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 4, *self.shape, *self.shape))

    def _list(self, item: str, name: str, chance: random.Random, hostile: bool) -> Any:
        rank = len(self.shape)
        if item == "int" and not hostile:
            sizes: list[Any] = [
                list(self.shape), list(range(rank)), list(range(rank))[::-1], [0], [-1], [1], [2], [1] * rank,
                [2] * rank, [1] * max(rank - 2, 1), [2] * max(rank - 2, 1), [3] * max(rank - 2, 1),
                [0] * max(rank - 2, 1), [], [1, 1], [0, 0], [2, 2], [1, 1, 1], [1, *self.shape], list(self.shape[1:]),
                [2 * n for n in self.shape], [1] * (2 * rank), [0, 1], [1, 0], [0, -1],
            ]  # fmt: skip
            return chance.choice(sizes)
        count = chance.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 6, 8, 40 if hostile else 5))
        return [self._of(item, name, chance, hostile and chance.random() < 0.5) for _ in range(count)]

    # -- tensors -----------------------------------------------------------------------------------------------

    def _tensor(self, name: str, chance: random.Random, hostile: bool) -> Value:
        if hostile and self._made and chance.random() < 0.25:  # the same memory twice, perhaps as another view
            return self._again(chance.choice(self._made), chance)
        if hostile and chance.random() < 0.15:
            return self.value(
                torch.ones((), dtype=getattr(torch, self.dtype)).expand(
                    chance.choice(_HUGE[4:] if self.arrays else _HUGE)
                )
            )
        shape, dtype = self._shape(chance), self._dtype(name, chance, hostile)
        made = self._laid(self._filled(shape, getattr(torch, dtype), chance, hostile), chance, hostile)
        value = self.value(made)
        self._made.append(value)
        return value

    def _again(self, other: Value, chance: random.Random) -> Value:
        thing = self.things[id(other)]
        if chance.random() < 0.4 or not thing.ndim:
            return other
        way = chance.randrange(3)
        if way == 0:
            thing = thing[..., 1:]
        elif way == 1:
            thing = thing.transpose(0, -1) if isinstance(thing, torch.Tensor) else thing.T
        else:
            thing = thing[:1]
        made = Value(ANY)
        self.things[id(made)] = thing
        self.inputs.append(made)
        made.type = other.type if self.arrays else TensorType(str(thing.dtype)[6:], tuple(thing.shape))
        return made

    def _shape(self, chance: random.Random) -> tuple[int, ...]:
        sizes, way = self.shape, chance.random()
        if way < 0.5 or not sizes:
            return sizes if way < 0.9 else (2,)
        if way < 0.58:
            place = chance.randrange(len(sizes))
            return (*sizes[:place], 1, *sizes[place + 1 :])
        if way < 0.68:
            return sizes[chance.randrange(len(sizes) + 1) :]
        if way < 0.8:
            return (chance.choice(sizes),)
        if way < 0.88:
            return (chance.choice(sizes), chance.choice(sizes))
        if way < 0.92:
            return (chance.choice((1, 2)), *sizes)
        if way < 0.96:
            place = chance.randrange(len(sizes))
            return (*sizes[:place], chance.choice((0, sizes[place] + 1, 2 * sizes[place], 3)), *sizes[place + 1 :])
        return ()

    def _dtype(self, name: str, chance: random.Random, hostile: bool) -> str:
        if hostile:
            return chance.choice(tuple(DTYPES))
        if name in INDICES and chance.random() < 0.7:
            return chance.choice(("int64", "int64", "int64", "int32", "bool"))
        if "mask" in name or name == "condition":
            return "bool"
        return self.dtype if chance.random() < 0.85 else chance.choice(_DTYPES)

    def _filled(self, shape: tuple[int, ...], dtype: torch.dtype, chance: random.Random, hostile: bool) -> torch.Tensor:
        generator = torch.Generator().manual_seed(chance.randrange(1 << 30))
        whole = not (dtype.is_floating_point or dtype.is_complex)
        most = chance.choice((1, 2, 2, 3, max(min(self.shape, default=2), 1)))
        made = (
            torch.randint(0, most + 1, shape, generator=generator) if whole else torch.rand(shape, generator=generator)
        )
        if hostile and dtype is torch.bool:  # a file can hold such ones, or view bytes as truth values
            return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8).view(torch.bool)
        if hostile and made.numel():
            edges = EDGES_OF_INT if whole else EDGES_OF_FLOAT
            value = chance.choice(edges)
            if chance.random() < 0.5:
                made = torch.full(shape, value, dtype=torch.int64 if whole else torch.float64)
            else:
                made = made.to(torch.int64 if whole else torch.float64)
                made.reshape(-1)[chance.randrange(made.numel())] = value
        return made.to(dtype)

    def _laid(self, made: torch.Tensor, chance: random.Random, hostile: bool) -> torch.Tensor:
        if made.dim() == 0 or not (hostile or chance.random() < 0.1):
            return made
        way = chance.randrange(7)
        if way == 0:
            return made.transpose(0, -1).contiguous().transpose(0, -1)
        if way == 1:
            return made[..., :1].expand(made.shape)
        if way == 2:
            return torch.cat([made, made], -1)[..., ::2]
        if way == 3 and made.numel():
            return torch.as_strided(made, made.shape, [1 if size > 1 else 0 for size in made.shape])
        if way == 4:
            return torch.cat([made, made], 0)[made.size(0) :]
        if way == 5 and made.dtype.is_complex:
            return made.conj()
        return made


_ANY = ("Tensor",) * 6 + ("int", "int", "float", "bool", "str", "List[int]", "List[int]", "List[Tensor]", "ScalarType",
                         "Optional[Tensor]", "List[float]", "number")  # fmt: skip
