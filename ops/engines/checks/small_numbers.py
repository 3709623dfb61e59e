"""Small numbers that a runtime computes with few digits, and functions that show it.

ONNX Runtime computes a sigmoid within 1e-7, and gives 0 for one below 1e-8; OpenVINO does so with `softplus`, which
comes out negative there. In a network nothing tells, but the logarithm of such a number is another one, or infinite,
and so is a quotient by it. Of equal numbers torch finds the deviation 0, and runtimes one by rounding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

_ROUGH = frozenset("sigmoid expit silu glu softplus mish erf elu celu selu std var std_mean var_mean".split())
EXACT_AGAIN = frozenset(
    "softmax log_softmax exp exp2 linear addmm mm bmm matmul rmatmul baddbmm einsum conv1d conv2d conv3d layer_norm "
    "group_norm batch_norm instance_norm rms_norm scaled_dot_product_attention embedding lstm gru".split()
)  # give numbers whose digits do not hang on those of a small one
_OF_BOTH = ("logit", "binary_cross_entropy")  # take the logarithm of what is left to one, too
_LOGARITHMS = ("log", "log2", "log10", "log1p", "xlogy", "entr", *_OF_BOTH)
_DIVIDING = {
    "div": 1,
    "divide": 1,
    "true_divide": 1,
    "truediv": 1,
    "rtruediv": 0,
    "rdiv": 0,
    "reciprocal": 0,
    "rsqrt": 0,
}
SMALLEST = 1e-3  # of which 1e-7 is a ten thousandth


class Followed:
    """Tensors that come from some functions by elementary ones.

    Args:
        sources: the names of the functions; besides them what `follow` is given.
    """

    def __init__(self, sources: Collection[str] = ()) -> None:
        self._sources = sources
        self._known: dict[int, Any] = {}  # held, so that no other tensor has their ids

    def among(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> list[Any]:
        """Those that a function is given; what it makes of them is one, too."""
        taken = [value for value in pytree.tree_leaves([list(args), dict(given)]) if id(value) in self._known]
        if name in self._sources or (taken and name not in EXACT_AGAIN):
            self.follow(found)
        return taken

    def follow(self, found: Any) -> None:
        """Follows the tensors that a function made, as those of the sources."""
        made = [value for value in pytree.tree_leaves(found) if isinstance(value, torch.Tensor)]
        self._known |= {id(value): value for value in made if value.is_floating_point()}


class SmallNumbers:
    """Follows, while a region runs to be exported, numbers that come from such a function by elementary ones."""

    def __init__(self) -> None:
        self._rough = Followed(_ROUGH)

    def of(self, name: str, args: Sequence[Any], given: Mapping[str, Any], found: Any) -> Iterator[torch.Tensor]:
        """Whether no number is small of which a function shows the digits, as tensors."""
        name = name.removeprefix("special_")
        rough = self._rough.among(name, args, given, found)
        shown = args[_DIVIDING[name] :][:1] if name in _DIVIDING else rough if name in _LOGARITHMS else ()
        shown = [value for value in shown if any(value is each for each in rough)]
        yield from ((value.abs() >= SMALLEST).all() for value in shown)
        if name in _OF_BOTH:
            yield from ((1 - value >= SMALLEST).all() for value in shown)
