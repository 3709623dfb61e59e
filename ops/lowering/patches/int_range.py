"""Python's `int` and `range` on sizes that are free while a model is exported.

Both convert a size to a plain integer, which makes torch.export fix it. A model often calls them only to be sure of the
type, or to loop over a few chunks. `Noting` finds the functions that do; `Lent` lends these functions an `int` that
returns a symbolic size, and a `range` whose steps are conditions on the size, so that the size is not fixed. For any
other argument both do what Python's own do, and the exported body is compared with the model as every other one.
"""

from __future__ import annotations

import builtins
import gc
import inspect
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

import torch

from ...runtime.interrupts.changes import Change
from .global_names import renamed
from .held_functions import held_functions
from .lock import Patch, Patched

Globals = dict[str, Any]
_SYMBOLIC = (torch.SymInt, torch.SymFloat)


class _IsInt(type):
    """Makes `isinstance(x, int)` hold for symbolic sizes where `int` is lent, as it does for sizes of a real call."""

    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, int | torch.SymInt)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, int)

    def __eq__(cls, other: object) -> bool:  # as in `type(x) in (int, float)`
        return other is cls or other is int

    def __hash__(cls) -> int:
        return hash(int)


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


_NAMES = {name: f"tracepack {name}" for name in _LENT}  # no program can write such a name


@dataclass(frozen=True, eq=False, repr=False)
class Asker:
    """A function that converts a symbolic size to a plain integer.

    Attributes:
        code: its code, or that of the function that it is written in and called by, as comprehensions are.
        module: its globals.
        owner: the class of its first argument, whose method it may be.
        frozen: the functions with this code that its callers hold, where the collector of garbage hides them.
    """

    code: CodeType
    module: Globals
    owner: type
    frozen: tuple[ref[FunctionType], ...] = ()


_asking: list[Asker] = []


def _noted(original: Any, patch: Patch) -> Any:
    def ask(self: Any) -> Any:
        if patch.needed:
            frame = _asking_frame(sys._getframe(1))
            known = _is_torch(frame.f_globals) or any(frame.f_code is other.code for other in _asking)
            if not known and not _has_lent(frame.f_code):
                _asking.append(asker_of(frame))
        return original(self)

    return ask


def _asking_frame(frame: Any) -> Any:
    """The frame of the function that converts a size, also where it calls the recorder's stand-in for `int`."""
    while frame.f_back is not None and frame.f_code.co_name in STAND_INS and _is_own(frame.f_globals):
        frame = frame.f_back
    while frame.f_back is not None and any(frame.f_code is const for const in frame.f_back.f_code.co_consts):
        frame = frame.f_back
    return frame


def asker_of(frame: Any) -> Asker:
    """The function of a frame."""
    first = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
    frozen = tuple(map(ref, held_functions(frame))) if gc.get_freeze_count() else ()
    return Asker(frame.f_code, frame.f_globals, type(first), frozen)


STAND_INS = frozenset(("convert",))
"""The names of the functions of this package that stand for `int` while a function is recorded."""


def _is_own(module: Globals) -> bool:
    return str(module.get("__name__", "")).startswith("tracepack.")


def _has_lent(code: CodeType) -> bool:
    return any(name in code.co_names for name in _NAMES.values())


class Noting(Patched):
    """While it is entered, collects the functions that convert a symbolic size to a plain integer.

    Attributes:
        found: these functions.
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


_lending: list[Lent] = []


class Lent(Change):
    """While it is entered, functions have an `int` and a `range` of their own, unless their module defines the name.

    A function gets code that reads them under names that nothing else reads, so that other code of its module finds
    Python's own `int`, in every thread. Its module keeps these names: another thread may still run that code when the
    function has its own again, and a function that it made keeps it for good. Where the function is not found, or its
    code has no room for another name, the names are lent to the whole module: they do what Python's own do, except in
    `type(x) is int` of its other functions.

    Args:
        askers: the functions.

    Attributes:
        modules: the globals of functions that have such code.
    """

    of_process = True

    def __init__(self, askers: list[Asker]) -> None:
        self.askers = list(askers)
        self._lent: list[tuple[Globals, str]] = []
        self._functions: list[tuple[FunctionType, CodeType]] = []
        self.modules: list[Globals] = []

    def make(self) -> None:
        """Lends them."""
        _lending.append(self)
        for asker in self.askers:
            names = {name: other for name, other in _NAMES.items() if name not in asker.module}
            code, functions = renamed(asker.code, names), functions_of(asker)
            if code is None or not functions:
                self._lend(asker.module)
                continue
            for name, other in names.items():
                asker.module[other] = _LENT[name]
            self.modules.append(asker.module)
            for function in functions:
                self._functions.append((function, asker.code))
                function.__code__ = code

    def _lend(self, module: Globals) -> None:
        for name, thing in _LENT.items():
            if name not in module:
                self._lent.append((module, name))
                module[name] = thing

    def undo(self) -> None:
        """Takes them back."""
        for function, code in self._functions:
            function.__code__ = code
        for module, name in self._lent:
            if module.get(name) is _LENT[name]:
                del module[name]
        if self in _lending:
            _lending.remove(self)


def lent(module: Globals, kind: type) -> Any:
    """What is lent to the functions of a module in place of a type, or the type."""
    name = kind.__name__
    if name in _LENT and name not in module and any(module is other for each in _lending for other in each.modules):
        return _LENT[name]
    return module.get(name, kind)


def functions_of(asker: Asker) -> list[FunctionType]:
    """The functions that have a code; the collector of garbage tells all of them but those that are frozen."""
    found = gc.get_referrers(asker.code)
    if not any(map(_is_function, found)):
        classes = [*asker.owner.__mro__, *(thing for thing in asker.module.values() if isinstance(thing, type))]
        members = (thing for kind in classes for thing in vars(kind).values())
        found = [*(known() for known in asker.frozen), *asker.module.values(), *members]
    functions = {id(thing): thing for thing in map(_bare, found) if _is_function(thing)}
    return [function for function in functions.values() if function.__code__ is asker.code]


def _is_function(thing: Any) -> bool:
    return isinstance(thing, FunctionType)


def _bare(thing: Any) -> Any:
    """The function inside a method of a class, a property, or a decorator's function."""
    thing = getattr(thing, "fget", thing) if isinstance(thing, property) else thing
    thing = thing.__func__ if isinstance(thing, staticmethod | classmethod) else thing
    return inspect.unwrap(thing) if _is_function(thing) else thing  # other objects may answer any name
