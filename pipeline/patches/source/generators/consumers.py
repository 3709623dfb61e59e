"""Whether those who call a generator leave alone what it was given, and what it gives, by their source.

A generator asks for what it was given whenever it is asked for an item. One that has made all of its items before
answers otherwise, where its arguments change in between.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..scoping import names_read, names_set, parameters
from .simple import changed


def is_left_alone(generator: ast.FunctionDef, functions: Iterable[ast.AST]) -> bool:
    """Whether no function that calls a generator changes what that goes through, or what it asks for outside of it.

    Args:
        generator: its definition.
        functions: the definitions of the functions that may call it.
    """
    free = names_read(generator.body) - parameters(generator.args) - names_set(generator.body)
    name, functions = generator.name, list(functions)
    named = [_is_called(each, name) for each in functions if _is_named(each, name)]
    return bool(named) and all(named) and all(_leaves_alone(each, name, free) for each in functions)


def _is_named(function: ast.AST, name: str) -> bool:
    return any(_name(part) == name for part in ast.walk(function) if isinstance(part, ast.Name | ast.Attribute))


def _is_called(function: ast.AST, name: str) -> bool:
    """Whether a function does nothing with a generator function but call it: under another name nobody follows it."""
    called = {id(part.func) for part in ast.walk(function) if isinstance(part, ast.Call)}
    named = (part for part in ast.walk(function) if isinstance(part, ast.Name | ast.Attribute) and _name(part) == name)
    return all(id(part) in called for part in named)


def _leaves_alone(function: ast.AST, name: str, free: set[str]) -> bool:
    parts = list(ast.walk(function))
    calls = [part for part in parts if isinstance(part, ast.Call) and _name(part.func) == name]
    if not calls:
        return True
    asked = {each for call in calls for each in names_read(_given(call))}
    asked |= _targets(parts, name) | _names_of(parts, name)
    while more := _aliases(parts, asked) - asked:
        asked |= more
    altered = {changed(part) for part in parts}
    altered |= {
        part.target.id for part in parts if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name)
    }
    return not altered & (asked | free) and not _sets_again(parts, free)


def _name(function: ast.AST) -> str:
    """The name of a variable or an attribute; empty for anything else."""
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _given(call: ast.Call) -> list[ast.expr]:
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [*owner, *call.args, *(each.value for each in call.keywords)]


def _holds_call(part: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Call) and _name(each.func) == name for each in ast.walk(part))


def _targets(parts: Sequence[ast.AST], name: str) -> set[str]:
    """The variables of loops over what the generator gives."""
    loops = [part for part in parts if isinstance(part, ast.For | ast.comprehension)]
    found = [each.target for each in loops if _holds_call(each.iter, name)]
    return names_set(found)


def _names_of(parts: Sequence[ast.AST], name: str) -> set[str]:
    """The variables that hold what the generator gives."""
    found = [part for part in parts if isinstance(part, ast.Assign) and _holds_call(part.value, name)]
    return names_set(
        [each for part in found for each in part.targets if _name(getattr(part.value, "func", each)) == name]
    )


def _aliases(parts: Sequence[ast.AST], names: set[str]) -> set[str]:
    """The variables that may hold the same things as some others."""
    found = set[str]()
    for part in parts:
        match part:
            case ast.Assign(targets, value) if _same(value) and (_same_names(value) | names_set(targets)) & names:
                found |= _same_names(value) | names_set(targets)
            case ast.For(target, ast.Name(name)) if name in names:
                found |= names_set([target])
    return found


def _same(value: ast.expr) -> bool:
    return isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Tuple | ast.List)


def _same_names(value: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}


def _sets_again(parts: Sequence[ast.AST], free: set[str]) -> bool:
    """Whether a function sets a variable more than once that a generator in it asks for."""
    stores = [part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    loops = [part for part in parts if isinstance(part, ast.For | ast.While)]
    inside = {each for loop in loops for each in names_set([loop])}
    return any(stores.count(name) > 1 or name in inside for name in free)
