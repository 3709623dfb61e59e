"""What a call hands over: objects of the caller's, which may raise anything when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch

from ...ops.graph.errors import SignatureError, TracepackError
from ...ops.runtime.interrupts.alarm import is_of_handler


class Looking:
    """A block that looks at what was handed over: what an object raises there is an error in the inputs.

    Args:
        where: what the error names.
        explains: whether it is one; torch ends what it traces by exceptions of its own.
    """

    __slots__ = ("explains", "where")

    def __init__(self, where: str, explains: bool = True) -> None:
        self.where, self.explains = where, explains

    def __enter__(self) -> None:
        """Begins to look."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        """Explains what was raised."""
        if not isinstance(error, Exception) or not self.explains:
            return
        if isinstance(error, TracepackError) or is_of_handler(error) or torch._C._is_tracing():
            return
        raise SignatureError(
            "an input cannot be looked at",
            where=self.where,
            got=f"an object that raises {type(error).__name__}",
            expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
        ) from error


def at_home(value: Any, device: torch.device) -> Any:
    """An input on the device that it must be on.

    Raises:
        SignatureError: it is a meta tensor, which has no memory to move.
    """
    if isinstance(value, torch.Tensor) and value.is_meta and device.type != "meta":
        raise SignatureError("not a plain tensor", got="a meta tensor", expected=f"a tensor on {device}")
    return value.to(device) if isinstance(value, torch.Tensor) and value.device != device else value


def give_back(given: Sequence[Any], used: Sequence[Any]) -> None:
    """Copies what a run wrote into moved inputs back into the caller's tensors."""
    for mine, copy in zip(given, used, strict=True):
        if copy is not mine and isinstance(copy, torch.Tensor) and (copy.is_inference() or copy._version):
            mine.copy_(copy)


_OF_NO_ITEM = frozenset(
    "__new__ __init__ __repr__ __doc__ __class_getitem__ __getnewargs__ __sizeof__ __hash__ __module__".split()
)


def is_sequence(value: Any, kinds: Any, where: str) -> bool:
    """Whether a value is of some of the kinds `list` and `tuple`, whose items alone a pipeline takes.

    Raises:
        SignatureError: it is of a subclass with other methods, which the function would call.
    """
    kind = type(value)
    if kind not in (list, tuple, torch.Size) and isinstance(value, list | tuple):
        own = {name for base in kind.__mro__ if base not in (list, tuple, object) for name in vars(base)}
        if own & (vars(list).keys() | vars(tuple).keys()) - _OF_NO_ITEM:
            plain = "list" if isinstance(value, list) else "tuple"
            raise SignatureError(
                f"the {plain} is of a subclass that overrides its methods",
                where=f"input {where!r}", got=kind.__name__, expected=plain, fix=f"Pass {plain}(value).",
            )  # fmt: skip
    return isinstance(value, kinds)
