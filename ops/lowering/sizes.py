"""From what torch.export found out about sizes to the Facts of a body.

torch.export reports its guards as Python text over ``L['x'].size()[0]``. Here they become expressions over symbols
(`expr`), equal sizes become one symbol, and fixed sizes become integers in the input types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..graph.errors import GraphError, LoweringError
from ..graph.graph import Facts
from ..graph.guards import compile_expression, plain, symbols

_SIZE = re.compile(r"(L\[[^()]*?\])\.size\(\)\[(\d+)\]")
_FIXED = re.compile(r"^\(?(\w+)\)? == (\d+)$")
_EQUAL = re.compile(r"^(\w+) == (\w+)$")
_ALPHABET = "NMKLPQRSTUVWABCDEFGHIJ"


@dataclass
class Sizes:
    """What is known of the sizes of flat inputs.

    Attributes:
        shapes: the shape of each in symbols.
        facts: the symbols, and the guards over them.
        letters: for each of torch's symbols ours, or its fixed size.
    """

    shapes: list[tuple[int | str, ...]]
    facts: Facts
    letters: dict[str, str]


def names() -> Iterator[str]:
    """Names for symbols: N, M, K …, then N1, M1 …"""
    yield from _ALPHABET
    count = 1
    while True:
        yield from (f"{letter}{count}" for letter in _ALPHABET)
        count += 1


def read_sizes(
    shapes: Sequence[tuple[object, ...]],
    ranges: dict[str, tuple[int, int | None]],
    guards: Sequence[str],
    sources: Sequence[str],
) -> Sizes:
    """Reads the result of torch.export.

    Args:
        shapes: for each flat input its shape: integers, or torch's symbol as text.
        ranges: the least and the largest value of each symbol, None for no bound.
        guards: the conditions, as torch.export prints them.
        sources: for each flat input how torch.export writes it, such as ``"L['x']"``.

    Raises:
        LoweringError: a condition is not about sizes.
    """
    place = {source: index for index, source in enumerate(sources)}
    return settle(shapes, ranges, [_over_places(guard, place) for guard in guards])


def settle(
    shapes: Sequence[tuple[object, ...]], ranges: dict[str, tuple[int, int | None]], texts: Sequence[str]
) -> Sizes:
    """Joins equal dimensions, fixes those that are known, and keeps the other conditions over symbols.

    Args:
        shapes: for each flat input its shape: integers, or a symbol as text.
        ranges: the least and the largest value of each of these symbols.
        texts: conditions over dimensions written ``d0_1``: the second dimension of the first input.
    """
    classes = _Classes(shapes)
    rest = [text for text in texts if not classes.absorb(text)]
    symbols, shaped = classes.shapes()
    renamed = classes.renaming(symbols)
    conditions = [_rename(text, renamed) for text in rest]
    conditions += classes.bounds(ranges, renamed)
    kept = [c for c in dict.fromkeys(conditions) if not _trivial(c)]
    letters = {symbol: renamed[name] for symbol, name in classes.torch_symbols.items()}
    return Sizes(shaped, Facts(symbols, tuple(kept)), letters)


def over_letters(size: str, letters: Mapping[str, str]) -> int | str:
    """A size that torch computed, written over our symbols.

    Example:
        >>> over_letters("(((s2 - 1)//2)) + 1", {"s2": "M"}), over_letters("2*s7", {"s7": "4"})
        ('(M - 1) // 2 + 1', 8)
    """
    text = re.sub(r"\b[a-z]+\d+\b", lambda match: letters.get(match[0], match[0]), size)
    try:
        text = plain(text)
        return int(compile_expression(text, [])()) if not symbols(text) else text
    except GraphError:  # a function of torch's that guards do not know
        return text


def with_numbers(sizes: Sizes, numbers: Sequence[int]) -> Sizes:
    """The same where some inputs are numbers: each has a symbol of its own, whose place is its only dimension.

    Args:
        sizes: what was found with a tensor in the place of each number, whose first size it is.
        numbers: which inputs are numbers.
    """
    symbols, guards = dict(sizes.facts.symbols), list(sizes.facts.guards)
    unused = (name for name in names() if name not in symbols)
    for index in numbers:
        symbol = sizes.shapes[index][0]
        if symbols.get(str(symbol)) != (index, 0):
            own = next(unused)
            symbols[own] = (index, 0)
            guards.append(f"{own} == {symbol}")
            symbol = own
        guards.append(f"{symbol} >= 0")
    return replace(sizes, facts=Facts(symbols, tuple(guards)))


def _over_places(guard: str, place: dict[str, int]) -> str:
    def name(match: re.Match[str]) -> str:
        source = match[1]
        if source not in place:
            raise LoweringError("a condition on something that is not an input", got=guard)
        return f"d{place[source]}_{match[2]}"

    text = _SIZE.sub(name, guard)
    text = text.replace("torch.sym_", "").replace("math.", "")
    if "L[" in text:
        raise LoweringError("the model depends on more than the sizes of its inputs", got=guard)
    return text


class _Classes:
    """Dimensions that are equal, as a union-find over names like ``d0_1``."""

    def __init__(self, shapes: Sequence[tuple[object, ...]]) -> None:
        self.given = shapes
        self.parent: dict[str, str] = {}
        self.fixed: dict[str, int] = {}
        self.torch_symbols: dict[str, str] = {}
        for index, shape in enumerate(shapes):
            for dim, size in enumerate(shape):
                self._add(f"d{index}_{dim}", size)

    def _add(self, name: str, size: object) -> None:
        self.parent[name] = name
        if isinstance(size, int):
            self.fixed[name] = size
        elif str(size).isidentifier():
            self.join(self.torch_symbols.setdefault(str(size), name), name)

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def join(self, a: str, b: str) -> None:
        first, second = sorted((self.find(a), self.find(b)), key=_order)
        self.parent[second] = first
        if second in self.fixed:
            self.fixed.setdefault(first, self.fixed[second])

    def absorb(self, text: str) -> bool:
        """Takes in a condition that fixes a size or makes two equal; says whether it was one."""
        if (match := _FIXED.match(text)) and match[1] in self.parent:
            self.fixed[self.find(match[1])] = int(match[2])
            return True
        if (match := _EQUAL.match(text)) and match[1] in self.parent and match[2] in self.parent:
            self.join(match[1], match[2])
            return True
        return False

    def shapes(self) -> tuple[dict[str, tuple[int, int]], list[tuple[int | str, ...]]]:
        """The place of each symbol's definition, and the inputs' shapes."""
        supply, symbol_of = names(), {}
        symbols: dict[str, tuple[int, int]] = {}
        shaped: list[tuple[int | str, ...]] = []
        for index, shape in enumerate(self.given):
            dims: list[int | str] = []
            for dim in range(len(shape)):
                root = self.find(f"d{index}_{dim}")
                if root in self.fixed:
                    dims.append(self.fixed[root])
                    continue
                if root not in symbol_of:
                    symbol_of[root] = next(supply)
                    symbols[symbol_of[root]] = (index, dim)
                dims.append(symbol_of[root])
            shaped.append(tuple(dims))
        return symbols, shaped

    def renaming(self, symbols: dict[str, tuple[int, int]]) -> dict[str, str]:
        """For each ``d0_1`` its symbol or its fixed size."""
        by_root = {self.find(f"d{i}_{d}"): name for name, (i, d) in symbols.items()}
        return {n: str(self.fixed.get(self.find(n), by_root.get(self.find(n), n))) for n in self.parent}

    def bounds(self, ranges: dict[str, tuple[int, int | None]], renamed: dict[str, str]) -> list[str]:
        """Conditions for the ranges of torch's symbols that are a whole dimension."""
        found = []
        for symbol, (least, most) in ranges.items():
            name = renamed.get(self.torch_symbols.get(symbol, ""), "")
            if name and not name.isdigit():
                found += [f"{name} >= {least}"] if least > 0 else []
                found += [f"{name} <= {most}"] if most is not None else []
        return found


def _order(name: str) -> tuple[int, int]:
    index, dim = name[1:].split("_")
    return int(index), int(dim)


def _rename(text: str, renamed: dict[str, str]) -> str:
    return re.sub(r"\bd\d+_\d+\b", lambda match: renamed[match[0]], text)


def _trivial(text: str) -> bool:
    """Whether a condition over fixed sizes alone already holds."""
    try:
        return not symbols(text) and bool(compile_expression(text, [])())
    except GraphError:
        return False
