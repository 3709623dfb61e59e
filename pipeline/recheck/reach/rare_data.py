"""Data at random, for branches that neither the example nor what code names leads to.

What comes is of the kinds of the example: numbers near and far, texts of the same and of other characters, lists of
other lengths, tensors of the same shapes whose whole numbers are those of the example, or a little beyond.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import torch

_LONGEST = 12  # of lists
_MOST_ELEMENTS = 10_000
_FAR = (3, 10, 100, 1000, 5000)
_SEED = 20_26


class RareData:
    """Writes examples at random, the same ones each time.

    Args:
        known: the numbers and texts that the function's code names.
    """

    def __init__(self, known: Iterable[Any]) -> None:
        self.random = Random(_SEED)
        named = list(known)
        self.numbers = [each for each in named if type(each) in (int, float) and abs(each) <= _FAR[-1]]
        self.texts = [each for each in named if type(each) is str and 0 < len(each) <= 40]

    def like(self, leaves: Sequence[Any]) -> list[Any]:
        """Other leaves of the same kinds: at times some of them alone."""
        choice = self.random.random()
        if choice < 0.5 or len(leaves) < 2:
            made = [self._other(leaf) for leaf in leaves]
            return made if choice < 0.4 else self._with_named_sum(made)
        place = self.random.randrange(len(leaves))
        return [self._other(leaf) if place == index else leaf for index, leaf in enumerate(leaves)]

    def _other(self, leaf: Any) -> Any:
        kinds: dict[type, Callable[[Any], Any]] = {
            bool: self._flag, int: self._int, float: self._float, str: self._text,
            list: self._list, tuple: self._tuple, dict: self._dict,
        }  # fmt: skip
        if isinstance(leaf, torch.Tensor):
            return self._tensor(leaf)
        make = kinds.get(type(leaf))
        return leaf if make is None else make(leaf)

    def _flag(self, _: bool) -> bool:
        return self.random.random() < 0.5

    def _int(self, number: int) -> int:
        choice = self.random.random()
        if choice < 0.1:
            return number
        if choice < 0.25 and self.numbers:
            return int(self.random.choice(self.numbers)) + self.random.randint(-1, 1)
        reach = self.random.choice(_FAR)
        return self.random.randint(-reach if choice < 0.4 else 0, reach)

    def _float(self, number: float) -> float:
        choice = self.random.random()
        if choice < 0.1:
            return number
        if choice < 0.25 and self.numbers:
            return float(self.random.choice(self.numbers))
        reach = self.random.choice(_FAR)
        return float(self.random.randint(-reach, reach)) if choice < 0.4 else self.random.uniform(-reach, reach)

    def _text(self, text: str) -> str:
        choice, random = self.random.random(), self.random
        if choice < 0.1:
            return text
        if choice < 0.3 and self.texts:
            named = random.choice(self.texts)
            return random.choice((named, named + text, text + named, f"{text} {named} {text}", named.upper()))
        if choice < 0.6 and text:
            at = random.randrange(len(text))
            return text[:at] + random.choice((random.choice(string.printable[:94]), "", text, " ")) + text[at + 1 :]
        characters = random.choice((text or "a", string.ascii_lowercase, string.ascii_letters, string.digits, "ab "))
        return "".join(random.choices(characters, k=random.randint(0, 9)))

    def _list(self, items: list[Any]) -> list[Any]:
        if not items:
            return items
        length = self.random.choice((len(items), self.random.randint(0, _LONGEST)))
        made = [self._other(self.random.choice(items)) for _ in range(length)]
        choice = self.random.random()
        if made and choice < 0.3:  # the same item more than once
            return [self.random.choice(made) for _ in made]
        return self._with_named_sum(made) if choice < 0.45 else made

    def _with_named_sum(self, items: list[Any]) -> list[Any]:
        """Items of which one is another, so that the whole numbers among them sum to one that code names."""
        places = [place for place, item in enumerate(items) if type(item) is int]
        wanted = [number for number in self.numbers if type(number) is int]
        if places and wanted:
            total = sum(items[place] for place in places)
            items[self.random.choice(places)] += self.random.choice(wanted) - total
        return items

    def _tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        made = [self._other(item) for item in items]
        return type(items)(*made) if hasattr(type(items), "_fields") else tuple(made)

    def _dict(self, items: dict[Any, Any]) -> dict[Any, Any]:
        return {key: self._other(item) for key, item in items.items()}

    def _tensor(self, leaf: torch.Tensor) -> torch.Tensor:
        if leaf.device.type == "meta" or not 0 < leaf.numel() <= _MOST_ELEMENTS or leaf.layout is not torch.strided:
            return leaf
        generator = torch.Generator().manual_seed(self.random.getrandbits(32))
        if leaf.dtype is torch.bool:
            return torch.rand(leaf.shape, generator=generator) < self.random.random()
        if leaf.dtype.itemsize < 2 or leaf.dtype in (torch.uint16, torch.uint32, torch.uint64) or leaf.is_complex():
            return leaf
        if leaf.is_floating_point():
            made = torch.randn(leaf.shape, generator=generator) * self.random.choice((0.1, 1, *_FAR))
            return (made.round() if self.random.random() < 0.3 else made).to(leaf.dtype)
        low, high = int(leaf.min()), int(leaf.max())
        if self.random.random() < 0.3:
            low, high = min(0, low), max(high, min(self.random.choice(_FAR), 100))
        return torch.randint(low, high + 1, leaf.shape, generator=generator).to(leaf.dtype)
