"""Python's `int` and `range` on sizes that are free while a model is exported.

Both ask Python for a plain integer, which makes torch.export fix the size. A model's own code often calls them only
to be sure of the type, or to go over a few chunks. `noting` tells which modules did; `lent` lends these modules an
`int` that keeps a symbolic size as it is, and a `range` whose every step is a condition on the size instead of one
on the whole of it. Both are Python's own for anything else, and what was exported so is proved like all else.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

Globals = dict[str, Any]
_SYMBOLIC = (torch.SymInt, torch.SymFloat)


class _IsInt(type):
    """Makes `isinstance(x, int)` mean what it does when the model runs, where `int` is lent."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, int | torch.SymInt)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, int)


class _Int(int, metaclass=_IsInt):
    """`int`, but a symbolic size stays one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], _SYMBOLIC):
            return torch.sym_int(args[0])  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return builtins.int(*args, **kwargs)


def _range(*args: Any) -> Any:
    """`range`; over symbolic sizes a list, for which only the number of steps is fixed."""
    if not any(isinstance(arg, _SYMBOLIC) for arg in args):
        return builtins.range(*args)
    value, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    found = []
    while value < stop if step > 0 else value > stop:
        found.append(value)
        value = value + step
    return found


_LENT: Globals = {"int": _Int, "range": _range}


@contextmanager
def noting() -> Iterator[list[Globals]]:
    """Collects the globals of the functions that ask a symbolic size for a plain integer."""
    found: list[Globals] = []

    def noted(method: Any) -> Any:
        def ask(self: Any) -> Any:
            asking = sys._getframe(1).f_globals
            if not _is_torch(asking) and not any(asking is other for other in found):
                found.append(asking)
            return method(self)

        return ask

    names = ("__int__", "__index__")
    before = {name: getattr(torch.SymInt, name) for name in names}
    try:
        for name, method in before.items():
            setattr(torch.SymInt, name, noted(method))
        yield found
    finally:
        for name, method in before.items():
            setattr(torch.SymInt, name, method)


def _is_torch(module: Globals) -> bool:
    return str(module.get("__name__", "")).split(".")[0] in ("torch", "sympy")


@contextmanager
def lent(modules: list[Globals]) -> Iterator[None]:
    """Lends modules their own `int` and `range` for a while; a name that a module defines itself stays as it is."""
    places = [(module, name) for module in modules for name in _LENT if name not in module]
    try:
        for module, name in places:
            module[name] = _LENT[name]
        yield
    finally:
        for module, name in places:
            del module[name]
