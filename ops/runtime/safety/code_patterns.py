"""Checks a block of plain Python in a file that is not trusted: its regular expressions, and how deep things go."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ...graph.errors import TrustError
from ...graph.graph import Node
from ..primitives.plain_code.allowed import checked, compiled_patterns, patterns
from ..primitives.plain_code.running import distrust
from .patterns import is_linear

_ARGUMENTS = {"compile": 2, "sub": 3, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 2}
"""The arguments of the functions of re, without flags for all but the first."""
_ALONE = ("match", "fullmatch")


def check_code(node: Node, label: str) -> None:
    """Checks the patterns that a block uses.

    Args:
        node: one whose arguments were checked.
        label: the name of the file in messages.

    Raises:
        TrustError: a pattern takes a time without a bound, or is made by the code.
    """
    distrust(node.args[0])
    if found := unbounded_pattern(node.args[0]):
        raise TrustError(
            "a regular expression of the file takes a time that has no bound, or is made by its code",
            where=label, got=found,
            fix="Pass trust=True (a command: --trust) if you trust where the file comes from.",
        )  # fmt: skip


def unbounded_pattern(text: str) -> str:
    """The first use of a pattern in a block that takes a time without a bound, or is made by it; empty for none."""
    tree = checked(text)
    known = compiled_patterns(tree)
    alone = {id(call) for name, call in known.items() if _is_tried_once(tree, name)}
    for name, call in patterns(tree):
        if call is None or not _is_bounded("match" if id(call) in alone else name, call, known):
            return f"re.{name}" if call is None else ast.unparse(call)[:80]
    return ""


def _is_tried_once(tree: ast.Module, name: str) -> bool:
    """Whether a compiled pattern is asked for matches at one place of a text only."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _ALONE]
    return len(uses) == 1 + sum(isinstance(node.value, ast.Name) and node.value.id == name for node in asked)


def _is_bounded(name: str, call: ast.Call, known: Collection[str]) -> bool:
    compiles = isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
    given = [each.value if isinstance(each, ast.Constant) else ... for each in call.args]
    if not call.args or call.keywords or len(given) > _ARGUMENTS["compile" if compiles else name]:
        return False
    if isinstance(call.args[0], ast.Name):
        return call.args[0].id in known
    flags = given[1] if compiles and len(given) > 1 else 0
    if not isinstance(given[0], str) or not isinstance(flags, int):
        return False
    return is_linear(given[0], flags, name if name in _ALONE else "search")
