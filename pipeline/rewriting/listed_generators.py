"""Recordings in which generator functions of the user's give all of their items at once, where that holds for more.

A recording follows a loop that fills a list, and makes it one of any length; a loop that yields is run as Python runs
it. When a generator computes an item is seen by nobody where it does nothing but compute, and where no function that
calls it changes what it was given: those alone are made lists. What a recording shows besides is asked while it runs.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from ...ops.runtime.user_code import codes_in
from ..patches.source.generators.as_list import Key
from ..patches.source.generators.consumers import is_left_alone
from ..patches.source.generators.simple import first_line, is_generator, is_simple
from ..patches.source.written_anew import definition_of, generators_as_lists
from .asked_lines import functions_of
from .attempted import Attempted

_WRITES = ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME")


def simple_generators(process: Callable[..., Any]) -> dict[str, frozenset[Key]]:
    """The generator functions whose items can be made at once: the paths of files -> names and first lines."""
    functions = list(functions_of(process))
    if not any(map(_yields, functions)):
        return {}
    definitions = [(each, made) for each in functions if (made := definition_of(each)) is not None]
    parts = [made for _, made in definitions]
    found = dict[str, set[Key]]()
    for function, made in definitions:
        inner = (each for each in ast.walk(made) if isinstance(each, ast.FunctionDef) and is_generator(each))
        for each in filter(is_simple, inner):
            if is_left_alone(each, parts) and not any(map(_writes, _called(each, functions))):
                found.setdefault(function.__code__.co_filename, set()).add((each.name, first_line(each)))
    return {path: frozenset(keys) for path, keys in found.items()}


def _yields(function: FunctionType) -> bool:
    """Whether a function, or one inside of it, is a generator function."""
    return any(code.co_flags & 0x20 and code.co_name != "<genexpr>" for code in codes_in(function.__code__))


def _called(generator: ast.FunctionDef, functions: Iterable[FunctionType]) -> Iterator[FunctionType]:
    """The user's functions that a generator may call, by their names, and those that these may call."""
    by_name = dict[str, list[FunctionType]]()
    for each in functions:
        by_name.setdefault(each.__name__, []).append(each)
    waiting = {each.id for each in ast.walk(generator) if isinstance(each, ast.Name)}
    waiting |= {each.attr for each in ast.walk(generator) if isinstance(each, ast.Attribute)}
    seen = {generator.name}
    while waiting - seen:
        name = (waiting - seen).pop()
        seen.add(name)
        for each in by_name.get(name, []):
            yield each
            waiting |= {name for code in codes_in(each.__code__) for name in (*code.co_names, *code.co_freevars)}


def _writes(function: FunctionType) -> bool:
    """Whether a function sets attributes or global variables."""
    return any(each.opname in _WRITES for code in codes_in(function.__code__) for each in dis.get_instructions(code))


Attempt = Callable[[list[Any]], Attempted]


def with_lists(
    process: Callable[..., Any], search: Callable[[Attempt], Attempted], attempt: Attempt, best: Attempted | None
) -> Attempted | None:
    """A recording in which generators are lists; None where there is none, or it fixes as much as the best one.

    Args:
        process: the user's function.
        search: finds the best recording by attempts.
        attempt: records the function, and is given earlier recordings with which the pipeline has to agree.
        best: what was found without, if anything was.
    """
    generators = simple_generators(process) if _fixes_something(best) else {}
    if not generators:
        return None
    earlier = [] if best is None else [*best.earlier, best.found]
    with generators_as_lists(generators):
        try:
            found = search(lambda before: attempt(before or earlier))
        except Exception:  # it stays a generator
            return None
    return found if best is None or _holds_for_more(found, best) else None


def _holds_for_more(found: Attempted, before: Attempted) -> bool:
    """Whether a recording fixes less; a list that must not be empty is worth one of any length."""
    one, other = (found.fixed(), found.sizes()), (before.fixed(), before.sizes())
    if one == other:
        return found.guards() < before.guards()
    return one[0] <= other[0] and one[1] <= other[1]


def _fixes_something(found: Attempted | None) -> bool:
    return found is None or any(found.guards()) or found.fixed() > 0 or found.sizes() > 0
