"""Where the statements of a block stand in the user's files: comments in its text, which messages of its runs show."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from types import CodeType

_PLACE = "place"
_NUMBER = re.compile(r"  # (\d+)$")


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements in a tree, outer ones first."""
    return (part for part in ast.walk(tree) if isinstance(part, ast.stmt))


def written(lines: Sequence[ast.stmt], own: bool = False) -> str:
    """The source of statements, each with its place behind it where it has one.

    Args:
        lines: the statements.
        own: whether they are those of the user's file, whose places are their lines.
    """
    tree = ast.Module([*lines], [])
    places = [getattr(each, "lineno" if own else _PLACE, 0) for each in statements(tree)]
    text = ast.unparse(ast.fix_missing_locations(tree))
    shown = text.split("\n")
    for place, new in zip(places, statements(ast.parse(text)), strict=True):
        if place:
            shown[new.lineno - 1] += f"  # {place}"
    return "\n".join(shown)


def same_place(made: ast.stmt, old: ast.stmt) -> ast.stmt:
    """A statement that stands where another one stood."""
    if (found := getattr(old, _PLACE, 0)) != 0:
        setattr(made, _PLACE, found)
    return ast.copy_location(made, old)


def place_of(line: ast.stmt) -> int:
    """The line of a statement in the user's file; zero where that is not known."""
    found = getattr(line, _PLACE, 0)
    return found if isinstance(found, int) else 0


def parsed(text: str) -> list[ast.stmt]:
    """The statements of a text with numbers behind them, which are the lines of those."""
    shown, body = text.split("\n"), ast.parse(text).body
    for line in statements(ast.Module(body, [])):
        if found := _NUMBER.search(shown[line.lineno - 1]):
            setattr(line, _PLACE, int(found[1]))
    return body


def placed(lines: Sequence[ast.stmt], code: CodeType) -> list[ast.stmt]:
    """Statements of the user's function that has some code, with their places in words."""
    for line in statements(ast.Module([*lines], [])):
        number = getattr(line, _PLACE, 0)
        if isinstance(number, int) and number:
            shown = linecache.getline(code.co_filename, number).strip()
            setattr(line, _PLACE, f"{PurePath(code.co_filename).name}:{number} in {code.co_name}: {shown}")
    return [*lines]
