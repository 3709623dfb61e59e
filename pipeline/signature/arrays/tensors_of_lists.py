"""What `torch.tensor` makes of a list of ints or truths where the call names no dtype: floats, where the list is empty.

No type of a graph says that: an archive has "any" there. The kinds of the items tell which dtypes there are. No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....ops.graph.graph import Literal, Node
from ....ops.graph.types import BOOL, INT, Dim, ListType, TensorType

MAKERS = ("torch.tensor", "torch.as_tensor")
_SAME_DTYPE = frozenset(
    f"torch.{owner}{name}"
    for owner in ("", "Tensor.")
    for name in "add sub rsub mul neg abs clamp clone contiguous detach flip cumsum".split()
)
"""Operators whose result has the dtype of a tensor of ints or floats, beside a whole number, and its sizes."""
_DEEPEST = 8


@dataclass(frozen=True)
class UnsureTensor:
    """A tensor whose dtype or rank hangs on whether a list is empty.

    Attributes:
        types: what it may be: first that of a list with items.
    """

    types: tuple[TensorType, ...]

    kind = "tensor"

    @property
    def dtype(self) -> str | None:
        """The dtype that it has in any case, if there is one."""
        dtypes = {each.dtype for each in self.types}
        return self.types[0].dtype if len(dtypes) == 1 else None

    @property
    def shape(self) -> tuple[Dim, ...] | None:
        """Its sizes, ``"?"`` where they differ; None where the number of dimensions does."""
        shapes = [each.shape for each in self.types]
        if len({*map(len, shapes)}) > 1:
            return None
        return tuple(size if {*sizes} == {size} else "?" for size, *sizes in zip(*shapes, strict=True))

    def __str__(self) -> str:
        return " or ".join(map(str, self.types))


def tensor_of_list(kind: Any, node: Node) -> UnsureTensor | TensorType | None:
    """What a maker of tensors gives for a list of some kind; None where that is not known.

    Args:
        kind: of the list: a `ListType`, with tuples in it for lists of as many items as the code says.
        node: the call.
    """
    dtype = node.kwargs.get("dtype")
    sizes, item = _taken_apart(kind)
    named = dtype.name if isinstance(dtype, Literal) else None
    if item not in (INT, BOOL) or "?" not in sizes or (dtype is not None and named is None):
        return None
    full = TensorType(named or ("int64" if item == INT else "bool"), sizes)
    short = [
        TensorType(named or "float32", (*sizes[:depth], 0)) for depth, size in enumerate(sizes) if size == "?"
    ]  # lists in a list may be empty as well as that itself
    return full if named and len(sizes) == 1 else UnsureTensor((full, *short))


def _taken_apart(kind: Any) -> tuple[tuple[Dim, ...], Any]:
    """The sizes of nested lists, and the kind of what is in them."""
    sizes: list[Dim] = []
    while len(sizes) < _DEEPEST:
        if isinstance(kind, ListType):
            sizes.append("?")
            kind = kind.item
        elif type(kind) is tuple and kind and all(each == kind[0] for each in kind):
            sizes.append(len(kind))
            kind = kind[0]
        else:
            break
    return tuple(sizes), kind


def after(name: str, args: Sequence[Any]) -> UnsureTensor | None:
    """What an operator gives of one such tensor and whole numbers, where it keeps dtype and sizes.

    Args:
        name: of the operator.
        args: the kinds of its arguments, those by keyword too.
    """
    tensors = [each for each in args if isinstance(each, UnsureTensor)]
    whole = all(each == INT for each in args if not isinstance(each, UnsureTensor))
    if name not in _SAME_DTYPE or len(tensors) != 1 or not whole or tensors[0].types[0].dtype == "bool":
        return None
    return tensors[0]
