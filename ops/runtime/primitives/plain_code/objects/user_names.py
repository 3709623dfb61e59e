"""The names that functions of a block have in the texts of errors: those of the user's."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

from .....graph.errors import GraphError

TABLE = "Q0"
"""The constant of a block that has them, by the names of its functions."""
_LONGEST = 500
_OF_BLOCKS = re.compile(r"\bF\d+_\w+\(\)")


def taken_out(tree: ast.Module) -> dict[str, str]:
    """The names that a text gives its functions; their table is taken out of it.

    Raises:
        GraphError: it is no table of texts.
    """
    match tree.body:
        case [ast.Assign([ast.Name(name)], value), *_] if name == TABLE:
            found = _literal(value)
            if not isinstance(found, dict) or not all(map(_is_name, [*found, *found.values()])):
                raise GraphError("the names of a block of plain Python are malformed", got=ast.unparse(value)[:80])
            del tree.body[0]
            return found
    return {}


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST


def renamed(code: CodeType, names: Mapping[str, str], before: str = "", after: str = "") -> CodeType:
    """Code whose functions have other names in the texts of errors.

    Args:
        code: that of a block, or of a function in it.
        names: of the functions right in the block, and of the block itself.
        before: the name that the code has.
        after: the one that it gets.
    """
    parts = list[Any](code.co_consts)
    outer = before.count(".") < 1  # the block, or what is right in it
    for place, each in enumerate(parts):
        if isinstance(each, CodeType):
            old, new = (f"{name}.<locals>.{each.co_name}" if name else each.co_name for name in (before, after))
            new = names.get(each.co_name, new) if outer else new
            parts[place] = renamed(each, names, old, new)
            parts = [new if part == old and isinstance(part, str) else part for part in parts]  # Python 3.10
    more: dict[str, Any] = {"co_qualname": after} if after and sys.version_info >= (3, 11) else {}
    return code.replace(co_consts=tuple(parts), **more)


def names_a_function_of_a_block(error: BaseException) -> bool:
    """Whether the text of an error has a name that only the block knows."""
    return any(isinstance(each, str) and _OF_BLOCKS.search(each) for each in error.args)
