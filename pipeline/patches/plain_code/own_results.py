"""What nothing else holds: of what a block is given, which it may change, and of its results, which others may."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from ....ops.runtime.user_code import user_line
from ...proxies.arrays import TracedArray
from ...proxies.values.changing import Growing
from ...recording.recorder import Recorder
from ..source.shared_parts import shared_memory, shared_names
from .statements.beginnings import makes_new
from .statements.given_helpers import keeps_apart
from .statements.own_variables import Given

_READING = frozenset((
    "len", "sum", "sorted", "max", "min", "any", "all", "enumerate", "zip", "reversed", "list", "tuple", "set", "dict",
    "bool", "str", "range", "frozenset", "iter",
))  # fmt: skip
"""Functions that keep nothing but the items of what they are given."""


def alone(
    recorder: Recorder, own: Mapping[str, Any], frame: FrameType, live: set[str], handed: Sequence[Given]
) -> list[str]:
    """The variables, among some, of which nothing else holds what they hold, or a part of it.

    Args:
        recorder: of the function.
        own: those that may be ones, with what they hold.
        frame: that of the function.
        live: its variables that are read in the block or later.
        handed: the functions that are given some of them.
    """
    shared = shared_names(own, frame, live)
    with recorder.within(), torch._C.DisableTorchFunction():
        shared |= shared_memory(own, frame, live)
    known = {**frame.f_globals, **frame.f_locals}
    shared |= {name for name, function, place in handed if not keeps_apart(known, function, place)}
    return [name for name, thing in own.items() if name not in shared and not recorder.values.keeps(thing)]


def share(recorder: Recorder, text: str, kind: Any, given: Sequence[Any], results: Any) -> None:
    """Takes note of the results of a block that may be one another, or what the block was given: none may change them.

    Args:
        recorder: of the recording.
        text: of the block.
        kind: of its results.
        given: what the block was given, which nothing may change either then.
        results: what code goes on with.
    """
    if any([*_shared(text, kind, results)]):
        for each in given:
            if isinstance(each, Growing | TracedArray):
                each.handed_on = True
        recorder.values.keep([*given], user_line())


def _shared(text: str, kind: Any, results: Any) -> Iterator[bool]:
    """Whether each of the results, of which this is taken note, may be something else."""
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    returned = [part.value for part in ast.walk(function) if isinstance(part, ast.Return)]
    match kind, returned:
        case ["tuple", *kinds], [ast.Tuple(parts)]:
            for each, inner, part in zip(results, kinds, parts, strict=True):
                yield from _noted(each, inner, _is_own(part, function))
        case _:
            own = all(value is not None and _is_own(value, function) for value in returned)
            yield from _noted(results, kind, own)


def _noted(result: Any, kind: Any, own: bool) -> Iterator[bool]:
    if isinstance(result, tuple | dict):
        for each in result.values() if isinstance(result, dict) else result:
            yield from _noted(each, None, False)
    elif isinstance(result, Growing):
        result.handed_on = not own or not isinstance(kind, list) or isinstance(kind[1], list)
        yield result.handed_on
    elif type(result) is TracedArray:
        result.handed_on = kind is None or "own" not in kind
        yield result.handed_on


def _is_own(value: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether an expression gives what no other variable holds, and nothing that the block was given."""
    if not isinstance(value, ast.Name):
        return makes_new(value)
    parents = {id(child): part for part in ast.walk(function) for child in ast.iter_child_nodes(part)}
    uses = [part for part in ast.walk(function) if isinstance(part, ast.Name) and part.id == value.id]
    return all(_keeps_apart(each, parents) for each in uses) and sum(_is_given(each, parents) for each in uses) == 1


def _keeps_apart(use: ast.Name, parents: dict[int, ast.AST]) -> bool:
    """Whether after some use of a variable no other one holds what it holds."""
    match parents[id(use)]:
        case ast.Assign([target], made) if target is use:
            return makes_new(made)
        case ast.AugAssign(target) if target is use:
            return True
        case ast.Call(ast.Name(name), arguments):
            return name in _READING and use in arguments
        case ast.For(target=target) | ast.comprehension(target=target):
            return target is not use
        case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.Call() | ast.IfExp() | ast.keyword() | ast.BoolOp():
            return False
        case ast.List() | ast.Dict() | ast.Set() | ast.Yield() | ast.arg():
            return False
        case ast.Tuple():
            return _is_given(use, parents)
    return isinstance(use.ctx, ast.Load)


def _is_given(use: ast.Name, parents: dict[int, ast.AST]) -> bool:
    """Whether a use is what the block returns, or a part of that."""
    outer = parents[id(use)]
    return isinstance(outer, ast.Return) or (
        isinstance(outer, ast.Tuple) and isinstance(parents.get(id(outer)), ast.Return)
    )
