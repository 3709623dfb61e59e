"""Checks a block of plain Python in a file that is not trusted: its regular expressions, and how deep things go."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ...graph.errors import TrustError
from ...graph.graph import Node
from ..primitives.plain_code.allowed import checked, compiled_patterns, patterns
from ..primitives.plain_code.running import distrust
from .constant_texts import ConstantTexts
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
    texts = ConstantTexts(tree)
    for name, call in patterns(tree):
        if call is None or not _is_bounded("match" if id(call) in alone else name, call, known, texts):
            return f"re.{name}" if call is None else ast.unparse(call)[:80]
    return ""


def _is_tried_once(tree: ast.Module, name: str) -> bool:
    """Whether a compiled pattern is asked for matches at one place of a text only."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _ALONE]
    return len(uses) == 1 + sum(isinstance(node.value, ast.Name) and node.value.id == name for node in asked)


def _is_bounded(name: str, call: ast.Call, known: Collection[str], texts: ConstantTexts) -> bool:
    compiles = isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
    if not call.args or call.keywords or len(call.args) > _ARGUMENTS["compile" if compiles else name]:
        return False
    pattern = call.args[0]
    if isinstance(pattern, ast.Name) and pattern.id in known:
        return True
    flags = _flags(call.args[1]) if compiles and len(call.args) > 1 else 0
    found = texts.of(pattern)
    if not found or flags is None:
        return False
    return all(is_linear(text, flags, name if name in _ALONE else "search") for text in found)


def _flags(given: ast.expr) -> int | None:
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None
