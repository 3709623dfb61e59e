"""Whether functions of the user's that are given a tensor keep nothing of it, and give no part of its memory."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from .....ops.runtime.user_code import attribute
from ...source.scoping import names_set, parameters
from ...source.written_anew import definition_of
from .memory_uses import MemoryUses, Place, around_each, uses_of

_MOST_DEEP = 4
"""Functions that call each other."""


def keeps_apart(known: Mapping[str, Any], name: str, place: Place, deep: int = 0) -> bool:
    """Whether a function gives and keeps nothing of an argument.

    Args:
        known: what names mean where it is called.
        name: the source of what is called, as ``self.area``.
        place: that of the argument.
        deep: how many functions are around the call.
    """
    function = _meant(known, name)
    if isinstance(function, MethodType):
        function, place = function.__func__, place if isinstance(place, str) else place + 1
    made = definition_of(function) if isinstance(function, FunctionType) and deep < _MOST_DEEP else None
    if (
        made is None
        or not isinstance(function, FunctionType)
        or (isinstance(made, ast.FunctionDef) and made.decorator_list)
    ):
        return False
    own = [each.arg for each in (*made.args.posonlyargs, *made.args.args)]
    given = place if isinstance(place, str) else own[place] if place < len(own) else ""
    if given not in parameters(made.args) or given == (made.args.kwarg and made.args.kwarg.arg):
        return False
    body: list[ast.stmt] = [ast.Return(made.body)] if isinstance(made, ast.Lambda) else made.body
    return _is_apart(body, given, function.__globals__, deep)


def _is_apart(body: list[ast.stmt], given: str, known: Mapping[str, Any], deep: int) -> bool:
    """Whether all uses of a parameter, and of the variables that share its memory, give it no name from outside."""
    local, declared = names_set(body) | {given}, [e for line in body for e in ast.walk(line) if _reaches_out(e)]
    if declared:
        return False
    shared, waiting, around = set[str](), [given], around_each(body)

    def named(name: str) -> bool:
        """A variable that goes when the function ends."""
        waiting.append(name)
        return True

    called = partial(keeps_apart, {name: each for name, each in known.items() if name not in local}, deep=deep + 1)
    while waiting:
        name = waiting.pop()
        if name in shared:
            continue
        shared.add(name)
        uses = MemoryUses(around, named=named, called=called)
        if not all(map(uses.apart, uses_of(name, body))):
            return False
    return True


def _reaches_out(part: ast.AST) -> bool:
    """Whether a part of a function lets others have its variables, now or later."""
    kinds = (ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await)
    return isinstance(part, (*kinds, ast.GeneratorExp))


def _meant(known: Mapping[str, Any], name: str) -> Any:
    """What a name with its attributes means."""
    root, *rest = name.split(".")
    found = known.get(root)
    for each in rest:
        found = attribute(found, each)
    return found
