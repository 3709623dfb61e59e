"""Errors of generated functions as the user reads them: with the node, its op, the user's line, and the arguments.

A run keeps no data for this: the number of the failing line leads to the node, and the variables of the line are still
in the frame of the error.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Any, NoReturn

import torch

from ..graph.errors import GuardError, MissingEntryError, NodeError, TracepackError, add_place
from ..graph.graph import Guard, Node, Operator, Value, target_name
from ..graph.operators.names import CODE
from ..graph.traverse import uses
from ..graph.types import TensorType
from .interrupts.alarm import is_of_handler


def explain(error: BaseException, function: Callable[..., Any]) -> BaseException:
    """The error to raise in place of one from a generated function.

    Our own errors are returned as they are.

    Args:
        error: the exception.
        function: the function that `Emitter.function` returned.
    """
    if not isinstance(error, Exception) or is_of_handler(error):  # an interrupt, or a timeout
        return error
    if isinstance(error, TracepackError) and error.where:
        return error
    calls = _plan_frames(error.__traceback__, function)
    places = [(inner, line, inner.nodes.get(line)) for inner, _, line in calls]
    if not places or not isinstance(error, Exception):
        return error
    if places[-1][2] is None:
        return NodeError(_first_line(error), where="the outputs")
    (inner, line, node), frame = places[-1], calls[-1][1]
    where = _where(node, inner.calls.get(line), getattr(error, "user_line", ""))
    for _, _, outer in reversed(places[:-1]):
        if outer.target == Operator(CODE):
            continue  # its own line is that of the call
        where += f", in a branch of {target_name(outer.target)}" + (f" at {outer.line}" if outer.line else "")
    if isinstance(error, TracepackError):
        if not isinstance(node.target, Guard) or node.line:
            add_place(error, where)
        return error
    if isinstance(error, ValueError) and "values to unpack" in str(error):
        return GuardError(
            "the operator gave another number of results than when it was recorded",
            where=where,
            got=str(error),
            fix="The function goes through these results one by one, which fixes their number.",
        )
    if isinstance(error, KeyError) and target_name(node.target) == "py.getitem":
        return MissingEntryError(
            "the dict has no such key",
            where=where,
            got=repr(error.args[0])[:80] if error.args else None,
            expected="a key that it was given in this run",
            fix="Use table.get(key, default) where a key may be unknown.",
        )
    text = inner.source.splitlines()[line - 1]
    return NodeError(f"{_first_line(error)}; {_arguments(node, text, frame)}", where=where)


def fail(error: BaseException, function: Callable[..., Any]) -> NoReturn:
    """Raises the error of `explain`."""
    explained = explain(error, function)
    if explained is error:
        raise error
    raise explained from (None if isinstance(error, TracepackError) else error)


def _where(node: Node, call: Node | None, user_line: str = "") -> str:
    """The node with its line, or that of its code, and the op that it belongs to with the line that called it."""
    where = f"node {target_name(node.target)}"
    if call is not None:
        where += f" of op {target_name(call.target)!r}"
    place = user_line or node.line
    where += f" ({place})" if place else ""
    return where + (f", called at {call.line}" if call is not None and call.line else "")


def _plan_frames(trace: TracebackType | None, function: Callable[..., Any]) -> list[tuple[Any, FrameType, int]]:
    """Every generated function that an error came through, outermost first, with its frame and the failing line.

    A branch of a `cond` or the body of a loop is a function of its own, which the table of the whole one holds.
    """
    table: list[Any] = [thing for thing in function.__globals__.values() if isinstance(thing, FunctionType)]
    known: dict[Any, Any] = {thing.__code__: thing for thing in [*table, function] if "nodes" in vars(thing)}
    found = []
    while trace is not None:
        if trace.tb_frame.f_code in known:
            found.append((known[trace.tb_frame.f_code], trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _first_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    text = text.split("Exception raised from")[0].strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arguments(node: Node, text: str, frame: FrameType) -> str:
    """The arguments of the failing line, and the recorded types of its values."""
    shown = ", ".join(_show(argument) for argument in _read(text, frame)) or "none"
    kinds = [str(leaf.type) for leaf in uses(node) if isinstance(leaf, Value) and isinstance(leaf.type, TensorType)]
    return f"arguments: {shown}" + (f"; recorded with {', '.join(kinds)}" if kinds else "")


def _read(text: str, frame: FrameType) -> Iterator[Any]:
    """The tensors and numbers behind the variables and weights that a generated line reads, in its order."""
    call = text.split("; del ", maxsplit=1)[0].split(" = ", 1)[-1]
    for name in re.findall(r"\b(?:v\d+|w_\d+)\b", call):
        scope = frame.f_locals if name in frame.f_locals else frame.f_globals
        if name in scope:
            yield scope[name]


def _show(argument: Any) -> str:
    if isinstance(argument, torch.Tensor):
        return f"{str(argument.dtype).removeprefix('torch.')}{list(argument.shape)}"
    try:
        return (reprlib.repr if isinstance(argument, list | tuple | dict) else repr)(argument)[:60]
    except ValueError:  # Python writes no integer of more than 4300 digits
        return type(argument).__name__
