"""Random comprehensions on three inputs of random types: every operator of the language, in nests of four kinds."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import torch

TYPES = ("float", "double", "int32", "int64", "int8", "uint8", "int16")
FLOATS = {"float": torch.float32, "double": torch.float64}


@dataclass
class RandomProgram:
    """A text and its inputs, of a seed."""

    text: str
    inputs: list[torch.Tensor]


def make(seed: int) -> RandomProgram:
    """The program of a seed; not every one is accepted, as types are left to chance."""
    random, numbers = Random(seed), torch.Generator().manual_seed(seed)
    kinds = [random.choice(TYPES) for _ in "ABC"]
    write = _Writer(random, ["A", "B", "C"])
    params = ", ".join(f"{kind}(N,M) {name}" for kind, name in zip(kinds, "ABC", strict=True))
    text = f"def f({params}) -> (O) {{ {write.body()} }}"
    return RandomProgram(text, [_values(kind, numbers) for kind in kinds])


def _values(kind: str, numbers: torch.Generator) -> torch.Tensor:
    if kind in FLOATS:
        return torch.randn(5, 7, dtype=FLOATS[kind], generator=numbers)
    low = 0 if kind.startswith("u") else -9
    return torch.randint(low, 9, (5, 7), generator=numbers).to(getattr(torch, kind))


class _Writer:
    """Writes statements and expressions by chance."""

    def __init__(self, random: Random, tensors: list[str]) -> None:
        self._random, self._tensors = random, tensors

    def body(self) -> str:
        operator, both = self._random.choice(["+=!", "max=!", "min=!"]), "where i in 0:N, j in 0:M"
        match self._random.randrange(4):
            case 0:
                return f"O(i,j) = {self.number(3)} {both}"
            case 1:
                return f"O(i) {operator} {self.number(3)} {both}"
            case 2:
                first = f"t(i,j) = {self.number(2)} {both}"
                self._tensors = [*self._tensors, "t"]
                return f"{first}\n O(j) {operator} {self.number(3)} {both}"
        first = f"t(i) {operator} {self.number(2)} {both}\n O(i,j) = t(i) + {self.number(2)} {both}"
        return f"{first}\n O(i,j) += {self.number(2)} where i in 1:N, j in 0:M"

    def number(self, depth: int) -> str:
        """A number's expression of at most so many levels."""
        kind, choose = self._random.random(), self._random.choice
        if depth == 0 or kind < 0.25:
            return f"{choose(self._tensors)}(i,j)" if kind < 0.8 else choose(["1", "-1", "0.5", "2.5", "7", "i", "j"])
        deeper = lambda: self.number(depth - 1)  # noqa: E731 - short
        if kind < 0.55:
            return f"({deeper()} {choose('+-*')} {deeper()})"
        if kind < 0.68:
            return f"({deeper()} {choose('/%')} {choose(['3', '2', '-5', 'i', 'j', '(i + 1)'])})"
        if kind < 0.78:
            return f"{choose(['min', 'max'])}({deeper()}, {deeper()})"
        if kind < 0.88:
            return choose([f"abs({deeper()})", f"-{deeper()}", f"float({deeper()})"])
        return f"({self.condition(depth - 1)} ? {deeper()} : {deeper()})"

    def condition(self, depth: int) -> str:
        """A condition of at most so many levels."""
        kind, choose = self._random.random(), self._random.choice
        if depth > 0 and kind < 0.3:
            return f"({self.condition(depth - 1)} {choose(['&&', '||'])} !({self.condition(depth - 1)}))"
        return f"({self.number(depth)} {choose(['<', '>', '<=', '>=', '==', '!='])} {self.number(depth)})"
