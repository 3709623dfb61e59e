"""Steps on numbers that torch computes exactly, and runtimes but for rounding: whole numbers, and what is compared.

ONNX has the natural logarithm alone: of 32768, what stands for `log2` gives 14.999999, and `floor` 14. OpenVINO divides
by a constant by way of its rounded reciprocal, so 51 / 255 is below 0.2 there, and takes means so. Torch computes
`arange(0, 1, 0.1)` in float64 and `linspace` from both ends, and runtimes in float32 from the first: 0.7 is below the
one that is 0.7. What such numbers give alone hangs on sizes, at each of which an engine is compared. Of the pixels of
an image that is resized by 1.5 one in twenty is a half, which runtimes round to the other side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ...graph.graph import BodyCall, Graph, Node, Operator
from ...graph.traverse import leaves, uses
from ...graph.types import TensorType
from .left_to_torch import Unfit
from .small_numbers import EXACT_AGAIN, Followed

_LOGARITHMS = ("log2", "log10")
_WHOLE = ("floor", "ceil", "trunc", "fix", "frac", "to", "to_copy", "long", "int", "short", "char", "byte", "type")
COMPARED = frozenset(
    "eq ne lt le gt ge equal not_equal less less_equal greater greater_equal heaviside sign sgn bool".split()
)
_MEANS = frozenset(
    "upsample_linear1d upsample_bilinear upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d".split()
)
_QUOTIENTS = frozenset(
    "div divide true_divide truediv rtruediv rdiv itruediv reciprocal mean nanmean avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d".split()
)
_CLOSE = 1e-6


class StepChecks:
    """Follows, while a region runs to be exported, numbers that come from such functions by elementary ones."""

    def __init__(self) -> None:
        self._logarithms = Followed(_LOGARITHMS)
        self._resized = Followed()
        self._spaced, self._met = Followed(), Followed()  # numbers from `linspace`, and what they and data make

    def of(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
        """Whether no step falls beside such a number but for rounding, as tensors.

        Raises:
            Unfit: one falls beside numbers of `linspace` and data, or bytes are resized.
        """
        self._refuse_spaced(name, args, given, found)
        if _resizes(name, args, given):
            if not found.is_floating_point():
                raise Unfit("it resizes bytes, of which other runtimes cut what torch rounds")
            self._resized.follow(found)
        for followed, exact in ((self._logarithms, True), (self._resized, False)):
            taken = followed.among(name, args, given, found)
            if taken and isinstance(found, torch.Tensor):
                yield from (_apart(*pair, exact) for pair in _differences(name, args, given, found, taken[0]))

    def _refuse_spaced(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> None:
        if name == "linspace" or (name == "arange" and any(map(_is_broken, (*args, *given.values())))):
            self._spaced.follow(found)
        spaced = self._spaced.among(name, args, given, found)
        met = bool(self._met.among(name, args, given, found))
        if spaced and any(isinstance(arg, torch.Tensor) and not any(arg is each for each in spaced) for arg in args):
            self._met.follow(found)
            met = True
        if met and (name in COMPARED or name == "round" or _is_whole(name, found)):
            raise Unfit(f"`{name}` of data and numbers of `linspace` or `arange`, which other runtimes round otherwise")


def _is_broken(value: Any) -> bool:
    """Whether a number need not be whole."""
    return isinstance(value, torch.SymFloat) or (type(value) is float and not value.is_integer())


def _is_whole(name: str, found: Any) -> bool:
    """Whether a function makes whole numbers of others."""
    return name in _WHOLE and not (name in ("to", "to_copy", "type") and found.is_floating_point())


def _resizes(name: str, args: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Whether a function makes means of pixels."""
    mode = args[3] if len(args) > 3 else given.get("mode", "nearest")
    return name in _MEANS or (name in ("interpolate", "upsample") and "nearest" not in mode)


def _differences(
    name: str, args: Sequence[Any], given: Mapping[str, Any], found: torch.Tensor, values: torch.Tensor
) -> Iterator[tuple[Any, torch.Tensor]]:
    """How far numbers are from where a step of a function falls, and the numbers."""
    if name in COMPARED:
        first, second = (*args, *given.values(), 0)[:2]
        yield first - second, values
    elif name == "round":
        scaled = values * 10.0 ** given.get("decimals", 0)
        yield scaled + 0.5 - (scaled + 0.5).round(), scaled
    elif _is_whole(name, found):
        yield values - values.round(), values


def _apart(difference: Any, values: torch.Tensor, exact: bool) -> torch.Tensor:
    """Whether no difference is rounding.

    Args:
        difference: how far numbers are from where a step falls.
        values: the numbers.
        exact: whether 0 is no rounding, as where numbers were clamped.
    """
    apart = abs(difference) > _CLOSE * (1 + values.abs())
    found: torch.Tensor = (((difference == 0) | apart) if exact else apart).all()
    return found


def compares_quotients(graph: Graph, quotients: set[int] | None = None) -> bool:
    """Whether a region compares numbers that come from quotients, or from means, by elementary functions.

    Args:
        graph: the region.
        quotients: the ids of values that come from them, to which those of the graph are added.
    """
    known = set() if quotients is None else quotients
    for node in graph.nodes:
        taken = any(id(leaf) in known for leaf in uses(node))
        names = names_of(node)
        if isinstance(node.target, BodyCall):
            body = node.target.body.graph
            pairs = zip(body.inputs, leaves(node.args), strict=False)
            known |= {id(inner) for inner, outer in pairs if id(outer) in known}
            if compares_quotients(body, known):
                return True
            made = zip(leaves(node.output), leaves(body.output), strict=False)
            known |= {id(outer) for outer, inner in made if id(inner) in known}
        elif taken and names & COMPARED:
            return True
        elif (names & _QUOTIENTS and not _halves(node)) or (taken and not names & EXACT_AGAIN):
            known |= {id(leaf) for leaf in leaves(node.output) if _is_floating(leaf)}
    return False


def names_of(node: Node) -> set[str]:
    """The parts of an operator's name, without what makes it a method or writes in place; of other nodes none."""
    return (
        {part.strip("_") for part in str(node.target.name).split(".")} if isinstance(node.target, Operator) else set()
    )


def _halves(node: Node) -> bool:
    """Whether it divides by a power of two, of which the reciprocal is exact."""
    divisor: Any = node.args[1] if len(node.args) > 1 else None
    return type(divisor) in (int, float) and abs(math.frexp(divisor)[0]) == 0.5


def _is_floating(value: Any) -> bool:
    kind = getattr(value, "type", None)
    return isinstance(kind, TensorType) and kind.dtype.startswith("float")
