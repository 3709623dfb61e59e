"""What torch refuses in the data of a region, and other runtimes do not: indices, and divisors of integers.

Torch refuses an index that is negative or too large. Other runtimes count negative ones from the end, or read beyond
the table. An index that is an input of the region is checked before the engine runs. What the region computes indices
from is found while it is exported, and the export gives one more output: whether all of them were within their tensors.
A division of integers by zero is an error of torch's, a number elsewhere, or the end of the process; so is the least
integer divided by -1. It stays with the flat function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...graph.graph import BodyCall, Constant, Graph, Node, Operator, Value
from ...graph.traverse import leaves
from .finite_checks import FiniteChecks, plain_name, require_finite
from .known_ranges import Ends, KnownRanges, Range, is_small, is_within
from .left_to_torch import LeftToTorch, Unfit
from .listed_functions import unlisted
from .number_checks import (
    LARGEST,
    MOST_SIZE,
    SHIFTS,
    computed_otherwise,
    is_large,
    is_watched,
    within_float32,
    within_floats,
)
from .small_numbers import SmallNumbers
from .tie_checks import TieChecks

# Where a function has its table, its dimension and its index, and what these are called.
_INDEXED = {
    "embedding": (0, None, 1),
    **dict.fromkeys(("index_select", "gather", "scatter", "scatter_add", "scatter_reduce"), (0, 1, 2)),
    **dict.fromkeys(("index_add", "index_copy", "index_fill", "index_reduce"), (0, 1, 2)),
    "take_along_dim": (0, 2, 1),
}
_NAMES = {"table": ("self", "input", "weight"), "dim": ("dim",), "index": ("index", "indices")}
_PUTTING = ("index_put", "setitem")
_WRITING = ("scatter", "index_add", "index_copy", "index_fill", "index_reduce", "put", "index_put")
_BY_TENSORS = ("index", "unsafe_index", "getitem", *_PUTTING)  # torch counts negative indices from the end
_LEFT_TO_TORCH = (
    "nll_loss", "cross_entropy", "embedding_bag", "ctc_loss", "max_unpool", "multi_margin_loss",
    "multilabel_margin_loss",
)  # fmt: skip
_CHECKED = {
    "tensor_split": "the places at which tensor_split cuts", "quantile": "the fractions of a quantile",
    "repeat_interleave": "how often repeat_interleave repeats"}  # fmt: skip
_DIVISIONS = ("floor_divide", "remainder", "fmod", "floordiv", "rfloordiv", "mod", "rmod", "divide", "div")
_EMBEDDINGS = ("aten.embedding.default", "torch.embedding")
_FUNCTIONAL = "torch.nn.functional.embedding"


def checked(
    function: Callable[..., Any], checks: Sequence[tuple[int, int]], *, within: bool = False,
    floating: Sequence[int] = (),
) -> Callable[..., Any]:  # fmt: skip
    """The function with checks of its inputs, or itself where it has none.

    Args:
        function: of tensors.
        checks: of `index_checks`.
        within: whether its last output says whether the numbers that it computed were within their bounds.
        floating: the inputs that must be finite.
    """
    if not checks and not within and not floating:
        return function

    def call(*values: Any) -> Any:
        for index in floating:
            require_finite(values[index])
        for index, rows in checks:
            if not values[index].is_cpu:
                _require_within(values[index], rows)
                continue
            array = values[index].numpy()
            # A negative number is a large one without its sign.
            if array.size and int(array.view(f"u{array.itemsize}").max()) >= rows:
                raise LeftToTorch("an index is out of range")
        found = function(*values)
        return all_within(found) if within else found

    return call


def _require_within(index: torch.Tensor, rows: int) -> None:
    """Checks an index on a card: one out of range ends the use of the card by this process.

    Raises:
        LeftToTorch: it is out of range.
    """
    if bool(((index < 0) | (index >= rows)).any()):
        raise LeftToTorch("an index is out of range")


def all_within(found: Sequence[Any]) -> Sequence[Any]:
    """The outputs but for the last, which says whether all indices were within their tensors.

    Raises:
        LeftToTorch: one was not.
    """
    if not found[-1]:
        raise LeftToTorch("an index, an integer or a mask is out of range, or a NaN came up")
    return found[:-1]


def index_checks(graph: Graph) -> list[tuple[int, int]]:
    """For each input that selects rows of a weight: its number, and the number of rows."""
    found: dict[int, int] = {}
    _collect(graph, {id(value): index for index, value in enumerate(graph.inputs)}, found)
    return sorted(found.items())


def _collect(graph: Graph, known: dict[int, int], found: dict[int, int]) -> None:
    for node in graph.nodes:
        if isinstance(node.target, BodyCall):
            body = node.target.body.graph
            given = zip(body.inputs, leaves(node.args), strict=False)
            _collect(body, {id(inner): known[id(outer)] for inner, outer in given if id(outer) in known}, found)
            continue
        pair = _selection(node)
        if pair is not None and id(pair[1]) in known:
            table, index = pair
            number = known[id(index)]
            found[number] = min(found.get(number, int(table.tensor.shape[0])), int(table.tensor.shape[0]))


def _selection(node: Node) -> tuple[Constant, Value] | None:
    """The table and the indices of a node that selects rows."""
    match node:
        case Node(Operator(name), (Constant() as table, Value() as index, *_)) if name in _EMBEDDINGS:
            return table, index
        case Node(Operator(name), (Value() as index, Constant() as table, *_)) if name == _FUNCTIONAL:
            return table, index
    return None


class DataChecks(TorchFunctionMode):
    """Finds, while a region runs to be exported, which indices it computes, and refuses divisions of integers.

    Args:
        known: inputs of the region that `index_checks` covers, and the least number of rows.
        in_32_bits: whether integers must fit into 32 bits, too.
        constants: ranges of what the region holds.
        infinite: whether it holds an infinity.

    Attributes:
        within: for each thing to check whether it holds, as tensors.
    """

    def __init__(
        self, known: Sequence[tuple[torch.Tensor, int]], in_32_bits: bool = False,
        constants: Sequence[Range] = (), infinite: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.known, self.in_32_bits, self.ranges = known, in_32_bits, KnownRanges(constants)
        self.within: list[torch.Tensor] = []
        self._ranged: list[tuple[torch.Tensor, Ends, Any]] = []  # checks of indices that sizes may decide
        self._counted: list[tuple[torch.Tensor, Ends]] = []  # of integers, too
        self.masks: list[torch.Tensor] = []  # of attention, that are checked
        self.finite, self.small, self.ties = FiniteChecks(infinite), SmallNumbers(), TieChecks()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Notes the indices of a function, and runs it.

        Raises:
            Unfit: torch alone is to run it.
        """
        given = kwargs or {}
        name = plain_name(func)
        self._refuse(func, name, args, given)
        if name == "one_hot":
            self._note(_argument(args, given, 0, _NAMES["table"]), _argument(args, given, 1, ("num_classes",)))
        elif name in _INDEXED:
            table, dim, index = self._indexed(func, name, args, given)
            self._note(index, table.numel() if dim is None else table.shape[dim] if table.dim() else 1)
        elif name == "binary_cross_entropy":
            for shares in (_argument(args, given, 0, _NAMES["table"]), _argument(args, given, 1, ("target",))):
                self.within.append(((shares >= 0) & (shares <= 1)).all())
        elif name == "take":
            self._note_from_either_end(args[1], args[0].numel())
        elif name in _BY_TENSORS:
            if self.in_32_bits and name == "setitem" and any(True for _ in _places(args[0], args[1], True)):
                raise Unfit("it writes at indices of the data")
            for index, rows in _places(args[0], args[1], name.endswith("item")):
                self._note_from_either_end(index, rows)
        elif name == "scaled_dot_product_attention":
            mask = _argument(args, given, 3, ("attn_mask",))
            # Of a row that attends to nothing, an export makes another mean than torch; many layers share one mask.
            if mask is not None and not any(mask is each for each in self.masks):
                self.masks.append(mask)
                self.within.append((mask if mask.dtype == torch.bool else mask > -torch.inf).any(-1).all())
        if reason := computed_otherwise(name, args, given):
            raise Unfit(f"{reason}, which other runtimes do otherwise")
        numbers = [each for each in (*args, *given.values()) if is_large(each)]
        # The end of a slice that has none is the largest integer, with which nothing is computed.
        if self.in_32_bits and any(name != "slice" or each != sys.maxsize for each in numbers):
            raise Unfit("it computes with integers beyond 2**24, which OpenVINO rounds")
        if self.in_32_bits and name in SHIFTS:
            raise Unfit("it shifts integers of 32 bits")
        if not (self.in_32_bits or is_watched(name)):
            return self._made(func, name, args, given, func(*args, **given))
        before = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]  # it may write to them
        found = self._made(func, name, args, given, func(*args, **given))
        self.within += within_floats(func, name, before, given, found)
        if self.in_32_bits:
            ends = self.ranges.of(found)
            checks = within_float32(func, name, before, given, found)
            if ends is None:
                self.within += checks
            else:
                self._counted += [(check, ends) for check in checks]
        return found

    def _refuse(self, func: Any, name: str, args: Sequence[Any], given: Any) -> None:
        """Refuses a function whose data torch alone checks.

        Raises:
            Unfit: it is one.
        """
        if name.startswith(_LEFT_TO_TORCH):
            raise Unfit(f"torch checks the indices of {name}")
        if name in _CHECKED and any(isinstance(each, torch.Tensor) for each in (*args[1:], *given.values())):
            raise Unfit(f"torch checks {_CHECKED[name]}")
        if name in _DIVISIONS and _divides_integers(name, args, given):
            raise Unfit("it divides integers by numbers of the data, which torch refuses where they are zero")
        if name in _PUTTING and _fills_chosen(args):
            raise Unfit("torch checks whether there are as many numbers as a mask chooses")
        if self.in_32_bits and name in ("sort", "argsort"):
            raise Unfit("it sorts, and OpenVINO gives equal numbers in another order")
        if self.in_32_bits and name.startswith(_WRITING):
            raise Unfit("it writes at indices of the data")  # OpenVINO does so before the check, wherever they point
        if self.in_32_bits and self._reads_anywhere(func, name, args, given):
            raise Unfit("it reads at indices of the data")  # OpenVINO does so before the check, and the process ends

    def _made(self, func: Any, name: str, args: Sequence[Any], given: Any, found: Any) -> Any:
        self.ranges.note(str(getattr(func, "__name__", "")), name, args, given, found)
        if reason := unlisted(func, name, found):
            raise Unfit(reason)
        self.within += self.finite.of(name, args, given, found)
        self.within += self.small.of(name, args, given, found)
        self.within += self.ties.of(name, args, given, found)
        return found

    def _reads_anywhere(self, func: Any, name: str, args: Sequence[Any], given: Any) -> bool:
        """Whether a function reads at indices that data decides, by an operator that does not look where they point."""
        if name in ("gather", "take_along_dim"):
            indices = [self._indexed(func, name, args, given)[2]]
        elif name == "take":
            indices = [_argument(args, given, 1, _NAMES["index"])]
        elif name in _BY_TENSORS:
            indices = [index for index, _ in _places(args[0], args[1], name.endswith("item"))]
        else:
            return False
        return any(self.ranges.of(index) is None for index in indices)

    def _indexed(self, func: Any, name: str, args: Sequence[Any], given: Any) -> tuple[Any, int | None, Any]:
        places = _INDEXED[name]
        if func is torch.nn.functional.embedding:
            index, table = _argument(args, given, 0, ("input",)), _argument(args, given, 1, ("weight",))
            return table, 0, index
        table = _argument(args, given, places[0], _NAMES["table"])
        dim = 0 if places[1] is None else _argument(args, given, places[1], _NAMES["dim"])
        return table, dim, _argument(args, given, places[2], _NAMES["index"])

    def _note(self, index: Any, rows: Any) -> None:
        if any(index is value and isinstance(rows, int) and least <= rows for value, least in self.known):
            return
        self._add(index, rows, 0)

    def _note_from_either_end(self, index: Any, rows: Any) -> None:
        self._add(index, rows, -rows)

    def _add(self, index: Any, rows: Any, least: Any) -> None:
        ends = self.ranges.of(index)
        if ends is None:
            self.within.append(((index >= least) & (index < rows)).all())
            return
        below = index < rows
        check = below if type(ends[0]) is int and ends[0] >= 0 else (index >= least) & below
        self._ranged.append((check.all(), ends, rows))

    def all_hold(self) -> torch.Tensor | None:
        """Whether all checks hold, but for those that the sizes decide, once an export knows which are equal."""
        checks = [*self.within, *(check for check, ends, rows in self._ranged if not is_within(ends, rows))]
        checks += [check for check, ends in self._counted if not is_small(ends, LARGEST, MOST_SIZE)]
        return reduce(torch.logical_and, checks) if checks else None


