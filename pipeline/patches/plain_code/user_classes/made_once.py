"""Which constants, functions and classes of a block are made once, and which in each run of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .....ops.runtime.primitives.plain_code.allowed import has_plain_defaults
from ...source.scoping import names_read


def apart(made: Mapping[str, ast.stmt], of_run: set[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Those that are made once and those that each run makes, each after what it is made of.

    Args:
        made: the statements, by the names that they set.
        of_run: names that each run sets: its arguments and objects.
    """
    reads = {name: names_read([each]) for name, each in made.items()}
    inner = {name for name, each in made.items() if isinstance(each, ast.FunctionDef) and not has_plain_defaults(each)}
    inner |= {name for name, found in reads.items() if found & of_run}
    while more := {name for name, found in reads.items() if name not in inner and found & inner}:
        inner |= more
    order = list[str]()
    for name in made:
        _after(name, made, order, set())
    return [made[name] for name in order if name not in inner], [made[name] for name in order if name in inner]


def _after(name: str, made: Mapping[str, ast.stmt], order: list[str], begun: set[str]) -> None:
    """Appends a name after those that its statement asks for at once."""
    if name in order or name in begun:
        return
    begun.add(name)
    for each in sorted(_at_once(made[name]) & {*made}, key=[*made].index):
        _after(each, made, order, begun)
    order.append(name)


def _at_once(line: ast.stmt) -> set[str]:
    if isinstance(line, ast.FunctionDef):
        return names_read([*line.args.defaults, *(each for each in line.args.kw_defaults if each is not None)])
    return names_read([line])
