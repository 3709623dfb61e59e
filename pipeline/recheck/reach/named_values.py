"""Examples whose items or sizes are the numbers and texts that code names: what it compares with decides what it does.

A branch that only ``word == "magic"`` or ``len(words) > 30`` takes is met by no other data, and nothing else shows what
it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from types import FunctionType
from typing import Any

import torch

from ....ops.runtime.user_code import codes_in

MOST_NUMBERS = 5
MOST_TEXTS = 8
_LARGEST = 5000
_LARGEST_IN_TENSORS = 1000  # of whole numbers, which may be sizes, or how often rows are repeated
_LONGEST = 40
_PERIOD = 12  # in how many items a text or a number is met in every way, some twice
_MOST_SIZES = 4
_LARGEST_SIZE = 100
_MOST_ELEMENTS = 100_000


def with_named_values(leaves: Sequence[Any], known: Iterable[Any]) -> Iterator[list[Any]]:
    """Examples in which some items of each list, or some elements of each tensor, are such a value, or next to one.

    Args:
        leaves: the example.
        known: the numbers and texts, those that are met soonest last.
    """
    found = list(known)[::-1]
    for text in islice(filter(_is_word, found), MOST_TEXTS if any(map(_holds_text, leaves)) else 0):
        yield [_changed(leaf, _Texts(text)) for leaf in leaves]
    numbers = (number for number in found if type(number) in (int, float) and _is_near(number))
    for number in islice(numbers, MOST_NUMBERS if any(map(_holds_number, leaves)) else 0):
        yield [_changed(leaf, _Numbers(number)) for leaf in leaves]


def with_named_sizes(leaves: Sequence[Any], known: Iterable[Any]) -> Iterator[list[Any]]:
    """Examples in which lists, texts and first sizes of tensors are as long as a number that code names, and longer."""
    sizes = [value for value in list(known)[::-1] if type(value) is int and 1 < value <= _LARGEST_SIZE]
    for size in sizes[:_MOST_SIZES] if any(isinstance(leaf, list | str | torch.Tensor) for leaf in leaves) else ():
        for length in (size, size + 1):
            yield [_as_long(leaf, length) for leaf in leaves]


def _as_long(leaf: Any, length: int) -> Any:
    if isinstance(leaf, torch.Tensor):
        if leaf.device.type == "meta" or not leaf.numel() or not leaf.dim():
            return leaf
        if leaf[0].numel() * length > _MOST_ELEMENTS or leaf.dtype in (torch.uint16, torch.uint32, torch.uint64):
            return leaf
        return leaf.detach()[torch.arange(length, device=leaf.device) % len(leaf)]
    if not isinstance(leaf, list | str) or not leaf:
        return leaf
    if isinstance(leaf, list) and any(isinstance(each, str) for each in leaf):
        leaf = [*(each * length for each in leaf[:1]), *leaf[1:]]
    return (leaf * (length // len(leaf) + 1))[:length]


def _is_word(value: Any) -> bool:
    return type(value) is str and bool(value) and len(value) <= _LONGEST and "\n" not in value


def _is_near(number: float) -> bool:
    return math.isfinite(number) and abs(number) <= _LARGEST


def _holds_text(leaf: Any) -> bool:
    return type(leaf) is str or any(map(_holds_text, _items(leaf)))


def _holds_number(leaf: Any) -> bool:
    return type(leaf) in (int, float) or isinstance(leaf, torch.Tensor) or any(map(_holds_number, _items(leaf)))


def _items(leaf: Any) -> Iterable[Any]:
    if isinstance(leaf, dict):
        return leaf.values()
    return leaf if isinstance(leaf, list | tuple) else ()


class _Texts:
    """Puts a text in the place of every other one: by itself, before, behind and between what stands there."""

    def __init__(self, text: str) -> None:
        self.text, self.count = text, 0

    def __call__(self, item: Any) -> Any:
        if type(item) is not str:
            return item
        self.count += 1
        forms = (self.text, item, self.text + item, item, item + self.text, item, f"{item} {self.text} {item}")
        return forms[(self.count - 1) % len(forms)]


_FORMS = 4


def _beside(number: float) -> tuple[float, ...]:
    """A number, those next to it, and half of it, which may be doubled before it is compared."""
    half = number // 2 if type(number) is int else number / 2
    return number, half, number + 1, number - 1


class _Numbers:
    """Puts a number, and those next to it, in the place of every other one."""

    def __init__(self, number: float) -> None:
        self.number, self.count = number, 0

    def __call__(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return self._tensor(item)
        if type(item) not in (int, float) or (type(item) is int and self.number % 1):
            return item
        self.count += 1
        turn, rest = divmod(self.count - 1, 2)
        return item if rest else type(item)(_beside(self.number)[turn % _FORMS])

    def _tensor(self, item: torch.Tensor) -> torch.Tensor:
        whole = not item.is_floating_point()
        if item.dtype is torch.bool or item.is_complex() or item.device.type == "meta" or item.dtype.itemsize < 2:
            return item
        if whole and (self.number % 1 or abs(self.number) > min(_LARGEST_IN_TENSORS, torch.iinfo(item.dtype).max)):
            return item
        found = item.detach().clone(memory_format=torch.contiguous_format).view(-1)
        for turn, number in enumerate(_beside(self.number)):
            found[2 * turn :: 2 * _FORMS] = number
        return found.view(item.shape)


def _changed(leaf: Any, change: Callable[[Any], Any]) -> Any:
    """A leaf with other items; a list of few items gets them again, so that each change may be met."""
    if isinstance(leaf, list):
        items = leaf * (-(-_PERIOD // len(leaf))) if leaf else leaf
        return [_within(item, change) for item in items]
    return change(leaf) if isinstance(leaf, torch.Tensor) else leaf


def _within(item: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(item, dict):
        return {key: _within(part, change) for key, part in item.items()}
    if isinstance(item, list | tuple):
        parts = [_within(part, change) for part in item]
        return type(item)(*parts) if hasattr(type(item), "_fields") else type(item)(parts)
    return change(item)


def plain_among(held: Iterable[Any], functions: Iterable[FunctionType]) -> list[Any]:
    """The numbers and texts among some things, and among the constants and defaults of functions, each once."""
    found = [*held]
    for function in functions:
        found += [item for code in codes_in(function.__code__) for item in code.co_consts]
        found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    flat = [part for item in found for part in (item if type(item) in (tuple, frozenset) else (item,))]
    values = [item.value if isinstance(item, Enum) else item for item in flat]
    plain = [item for item in values if type(item) in (int, float, str)]
    return [item for _, item in {(type(item), repr(item)): item for item in plain}.items()]