def _places(table: torch.Tensor, key: Any, of_python: bool) -> Iterator[tuple[torch.Tensor, Any]]:
    """The integers among the indices of a tensor, each with the size of its dimension.

    Args:
        table: the tensor.
        key: what is in the brackets, or the list that the operator takes.
        of_python: whether it is what is in the brackets, where None is a new dimension.
    """
    items = list(key) if isinstance(key, tuple | list) else [key]
    dim = 0
    for place, item in enumerate(items):
        if item is Ellipsis:
            dim = table.dim() - sum(_taken(other, of_python) for other in items[place + 1 :])
            continue
        if isinstance(item, torch.Tensor) and item.dtype not in (torch.bool, torch.uint8):
            yield item, table.shape[dim]
        dim += _taken(item, of_python)


def _fills_chosen(args: Sequence[Any]) -> bool:
    """Whether a function writes a list of numbers to where a mask is true."""
    keys = args[1] if isinstance(args[1], tuple | list) else [args[1]]
    masks = any(isinstance(key, torch.Tensor) and key.dtype in (torch.bool, torch.uint8) for key in keys)
    return masks and len(args) > 2 and isinstance(args[2], torch.Tensor) and args[2].dim() > 0


def _taken(item: Any, of_python: bool) -> int:
    """How many dimensions an index takes."""
    if isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8):
        return item.dim()
    return 0 if (item is None and of_python) or type(item) is bool else 1


def _argument(args: Sequence[Any], given: Any, place: int, names: Sequence[str]) -> Any:
    if place < len(args):
        return args[place]
    return next((given[name] for name in names if name in given), None)


def _divides_integers(name: str, args: Sequence[Any], given: Any) -> bool:
    """Whether a division is of integers, with a divisor that data decides, or that may be too much for a processor."""
    if name in ("div", "divide") and given.get("rounding_mode") is None and not any(type(arg) is str for arg in args):
        return False  # true division, of floating numbers
    upper, lower = _argument(args, given, 0, _NAMES["table"]), _argument(args, given, 1, ("other",))
    upper, lower = (lower, upper) if name in ("rfloordiv", "rmod") else (upper, lower)
    tensors = [value for value in (upper, lower) if isinstance(value, torch.Tensor)]
    if any(value.is_floating_point() for value in tensors) or any(type(value) is float for value in (upper, lower)):
        return False
    return isinstance(lower, torch.Tensor) or lower in (0, -1)
