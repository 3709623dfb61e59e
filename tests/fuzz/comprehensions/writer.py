"""Writes statements whose integers lie at the ends of their types, and the tensors that they read."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import torch

from tests.fuzz.comprehensions.reference import Expr

SIZES = (8, 8, 19, 35)
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_ENDS = (
    *(0, 1, 2, 3, 5, 7, 8, 127, 128, 255, 256, 32767, 32768, 46340, 46341, 65535, 65536),
    *(1 << 30, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1),
    *(3037000500, (1 << 62) - 1, 1 << 62, (1 << 63) - 2, (1 << 63) - 1, 5_000_000_000, 2147488281),
)


@dataclass(frozen=True)
class Written:
    """A statement `O(i) = value` or `O(i) +=! value`, over `i in 0:rows` and `k in low:high`.

    Attributes:
        operator: `=`, `+=!`, `*=!`, `max=!` or `min=!`.
        value: its right side.
        low: of the range of `k`, where it is reduced.
        high: its end, which is no part of it.
        rows: how many values there are of `i`.
    """

    operator: str
    value: Expr
    low: int
    high: int
    rows: int

    def text(self, target: str) -> str:
        """The statement with a target's name."""
        more = "" if self.operator == "=" else f", k in {self.low}:{self.high}"
        return f"{target}(i) {self.operator} {self.value} where i in 0:{self.rows}{more}"


def tensors(random: Random) -> dict[str, torch.Tensor]:
    """One of every type, named as it is, of small numbers and ends; and `small`, which is an index into the others."""
    made, size = {}, random.choice(SIZES)
    for name in TYPES:
        dtype = getattr(torch, name)
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        ends = [low, low + 1, high, high - 1, 0, 1, *(n for e in _ENDS for n in (e, -e) if low <= n <= high)]
        numbers = [random.choice(ends) if random.random() < 0.6 else random.randrange(8) for _ in range(size)]
        made[f"T{name}"] = torch.tensor(numbers, dtype=dtype)
    made["small"] = torch.tensor([random.randrange(size) for _ in range(size)], dtype=torch.int32)
    return made


class Writer:
    """Writes by chance; equal seeds write the same."""

    def __init__(self, random: Random, names: tuple[str, ...], size: int) -> None:
        self._random, self._names, self._size, self._variables = random, names, size, ("i",)

    def statement(self) -> Written:
        """One statement."""
        operator = self._random.choice(("=", "=", "=", "+=!", "*=!", "max=!", "min=!"))
        self._variables = ("i",) if operator == "=" else ("i", "k")
        low = self._random.choice((0, 0, 0, 1, (1 << 31) - 5, (1 << 30) - 1, 46340))
        return Written(operator, self.number(3), low, low + self._random.choice((1, 2, 4)), self._size - 2)

    def number(self, depth: int) -> Expr:
        """A number of at most so many levels."""
        chance, choose = self._random.random(), self._random.choice
        if depth == 0 or chance < 0.15:
            return self._leaf()
        below = lambda: self.number(depth - 1)  # noqa: E731 - short
        if chance < 0.6:
            return Expr(choose("+-**/%/%"), (below(), below()))
        if chance < 0.68:
            return Expr(choose(("min", "max")), (below(), below()))
        if chance < 0.76:
            return Expr(choose(("abs", "-")), (below(),))
        if chance < 0.84:
            return Expr("cast", (below(),), choose(TYPES))
        if chance < 0.93:
            return self._guarded(depth)
        return self._read(depth - 1)

    def _leaf(self) -> Expr:
        chance = self._random.random()
        if chance < 0.4:
            return self._literal()
        if chance < 0.75:
            return Expr("variable", (), self._random.choice(self._variables))
        return Expr("read", (Expr("variable", (), "i"),), self._random.choice(self._names))

    def _literal(self) -> Expr:
        return Expr("literal", (), str(self._random.choice(_ENDS)))

    def _sizes(self, *others: str) -> tuple[str, ...]:
        return (*[str(self._size)] * 2, str(self._size - 1), *others)

    def _read(self, depth: int) -> Expr:
        """Of a tensor, at an index that is read, computed, or brought inside by what should prove it."""
        name, index = self._random.choice(self._names), self.number(depth)
        match self._random.randrange(4):
            case 0:
                index = Expr("read", (Expr("variable", (), "i"),), self._random.choice(self._names))
            case 1:
                index = Expr("%", (index, Expr("literal", (), self._random.choice(self._sizes("1", "4294967296")))))
            case 2:
                inner = Expr("max", (index, Expr("literal", (), "0")))
                index = Expr("min", (inner, Expr("literal", (), str(self._size - 1))))
        return Expr("read", (index,), name)

    def _guarded(self, depth: int) -> Expr:
        """A choice; often of an element whose index the condition bounds, or seems to."""
        if self._random.random() < 0.4:
            return Expr("?:", (self._condition(depth - 1), self.number(depth - 1), self.number(depth - 1)))
        index = self.number(depth - 1)
        least = Expr(self._random.choice((">=", ">=", ">")), (index, Expr("literal", (), "0")))
        bound = Expr("literal", (), self._random.choice(self._sizes("2147483648", "4294967304")))
        most = Expr(self._random.choice(("<", "<", "<=")), (index, bound))
        read = Expr("read", (index,), self._random.choice(self._names))
        return Expr("?:", (Expr("&&", (least, most)), read, self._leaf()))

    def _condition(self, depth: int) -> Expr:
        choose = self._random.choice
        if depth > 0 and self._random.random() < 0.3:
            inner = Expr("!", (self._condition(depth - 1),))
            return Expr(choose(("&&", "||")), (self._condition(depth - 1), inner))
        operator = choose(("<", ">", "<=", ">=", "==", "!="))
        return Expr(operator, (self.number(depth), self.number(depth)))
