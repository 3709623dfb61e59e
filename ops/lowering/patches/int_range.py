"""Python's `int` and `range` on sizes that are free while a model is exported.

Both convert a size to a plain integer, which makes torch.export fix it. A model often calls them only to be sure of the
type, or to loop over a few chunks. `Noting` finds the modules that do; `Lent` lends these modules an `int` that returns
a symbolic size, and a `range` whose steps are conditions on the size, so that the size is not fixed. For any other
argument both do what Python's own do, and the exported body is compared with the model as every other one.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import torch

from ...runtime.interrupts.changes import Change
from .lock import Patch, Patched

Globals = dict[str, Any]
_SYMBOLIC = (torch.SymInt, torch.SymFloat)


class _IsInt(type):
    """Makes `isinstance(x, int)` hold for symbolic sizes where `int` is lent, as it does for sizes of a real call."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, int | torch.SymInt)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, int)


class _Int(int, metaclass=_IsInt):
    """`int`, which returns a symbolic size unchanged."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], _SYMBOLIC):
            return torch.sym_int(args[0])  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return builtins.int(*args, **kwargs)


def _range(*args: Any) -> Any:
    """`range`; for symbolic sizes a list, which fixes only the number of steps."""
    if not any(isinstance(arg, _SYMBOLIC) for arg in args):
        return builtins.range(*args)
    value, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    found = []
    while value < stop if step > 0 else value > stop:
        found.append(value)
        value = value + step
    return found


_LENT: Globals = {"int": _Int, "range": _range}


_asking: list[Globals] = []


def _noted(original: Any, patch: Patch) -> Any:
    def ask(self: Any) -> Any:
        if patch.needed:
            asking = _asker(sys._getframe(1))
            if not _is_torch(asking) and not any(asking is other for other in _asking):
                _asking.append(asking)
        return original(self)

    return ask


def _asker(frame: Any) -> Globals:
    """The globals of the function that converts a size, also where it calls the recorder's stand-in for `int`."""
    while frame.f_back is not None and frame.f_code.co_name in STAND_INS and _is_own(frame.f_globals):
        frame = frame.f_back
    found: Globals = frame.f_globals
    return found


STAND_INS = frozenset(("convert",))
"""The names of the functions of this package that stand for `int` while a function is recorded."""


def _is_own(module: Globals) -> bool:
    return str(module.get("__name__", "")).startswith("tracepack.")


class Noting(Patched):
    """While it is entered, collects the globals of the functions that convert a symbolic size to a plain integer.

    Attributes:
        found: these globals.
    """

    _patches = (Patch(torch.SymInt, "__int__", _noted), Patch(torch.SymInt, "__index__", _noted))

    def __init__(self) -> None:
        super().__init__(*self._patches)
        self.found = _asking

    def make(self) -> None:
        """Clears what earlier exports found."""
        _asking.clear()
        super().make()


def _is_torch(module: Globals) -> bool:
    return str(module.get("__name__", "")).split(".")[0] in ("torch", "sympy")


class Lent(Change):
    """While it is entered, modules have an `int` and a `range` of their own, unless they define the name themselves.

    A global name is the same in every thread, so another thread that runs a function of such a module meanwhile uses
    them, too: they do what Python's own do, except in `type(x) is int`.

    Args:
        modules: the globals of each.
    """

    of_process = True

    def __init__(self, modules: list[Globals]) -> None:
        self.modules = list(modules)

    def make(self) -> None:
        """Lends them."""
        for module in self.modules:
            for name, thing in _LENT.items():
                module.setdefault(name, thing)

    def undo(self) -> None:
        """Takes them back."""
        for module in self.modules:
            for name, thing in _LENT.items():
                if module.get(name) is thing:
                    del module[name]
