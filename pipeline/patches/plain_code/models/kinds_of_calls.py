"""Models that a block calls with tensors of several ranks or dtypes: each kind has a graph, and the text chooses it.

As after ``if not batch: x = x[0]``, where the model is given one row or several.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .....ops.runtime.primitives.plain_code.objects.model_call import OF_MODELS
from ..called_models import CalledModel

MOST_KINDS = 4
"""How many kinds of calls the models of a block may have in all, beyond the first of each."""
_HEADER_END = re.compile(r"\):")


def with_kinds(text: str, given: Sequence[Any], calls: Mapping[int, Sequence[Any]]) -> tuple[str, list[Any]] | None:
    """A block that calls another graph where a model is given another kind, and what it is given; None if it cannot.

    Args:
        text: of the block.
        given: its arguments, the models among them.
        calls: what the models were given on other inputs, by their places: the kinds of each call.
    """
    if sum(isinstance(each, CalledModel) and each.kinds is not None for each in given) >= MOST_KINDS:
        return None
    for place, model in enumerate(given):
        own = model.kinds_taken() if isinstance(model, CalledModel) else None
        if own is None:
            continue
        for kind in calls.get(place, ()):
            if kind != own and (condition := _condition(own, kind)):
                return _written(text, place, len(own), condition), [*given, CalledModel(model.thing, model.form, kind)]
    return None


def _condition(own: Sequence[Any], other: Sequence[Any]) -> str:
    """What holds for calls of one kind; empty where they differ in more than the ranks and dtypes of tensors."""
    if len(own) != len(other) or any(
        type(one) is not type(two) or (not isinstance(one, tuple) and one != two)
        for one, two in zip(own, other, strict=True)
    ):
        return ""
    tensors = [(f"a{number}", *each) for number, each in enumerate(own) if isinstance(each, tuple)]
    return " and ".join(f"{name}.dim() == {rank} and {name}.dtype == {_name(dtype)}" for name, dtype, rank in tensors)


def _name(dtype: torch.dtype) -> str:
    return f"torch.{str(dtype).removeprefix('torch.')}"


def _written(text: str, place: int, count: int, condition: str) -> str:
    """The text with a function in place of a model, which calls that or a further one."""
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    names = [each.arg for each in function.args.args]
    model, further = names[place], f"{OF_MODELS}{sum(each.startswith(OF_MODELS) for each in names)}"
    lines, chooser = text.split("\n"), f"{model}_of_kinds"
    for row, column in sorted(_uses(text, model, function.lineno), reverse=True):
        lines[row] = lines[row][:column] + chooser + lines[row][column + len(model) :]
    header, indent = function.lineno - 1, " " * function.body[0].col_offset
    lines[header] = _HEADER_END.sub(f", {further}):", lines[header], count=1)
    args = ", ".join(f"a{number}" for number in range(count))
    made = [f"def {chooser}({args}):", f"    return {model}({args}) if {condition} else {further}({args})"]
    lines[header + 1 : header + 1] = [f"{indent}{each}" for each in made]
    return "\n".join(lines)


def _uses(text: str, name: str, header: int) -> list[tuple[int, int]]:
    """The rows and columns at which a text names something, but for the line that begins the block."""
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    return [
        (token.start[0] - 1, token.start[1])
        for token in tokens
        if token.type == tokenize.NAME and token.string == name and token.start[0] != header
    ]
