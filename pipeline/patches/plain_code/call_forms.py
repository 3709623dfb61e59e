"""The form of a call of a model in the text of a block: which of its arguments are literals, and which are open."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .plain_literals import UnplainError

_OPEN = "_"


@dataclass(frozen=True)
class CallForm:
    """The arguments of a call, as the source of a call with the open ones left out.

    Attributes:
        source: such as ``f(_, (_, None), mask=_)``.
    """

    source: str

    def call(self, thing: Any, args: tuple[Any, ...]) -> Any:
        """Calls a thing with what is open, in the order in which the source has it."""
        left = iter(args)
        made = ast.parse(self.source, mode="eval").body
        assert isinstance(made, ast.Call)  # says `form_of`
        by_place = [_filled(each, left) for each in made.args]
        return thing(*by_place, **{str(each.arg): _filled(each.value, left) for each in made.keywords})


def form_of(node: ast.Call) -> tuple[CallForm, list[ast.expr]]:
    """The form of a call, and its open arguments.

    Raises:
        UnplainError: it unpacks arguments.
    """
    if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
        raise UnplainError(f"it unpacks the arguments of a model: {ast.unparse(node)}")
    found: list[ast.expr] = []
    args = [_form(each, found) for each in node.args]
    keywords = [ast.keyword(each.arg, _form(each.value, found)) for each in node.keywords]
    return CallForm(ast.unparse(ast.Call(ast.Name("f", ast.Load()), args, keywords))), found


def with_bound(node: ast.Call, bound: partial[Any], source_of: Callable[[Any], ast.expr]) -> ast.Call:
    """A call of a partial function as one of the function itself.

    Args:
        node: the call.
        bound: what it calls.
        source_of: gives the source of what the partial function holds.
    """
    given = {each.arg for each in node.keywords}
    held = [ast.keyword(name, source_of(each)) for name, each in bound.keywords.items() if name not in given]
    args = [*map(source_of, bound.args), *node.args]
    return ast.copy_location(ast.Call(source_of(bound.func), args, [*held, *node.keywords]), node)


def _form(part: ast.expr, found: list[ast.expr]) -> ast.expr:
    """An argument with a name for each open part, which is added to those that were found."""
    match part:
        case ast.Constant():
            return part
        case ast.Tuple(parts) | ast.List(parts) if not any(isinstance(each, ast.Starred) for each in parts):
            return type(part)([_form(each, found) for each in parts], ast.Load())
        case ast.Dict(keys, values) if keys and all(isinstance(each, ast.Constant) for each in keys):
            return ast.Dict(keys, [_form(each, found) for each in values])
    found.append(part)
    return ast.Name(_OPEN, ast.Load())


def _filled(part: ast.expr, left: Iterator[Any]) -> Any:
    match part:
        case ast.Name():
            return next(left)
        case ast.Tuple(parts):
            return tuple(_filled(each, left) for each in parts)
        case ast.List(parts):
            return [_filled(each, left) for each in parts]
        case ast.Dict(keys, values):
            return {ast.literal_eval(key): _filled(each, left) for key, each in zip(keys, values, strict=True) if key}
    return ast.literal_eval(part)
