"""Lends functions of a model what they ask with, under names that no other code reads."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from ....runtime.interrupts.changes import Change
from ....runtime.user_code import codes_in
from ..global_names import renamed
from ..int_range import Asker, functions_of
from . import mode_questions, plain_types

LENT: dict[int, Any] = {**plain_types.LENT, **mode_questions.LENT}


class LentQuestions(Change):
    """While it is entered, functions have other objects for some of their globals.

    The names stay in their modules: another thread may still run such code when the function has its own again.

    Args:
        askers: the functions, each with what is lent to it by name.
    """

    of_process = True

    def __init__(self, askers: Sequence[tuple[Asker, dict[str, Any]]]) -> None:
        self._codes: list[tuple[FunctionType, CodeType, CodeType]] = []
        self._modules: list[tuple[dict[str, Any], str, Any]] = []
        inner = {id(code) for asker, _ in askers for code in codes_in(asker.code) if code is not asker.code}
        functions = _functions([asker for asker, _ in askers], inner)
        for (asker, names), holders in zip(askers, functions, strict=True):
            if not holders and id(asker.code) in inner:
                continue  # a function that another one makes anew
            others = {name: f"tracepack asks {name}" for name in names}
            code = renamed(asker.code, others)
            if code is None or not holders:
                self._modules += [(asker.module, name, thing) for name, thing in names.items()]
                continue
            asker.module.update({others[name]: thing for name, thing in names.items()})
            self._codes += [(function, asker.code, code) for function in holders]
        self._before: list[tuple[dict[str, Any], str, Any]] = []

    def make(self) -> None:
        """Lends them; where a function is not found, or has no room for a name, to its whole module."""
        self._before = [(module, name, module.get(name, _ABSENT)) for module, name, _ in self._modules]
        for module, name, thing in self._modules:
            module[name] = thing
        for function, _, code in self._codes:
            function.__code__ = code

    def undo(self) -> None:
        """Takes them back."""
        for function, code, _ in self._codes:
            function.__code__ = code
        for module, name, thing in reversed(self._before):
            if thing is not _ABSENT:
                module[name] = thing
            else:
                module.pop(name, None)
        self._before = []


_ABSENT = object()


def _functions(askers: Sequence[Asker], inner: Collection[int]) -> Iterable[list[FunctionType]]:
    """The functions of each asker: the collector of garbage is asked once for all."""
    holders: dict[int, list[FunctionType]] = {id(asker.code): [] for asker in askers}
    for thing in gc.get_referrers(*(asker.code for asker in askers)) if askers else ():
        if isinstance(thing, FunctionType) and id(thing.__code__) in holders:
            holders[id(thing.__code__)].append(thing)
    return [holders[id(asker.code)] or ([] if id(asker.code) in inner else functions_of(asker)) for asker in askers]
