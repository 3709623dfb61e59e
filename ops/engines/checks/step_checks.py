"""Steps on numbers that torch computes exactly, and runtimes but for rounding: whole numbers, and what is compared.

ONNX has the natural logarithm alone: of 32768, what stands for `log2` gives 14.999999, and `floor` 14. OpenVINO divides
by a constant by way of its rounded reciprocal, so 51 / 255 is below 0.2 there, and takes means so. Torch computes
`arange(0, 1, 0.1)` in float64 and `linspace` from both ends, and runtimes in float32 from the first: 0.7 is below the
one that is 0.7. What such numbers give alone hangs on sizes, at each of which an engine is compared.
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
_COMPARED = frozenset(
    "eq ne lt le gt ge equal not_equal less less_equal greater greater_equal heaviside sign sgn bool".split()
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
        self._spaced, self._met = Followed(), Followed()  # numbers from `linspace`, and what they and data make

    def of(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
        """Whether no step falls beside such a logarithm but for rounding, as tensors.

        Raises:
            Unfit: one falls beside numbers of `linspace` and data.
        """
        self._refuse_spaced(name, args, given, found)
        taken = self._logarithms.among(name, args, given, found)
        if not taken or not isinstance(found, torch.Tensor):
            return
        if name in _COMPARED:
            first, second = (*args, *given.values(), 0)[:2]
            yield _apart(first - second, taken[0])
        elif name == "round":
            yield _apart(taken[0] + 0.5 - (taken[0] + 0.5).round(), taken[0])
        elif _is_whole(name, found):
            yield _apart(taken[0] - taken[0].round(), taken[0])

    def _refuse_spaced(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> None:
        if name == "linspace" or (name == "arange" and any(map(_is_broken, (*args, *given.values())))):
            self._spaced.follow(found)
        spaced = self._spaced.among(name, args, given, found)
        met = bool(self._met.among(name, args, given, found))
        if spaced and any(isinstance(arg, torch.Tensor) and not any(arg is each for each in spaced) for arg in args):
            self._met.follow(found)
            met = True
        if met and (name in _COMPARED or name == "round" or _is_whole(name, found)):
            raise Unfit(f"`{name}` of data and numbers of `linspace` or `arange`, which other runtimes round otherwise")


def _is_broken(value: Any) -> bool:
    """Whether a number need not be whole."""
    return isinstance(value, torch.SymFloat) or (type(value) is float and not value.is_integer())


def _is_whole(name: str, found: Any) -> bool:
    """Whether a function makes whole numbers of others."""
    return name in _WHOLE and not (name in ("to", "to_copy", "type") and found.is_floating_point())


def _apart(difference: Any, values: torch.Tensor) -> torch.Tensor:
    """Whether no difference is rounding; 0 is none, as where numbers were clamped."""
    found: torch.Tensor = ((difference == 0) | (abs(difference) > _CLOSE * (1 + values.abs()))).all()
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
        names = _names(node)
        if isinstance(node.target, BodyCall):
            body = node.target.body.graph
            pairs = zip(body.inputs, leaves(node.args), strict=False)
            known |= {id(inner) for inner, outer in pairs if id(outer) in known}
            if compares_quotients(body, known):
                return True
            made = zip(leaves(node.output), leaves(body.output), strict=False)
            known |= {id(outer) for outer, inner in made if id(inner) in known}
        elif taken and names & _COMPARED:
            return True
        elif (names & _QUOTIENTS and not _halves(node)) or (taken and not names & EXACT_AGAIN):
            known |= {id(leaf) for leaf in leaves(node.output) if _is_floating(leaf)}
    return False


def _names(node: Node) -> set[str]:
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
