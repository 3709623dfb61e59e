"""Random comprehensions, of two kinds.

`make`: three inputs of random types, every operator of the language, in nests of four kinds. `indexed`: sums and
maxima over what is read at random indices, with strides, divisions and remainders, where conditions allow it.
"""

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


def indexed(seed: int) -> RandomProgram:
    """The program of a seed, whose sums are whole numbers that every order of adding gives."""
    random, numbers = Random(seed), torch.Generator().manual_seed(seed)
    extents = {v: random.choice([1, 2, 3, 4, 5, 7, 8, 12, 17, 33]) for v in "ijkl"}
    shapes = [[random.choice([3, 6, 8, 12]), random.choice([5, 6, 16, 20])], [random.choice([4, 9, 16])]]
    conditions, reads = [], []
    for name, shape in zip("AB", shapes, strict=True):
        places = [_index(random) for _ in shape]
        conditions += [f"{e} >= 0 && {e} < {n}" for e, n in zip(places, shape, strict=True)]
        reads.append(f"{name}({', '.join(places)})")
    for _ in range(random.choice([0, 1, 1, 2])):
        conditions.append(f"({_sum(random)}) % {random.choice([2, 3, 4])} == {random.choice([0, 0, 1])}")
    random.shuffle(conditions)
    left, where = random.choice(["i,j", "i", "j,i"]), ", ".join(f"{v} in 0:{n}" for v, n in extents.items())
    tail = random.choice(["", f"O({left}) = O({left}) * 2.0 + 1.0", f"P({left[0]}) +=! O({left})"])
    params = ", ".join(f"float({','.join(map(str, n))}) {name}" for name, n in zip("AB", shapes, strict=True))
    text = f"""def f({params}) -> ({"O, P" if "P(" in tail else "O"}) {{
  O({left}) {random.choice(["+=!", "+=!", "max=!"])} {" && ".join(conditions)} ? {" * ".join(reads)} : 0.0
    where {where}
  {tail} }}"""
    return RandomProgram(text, [torch.randint(-4, 5, n, generator=numbers).float() for n in shapes])


def _sum(random: Random) -> str:
    """A sum of one to three index variables and a number."""
    terms = [f"{random.choice(['', '', '2*', '3*'])}{v}" for v in random.sample("ijkl", random.choice([1, 2, 2, 3]))]
    return random.choice("+-").join(terms) + random.choice(["", "", "+1", "+2", "-1", "-3"])


def _index(random: Random) -> str:
    kind = random.random()
    if kind < 0.5:
        return _sum(random)
    return f"({_sum(random)}){random.choice('/%')}{random.choice([2, 3, 4])}"


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
