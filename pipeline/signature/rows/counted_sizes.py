"""Which sizes of tensors may hold the number of rows of a batch, as far as types and operators say it. No torch.

A type names a size by a letter, or leaves it open (`?`). An open one holds that number unless it comes, by operators
that leave sizes where they are, from one that does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ....ops.graph.graph import Graph, KernelCall, Node, Value
from ....ops.graph.traverse import leaves, uses
from ....ops.graph.types import TensorType
from .operator_names import FILLED, MADE_OF_SIZES, PLACE_BY_PLACE, SHAPES, operator_name

Counted = tuple[bool, ...]


class CountedSizes:
    """For each value of a graph which of its sizes may hold the number of rows.

    `symbols` is what that number is called there: letters, and in a subgraph, whose types have the sizes of the
    example, numbers.
    """

    def __init__(self, symbols: frozenset[int | str], known: dict[int, Counted] | None = None) -> None:
        self.symbols = symbols
        self._known = known if known is not None else {}

    @classmethod
    def at_first(cls, graph: Graph) -> CountedSizes:
        """Of a graph whose inputs have a row for each item of their first dimension."""
        kinds = [value.type for value in graph.inputs]
        return cls(frozenset(name for kind in kinds if isinstance(kind, TensorType) for name in _names(kind.shape[:1])))

    def called(self, graph: Graph, arguments: Sequence[Any]) -> CountedSizes:
        """Of a graph that is called with values of this one."""
        known: dict[int, Counted] = {}
        symbols: set[int | str] = set()
        for inner, given in zip(graph.inputs, arguments, strict=True):
            counted = self.of(given)
            if counted is None or (isinstance(inner.type, TensorType) and len(inner.type.shape) != len(counted)):
                continue
            known[id(inner)] = counted
            if isinstance(inner.type, TensorType):
                pairs = zip(inner.type.shape, counted, strict=True)
                symbols.update(name for size, each in pairs if each for name in _names([size]))
        return CountedSizes(frozenset(symbols), known)

    def of(self, value: Any) -> Counted | None:
        """Which sizes of a value may hold the number; None where nothing is known of them."""
        found = self._known.get(id(value))
        if found is None and isinstance(value, Value) and isinstance(value.type, TensorType):
            return tuple(map(self._may, value.type.shape))
        return found

    def holds(self, value: Any, dim: Any) -> bool:
        """Whether a size of a value may hold the number of rows."""
        counted = self.of(value)
        if counted is None or not isinstance(dim, int) or not -len(counted) <= dim < len(counted):
            return True
        return counted[dim]

    def note(self, node: Node, of_rows: Callable[[Any], bool]) -> None:
        """Follows the sizes through an operator that leaves them where they are, and through a tokenizer.

        Args:
            node: of an operator or a kernel.
            of_rows: whether a value depends on rows, or on how many there are.
        """
        if isinstance(node.target, KernelCall) and node.target.kernel.kind == "tokenizer":  # gives a row for each text
            for leaf in leaves(node.output):
                if isinstance(leaf, Value) and isinstance(leaf.type, TensorType):
                    self._known[id(leaf)] = tuple(place == 0 for place in range(len(leaf.type.shape)))
        name = operator_name(node)
        if not isinstance(node.output, Value) or not (found := self._followed(node, name, of_rows)):
            return
        kind = node.output.type
        if isinstance(kind, TensorType):
            if len(kind.shape) != len(found):
                return
            found = tuple(each and self._may(size) for each, size in zip(found, kind.shape, strict=True))
        self._known[id(node.output)] = found

    def _followed(self, node: Node, name: str, of_rows: Callable[[Any], bool]) -> Counted | None:
        if name in ("getitem", "__getitem__"):
            return self._sliced(node, of_rows)
        if name in MADE_OF_SIZES | SHAPES and not name.endswith("_like"):
            return self._shaped(node, name, of_rows)
        if name not in PLACE_BY_PLACE:
            return None
        given = [leaf for leaf in uses(node) if isinstance(leaf, Value) and of_rows(leaf)]
        counted = [each for each in map(self.of, given) if each is not None]
        if not counted or len(counted) < len([leaf for leaf in given if _has_sizes(leaf)]):
            return None
        rank = max(map(len, counted))
        filled = [(False,) * (rank - len(each)) + each for each in counted]
        return tuple(any(each) for each in zip(*filled, strict=True))

    def _shaped(self, node: Node, name: str, of_rows: Callable[[Any], bool]) -> Counted | None:
        """Of a tensor whose sizes are given: all of them, or all but one of a tensor of rows that are of one size."""
        of_tensor = name in SHAPES or name.startswith("new_")
        given = list(leaves(node.args[of_tensor:]))[: -1 if name in FILLED and len(node.args) > 1 + of_tensor else None]
        counted = [of_rows(leaf) for leaf in given]
        if -1 not in given:
            return tuple(counted)
        if name == "expand" and (before := self.of(node.args[0])):
            before = (False,) * (len(given) - len(before)) + before
            return tuple(each or (size == -1 and was) for each, size, was in zip(counted, given, before, strict=False))
        alone = name in ("view", "reshape") and sum(counted) == 1 and self._rows_first(node.args[0])
        return tuple(counted) if alone else None

    def _rows_first(self, value: Any) -> bool:
        """Whether a tensor has as many rows as there are, and no other size that may hold their number."""
        kind, counted = value.type if isinstance(value, Value) else None, self.of(value)
        if not isinstance(kind, TensorType) or not counted or not str(kind.shape[0]).isidentifier():
            return False
        return counted[0] and not any(counted[1:])

    def _sliced(self, node: Node, of_rows: Callable[[Any], bool]) -> Counted | None:
        """Of a tensor that is indexed by slices, numbers and None only, with what is the same for all rows."""
        counted = self.of(node.args[0])
        index = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
        left, found = list(counted or ()), []
        for part in index:
            if part is None:
                found.append(False)
            elif not left or not isinstance(part, slice | int) or any(map(of_rows, leaves(part))):
                return None
            elif isinstance(part, int):
                del left[0]
            else:
                found.append(left.pop(0))
        return (*found, *left)

    def _may(self, size: int | str) -> bool:
        return "?" in str(size) or not self.symbols.isdisjoint(_names([size]))


def _has_sizes(value: Value) -> bool:
    return isinstance(value.type, TensorType) or str(value.type) in ("array", "any")


def _names(sizes: Iterable[int | str]) -> list[int | str]:
    return [name for size in sizes for name in ([size] if isinstance(size, int) else re.findall(r"[A-Za-z_]\w*", size))]
