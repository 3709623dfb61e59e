"""What torch.export puts in place of tensors and sizes, as a model sees them: of the types of a plain run.

`type(x)` and `isinstance(x, FakeTensor)` ask the object itself, so a function that asks gets a `type` and an
`isinstance` of its own (see `lending`), and a `hasattr` and `getattr` that know no `fake_mode`: torch's C++ reads such
attributes in the frame of the model. For `x.__class__`, with which Python answers `isinstance(n, int)` and
`case int():`, the classes of the stand-ins answer.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import UnionType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from ..lock import Patch
from .askers import is_answered_plainly

_SIZES: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
_TENSORS: tuple[type, ...] = (FakeTensor, FunctionalTensor)
_STAND_INS: frozenset[type] = frozenset((*_SIZES, *_TENSORS))
_HIDDEN: dict[type, frozenset[str]] = {
    FakeTensor: frozenset(("fake_mode", "fake_device", "constant", "real_tensor", "item_memo", "nonzero_memo")),
    FunctionalTensor: frozenset(("elem",)),
    **dict.fromkeys(_SIZES, frozenset(("node",))),
}


def plain_type(thing: Any) -> type:
    """The type that an object has in a plain run."""
    kind = builtins.type(thing)
    if kind not in _STAND_INS:
        return kind
    if kind in _SIZES:
        return _SIZES[kind]
    return torch.nn.Parameter if getattr(thing, "_is_param", False) else torch.Tensor


class _Type:
    """`type`, for which a stand-in has the type of a plain run."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return plain_type(args[0]) if len(args) == 1 and not kwargs else builtins.type(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(builtins.type, name)

    def __instancecheck__(self, thing: Any) -> bool:
        return isinstance(thing, builtins.type)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, builtins.type)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (builtins.type,)

    def __eq__(self, other: object) -> bool:
        return other is self or other is builtins.type

    def __hash__(self) -> int:
        return hash(builtins.type)

    def __or__(self, other: Any) -> Any:
        return builtins.type | other

    def __getitem__(self, kinds: Any) -> Any:
        return builtins.type[kinds]


def _isinstance(thing: Any, kinds: Any) -> bool:
    if builtins.type(thing) not in _STAND_INS:
        return isinstance(thing, kinds)
    return any(_is_a(thing, kind) for kind in _single(kinds))


def _single(kinds: Any) -> list[Any]:
    if builtins.isinstance(kinds, tuple):
        return [kind for each in kinds for kind in _single(each)]
    return list(kinds.__args__) if builtins.isinstance(kinds, UnionType) else [kinds]


def _is_a(thing: Any, kind: Any) -> bool:
    if kind in _SIZES:
        return False
    if kind in _TENSORS and is_answered_plainly(sys._getframe(2), f"isinstance(…, {kind.__name__})"):
        return False
    return isinstance(thing, kind)


def _is_hidden(thing: Any, name: Any) -> bool:
    return builtins.type(thing) in _STAND_INS and name in _HIDDEN[builtins.type(thing)]


def _hasattr(thing: Any, name: str) -> bool:
    return hasattr(thing, name) and not _is_hidden(thing, name)


def _getattr(thing: Any, name: str, *default: Any) -> Any:
    if not _is_hidden(thing, name):
        return getattr(thing, name, *default)
    if default:
        return default[0]
    raise AttributeError(f"{plain_type(thing).__name__!r} object has no attribute {name!r}")


LENT: dict[int, Any] = {
    id(type): _Type(), id(isinstance): _isinstance, id(hasattr): _hasattr, id(getattr): _getattr
}  # fmt: skip
"""What stands for functions of Python in the functions of a model, by the id of the original."""


def _answering(kind: type) -> Callable[[Any, Patch], Callable[..., Any]]:
    """`__getattribute__` of a class of stand-ins."""

    def replace(original: Any, patch: Patch) -> Callable[..., Any]:
        plain: Any = kind.__getattribute__

        def __getattribute__(self: Any, name: str) -> Any:
            if name == "__class__" and patch.needed and is_answered_plainly(sys._getframe(1)):
                return plain_type(self)
            return plain(self, name)

        return __getattribute__

    return replace


PATCHES = tuple(Patch(kind, "__getattribute__", _answering(kind)) for kind in (*_SIZES, *_TENSORS))
