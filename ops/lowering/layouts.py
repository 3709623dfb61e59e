"""How tensors lie in memory: the layouts that an example is tried in, and what a model asks about them.

A model may ask a tensor for its strides, and an export answers with those of the example. So body and model are
compared in other layouts: in a few always, in more where the model asks. What no guard can say of an input is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..graph.errors import LoweringError
from ..graph.graph import SourceLine
from ..runtime.user_code import is_asked_by_user, user_line

Layout = Callable[[torch.Tensor], torch.Tensor]

_T: Any = torch.Tensor
_OF_STRIDES = (_T.is_contiguous, _T.stride, _T.dim_order)
_COPYING = (
    _T.contiguous,
    _T.to,
    _T.clone,
)  # only where one is needed: those of a format, since others are tried always
_UNSEEN = {
    _T._is_view: "whether a tensor is a view",
    _T._base.__get__: "whether a tensor is a view",
    _T.storage_offset: "where a tensor begins in its memory",
    _T.data_ptr: "where a tensor lies in memory",
    _T.untyped_storage: "the memory of a tensor",
    _T.is_shared: "whether a tensor's memory is shared",
    _T.is_inference: "whether a tensor was made for inference",
    _T._version.__get__: "the version of a tensor",
    **dict.fromkeys((_T.is_neg, torch.is_neg), "whether a tensor is a negative view"),
    **dict.fromkeys((_T.is_conj, torch.is_conj), "whether a tensor is a conjugate view"),
}


class LayoutQuestions(TorchFunctionMode):
    """While it is entered, hears what a model asks about the memory of tensors.

    Attributes:
        strides: whether it asks for strides, contiguity, or a copy only where one is needed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.strides = False
        self._unseen: tuple[str, SourceLine | None] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every torch function."""
        if func in _OF_STRIDES or (func in _COPYING and _names_format(args, kwargs)):
            self.strides = True
        elif func in _UNSEEN and self._unseen is None and _is_of_a_run(args) and _is_asked(func):
            self._unseen = _UNSEEN[func], user_line()
        return func(*args, **(kwargs or {}))

    def refuse(self, name: str) -> None:
        """Refuses a model that asked for what no guard can say.

        Args:
            name: of the op.

        Raises:
            LoweringError: it did; the message has the line.
        """
        if self._unseen is not None:
            what, line = self._unseen
            raise LoweringError(
                f"the model asks {what}, which no graph holds",
                where=f"op {name!r}, {line}" if line else f"op {name!r}",
                fix="Decide on sizes, dtypes or an input.",
            )


def _is_asked(func: Any) -> bool:
    return func is _T.is_shared or is_asked_by_user()  # which is torch's own Python


def _names_format(args: Sequence[Any], kwargs: Any) -> bool:
    return "memory_format" in (kwargs or ()) or any(isinstance(arg, torch.memory_format) for arg in args)


def _is_of_a_run(args: Sequence[Any]) -> bool:
    """Whether a question is about a tensor of the run: those that a model holds are the same ones in every run."""
    return bool(args) and isinstance(args[0], torch.Tensor) and not isinstance(args[0], torch.nn.Parameter)


# -- layouts ---------------------------------------------------------------------------------------------------


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in memory with reversed dimensions."""
    return in_order(tensor, range(tensor.dim() - 1, -1, -1))


def spread(tensor: torch.Tensor) -> torch.Tensor:
    """The same values with gaps between them in memory."""
    return torch.stack([tensor, tensor], -1)[..., 0]


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    """The same values with the second dimension innermost in memory, where there are three and more."""
    dims = range(tensor.dim())
    return in_order(tensor, (dims[0], *dims[2:], dims[1])) if len(dims) > 2 else tensor


def repeated(tensor: torch.Tensor) -> torch.Tensor:
    """The first row, which all others share."""
    return tensor[:1].expand(tensor.shape) if tensor.dim() and tensor.shape[0] else tensor


def swapped(at: int) -> Layout:
    """The layout in which two dimensions have changed their places in memory."""

    def layout(tensor: torch.Tensor) -> torch.Tensor:
        order = list(range(tensor.dim()))
        order[at : at + 2] = reversed(order[at : at + 2])
        return in_order(tensor, order)

    return layout


def in_order(tensor: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """The same values in memory with the dimensions in an order."""
    back = sorted(range(len(order)), key=lambda at: order[at])
    return tensor.permute(*order).contiguous().permute(*back) if len(order) > 1 else tensor


ALWAYS: tuple[Layout, ...] = (transposed, spread, torch.Tensor.contiguous)
"""The layouts that every example is tried in."""


def where_asked(tensors: Sequence[Any]) -> Iterator[Layout]:
    """The layouts that an example is tried in besides, where the model asks for strides."""
    yield channels_last
    yield repeated
    most = max((tensor.dim() for tensor in tensors if isinstance(tensor, torch.Tensor)), default=0)
    for at in range(most - 1):
        yield swapped(at)


def laid_out(tensors: Sequence[Any], layout: Layout) -> list[Any]:
    """An example with each tensor in a layout."""
    return [layout(tensor) if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]
