"""What to write for `getattr` and `hasattr` with a name that a text of the recording decides."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import torch

from ....ops.graph.graph import SourceLine
from ....ops.runtime.user_code import user_line
from ...proxies.tracer import Refuser
from .branch_forms import form_of

_TABLE = "Write a table of them, with an entry for each name, in place of {}: {}."
_OF_DTYPES = "Write the names out, in a function that is written with def: {}."
_HELD = "Write {}, with all names that it has."
BY_DTYPE = _OF_DTYPES.format("x.to(torch.float64) if name == 'float64' else x.to(torch.float32)")
"""What to write where a text chooses a dtype."""


def refuse_name(recorder: Refuser, function: Callable[..., Any], thing: Any, name: str) -> NoReturn:
    """Refuses such a call with the user's line.

    Args:
        recorder: of the running function.
        function: `getattr` or `hasattr`.
        thing: that is asked for an attribute.
        name: of the attribute, on the example.
    """
    line = user_line()
    if function is hasattr:
        form = form_of(line, partial(_as_names, name=name)) or _HELD.format(f"name in ({name!r}, …)")
    elif isinstance(getattr(thing, name, None), torch.dtype):
        form = form_of(line, partial(_by_dtype, name=name)) or BY_DTYPE
    else:
        default = _TABLE.format("getattr(x, name)", f"{{{name!r}: x.{name}, …}}[name]")
        form = form_of(line, partial(_as_table, name=name, of_text=isinstance(thing, str))) or default
    recorder.refuse(f"{function.__name__} is asked for a name that is decided at run time", form)


def _asked(tree: ast.AST, line: SourceLine, function: str) -> ast.Call | None:
    """The call of `getattr` or `hasattr` in a line; None where there are several."""
    found = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == function
        and each.lineno == line.line and len(each.args) > 1
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _as_table(tree: ast.AST, line: SourceLine, name: str, of_text: bool) -> str:
    call = _asked(tree, line, "getattr")
    if call is None:
        return ""
    owner, key, *default = (ast.unparse(each) for each in call.args)
    table = f"{{{name!r}: {'str' if of_text else owner}.{name}, …}}"
    found = f"{table}.get({key}, {default[0]})" if default else f"{table}[{key}]"
    return _TABLE.format(ast.unparse(call), f"{found}, called with {owner}" if of_text else found)


def _as_names(tree: ast.AST, line: SourceLine, name: str) -> str:
    call = _asked(tree, line, "hasattr")
    return "" if call is None else _HELD.format(f"{ast.unparse(call.args[1])} in ({name!r}, …)")


def _by_dtype(tree: ast.AST, line: SourceLine, name: str) -> str:
    call = _asked(tree, line, "getattr")
    around = next((each for each in ast.walk(tree) if isinstance(each, ast.Call) and call in each.args), None)
    if call is None or around is None:
        return ""
    written, key = ast.unparse(around), ast.unparse(call.args[1])
    other = "float64" if name == "float32" else "float32"
    one, two = (written.replace(ast.unparse(call), f"torch.{each}") for each in (name, other))
    return _OF_DTYPES.format(f"{one} if {key} == {name!r} else {two}")
