"""The dtypes and sizes of arrays of numpy in a graph: what its functions give for arrays of ones of some sizes.

An archive says of such a value only that it is an array. Here the functions whose results have sizes that follow from
those of arguments run on small arrays, once for each choice of sizes: a size that is a letter in each of them is that
letter. No torch: `mod.outputs` and the command line read them.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....ops.graph.graph import Constant, Graph, Literal, Node, Operator, Value
from ....ops.graph.traverse import leaves, map_leaves
from ....ops.graph.types import BOOL, DTYPES, FLOAT, INT, TensorType, Type
from ....ops.runtime.primitives.numpy import numpy_object
from ..proofs.past_arrays import AS_ARRAY
from ..proofs.unknown_numbers import needed_for
from .sized_functions import BY_DATA, function_of, is_place_by_place, is_small

_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_MOST_NODES, _LARGEST, _MOST_FACTOR, _FEWEST = 1000, 1500, 4, 3

_NUMBERS: dict[Type, Any] = {INT: 1, FLOAT: 1.0, BOOL: True}


class ArrayTypes:
    """What is known of the arrays among the results of a graph.

    Args:
        graph: the graph.

    Attributes:
        found: the type of each by its id; a size that data decides is ``"?"``.
    """

    def __init__(self, graph: Graph) -> None:
        self.found: dict[int, TensorType] = {}
        wanted = [leaf for leaf in leaves(graph.output) if isinstance(leaf, Value) and str(leaf.type) == "array"]
        part = needed_for(wanted, graph) if wanted else graph
        if not wanted or len(part.nodes) > _MOST_NODES:
            return
        trials = [(sizes, _RunOfOnes(part, sizes).values) for sizes in _choices(part)]
        for value in wanted:
            made = [(sizes, *values[id(value)]) for sizes, values in trials if id(value) in values]
            dtypes = {array.dtype.name for _, array, _ in made}
            if len(made) >= _FEWEST and len(dtypes) == 1 and dtypes <= DTYPES.keys() and _ranks(made) == 1:
                self.found[id(value)] = TensorType(dtypes.pop(), tuple(_sizes(made)))


def _ranks(made: list[Any]) -> int:
    return len({array.ndim for _, array, _ in made})


def _sizes(made: Sequence[tuple[Mapping[str, int], Any, bool]]) -> Iterator[Any]:
    """The sizes, where it ran with other ones for each letter: equal ones tell nothing."""
    differing = sum(len(set(known.values())) == len(known) for known, _, _ in made)
    for dim in range(made[0][1].ndim):
        sizes = {array.shape[dim] for _, array, _ in made}
        letters = [
            letter if factor == 1 else f"{factor}*{letter}"
            for letter in made[0][0]
            for factor in range(1, _MOST_FACTOR + 1)
            if all(array.shape[dim] == factor * known[letter] for known, array, _ in made)
        ]
        if differing < _FEWEST or any(by_data for _, _, by_data in made):
            yield "?"
        else:
            yield letters[0] if letters else sizes.pop() if len(sizes) == 1 else "?"


def _choices(graph: Graph) -> Iterator[dict[str, int]]:
    """Sizes for the letters of the inputs: small ones, and each once larger than any number in the graph."""
    kinds = [value.type for value in graph.inputs if isinstance(value.type, TensorType)]
    letters = sorted({size for kind in kinds for size in kind.shape if isinstance(size, str) and size.isidentifier()})
    if len(letters) > len(_PRIMES) // 2:
        return
    numbers = [abs(leaf) for leaf in _constants(graph) if isinstance(leaf, int)]
    yield from (dict(zip(letters, _PRIMES[start:], strict=False)) for start in (0, len(letters), 2))
    yield from (dict.fromkeys(letters, size) for size in (0, 1, 2, 3))
    large = max([n for n in numbers if n <= _LARGEST], default=0) + 61
    yield from ({**dict(zip(letters, _PRIMES, strict=False)), letter: large} for letter in letters)


def _constants(graph: Graph) -> Iterator[Any]:
    for node in graph.nodes:
        for leaf in leaves((node.args, node.kwargs)):
            parts = (leaf.start, leaf.stop, leaf.step) if isinstance(leaf, slice) else (leaf,)
            yield from (part for part in parts if isinstance(part, int | float) and not isinstance(part, bool))


class _RunOfOnes:
    """One run of a graph on arrays of ones.

    Args:
        graph: the graph.
        sizes: what the letters are.

    Attributes:
        values: what was made, by the id of the value, with whether data decides sizes of it.
    """

    def __init__(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        self.values: dict[int, tuple[Any, bool]] = {}
        self.sizes, self.open = sizes, itertools.count(53)
        self.wide = any(abs(each) > _LARGEST for each in _constants(graph))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._keep_numbers(graph.inputs)
            for node in graph.nodes:
                try:
                    self._run(node)
                except Exception:  # sizes that do not fit, or a constant that numpy does not take
                    continue
                finally:
                    self._keep_numbers([leaf for leaf in leaves(node.output) if isinstance(leaf, Value)])

    def _run(self, node: Node) -> None:
        name = node.target.name if isinstance(node.target, Operator) else ""
        first = node.args[0] if node.args else None
        if name in AS_ARRAY and isinstance(first, Value) and isinstance(first.type, TensorType):
            self._keep(node.output, *self._of_tensor(first))
            return
        if name in AS_ARRAY and isinstance(first, Constant) and isinstance(kind := first.type(), TensorType):
            if math.prod(size for size in kind.shape if isinstance(size, int)) <= _LARGEST**2:
                self._keep(node.output, np.ones(kind.shape, kind.dtype), False)
            return
        function = function_of(name)
        if function is None:
            return
        used = [leaf for leaf in leaves((node.args, node.kwargs)) if isinstance(leaf, Value)]
        if any(id(leaf) not in self.values for leaf in used):
            return
        given: list[Any] = []

        def known(leaf: Any) -> Any:
            made = self.values[id(leaf)][0] if isinstance(leaf, Value) else _constant(leaf)
            given.append(made)
            return made

        args, kwargs = map_leaves(known, node.args), map_leaves(known, dict(node.kwargs))
        if not is_small(name, given):
            return
        arrays = [made for made in given if isinstance(made, np.ndarray)]
        found = [self.values[id(leaf)] for leaf in used]
        if arrays and is_place_by_place(name):  # numbers decide no size
            found = [each for each in found if isinstance(each[0], np.ndarray)]
        by_data = name in BY_DATA or any(by_data for _, by_data in found)
        by_data = by_data or (name == "py.getitem" and any(isinstance(each, np.ndarray) for each in given[1:]))
        made = function(*args, **kwargs)
        outputs = [leaf for leaf in leaves(node.output) if isinstance(leaf, Value)]
        for value, array in zip(outputs, [made] if isinstance(node.output, Value) else list(made), strict=True):
            self._keep(value, array, by_data)

    def _keep_numbers(self, values: Sequence[Value]) -> None:
        """Some number for each that a caller or data decides."""
        for value in values:
            if value.type in _NUMBERS:
                self.values.setdefault(id(value), (_NUMBERS[value.type], True))

    def _keep(self, value: Any, made: Any, by_data: bool) -> None:
        if isinstance(made, np.ndarray | int | np.generic):
            self.values[id(value)] = made, by_data or self.wide

    def _of_tensor(self, value: Value) -> tuple[Any, bool]:
        """The array of a tensor: one of the graph's own may have sizes that data decides."""
        kind: Any = value.type
        open_sizes = [size for size in kind.shape if not isinstance(size, int) and size not in self.sizes]
        known = [size if isinstance(size, int) else self.sizes.get(size) or next(self.open) for size in kind.shape]
        if any(self.sizes.get(size) == 0 for size in kind.shape):
            known = [self.sizes.get(size, number) for size, number in zip(kind.shape, known, strict=True)]
        if math.prod(max(1, number) for number in known) > _LARGEST**2:
            raise ValueError("a size is large")
        return np.ones(known, kind.dtype), bool(open_sizes)


def _constant(leaf: Any) -> Any:
    return numpy_object(leaf.kind, leaf.name) if isinstance(leaf, Literal) else leaf
