"""What stands for the statements of a block while a function is recorded: it runs them, and writes one node."""

from __future__ import annotations

import ast
import sys
from types import CodeType, FrameType
from typing import Any

from ....ops.graph.errors import RecordError, TracepackError
from ....ops.graph.graph import Node, Operator, Value
from ....ops.graph.types import ANY, SCALARS
from ....ops.runtime.primitives.plain_code.running import plain_code
from ....ops.runtime.user_code import is_users, user_line
from ...proxies.trees import concrete, list_type
from ...recording.recorder import Recorder
from ...recording.results import wrapped_scalar
from ...rules.tried_lines import tried_line
from ..python.operations import active
from ..redirect import stand_in
from ..source.scoping import leaves
from .encoding import Encoding
from .opaque import Opaque
from .plain_literals import UnplainError

NOT_PLAIN = "the code cannot be a block of plain Python"


def run_block(
    text: str,
    names: tuple[str, ...],
    own: tuple[str, ...],
    result: bool,
    hoisted: tuple[tuple[str, str], ...],
    *values: Any,
) -> Any:
    """Stands for some statements of a function.

    Args:
        text: their source.
        names: their variables that are set before.
        own: those with a list or dict that no other variable has.
        result: whether they give the result of the traced function.
        hoisted: names that stand for expressions in the text, and the source of those.
        values: functions that give the values of those, then what the variables are.

    Raises:
        RecordError: they cannot be a block.
    """
    recorder = active()
    if recorder is None:
        raise RecordError(NOT_PLAIN)
    with recorder.refusing():
        try:
            count = len(hoisted)
            before = dict(zip(names, values[count:], strict=True))
            parts = {name: (source, give) for (name, source), give in zip(hoisted, values[:count], strict=True)}
            frame = sys._getframe(1)
            encoding = Encoding(text, before, own, frame.f_globals, _users_code(frame), parts)
            written, given = encoding.text(), encoding.arguments()
        except UnplainError as error:
            raise RecordError(f"{NOT_PLAIN}: {error}", where=str(user_line() or "")) from None
        return _recorded(recorder, written, given, _split(text) if result else None)


def _users_code(frame: FrameType) -> CodeType:
    """The code of the user's function that a call came from."""
    found: FrameType | None = frame
    while found is not None and not is_users(found.f_code.co_filename):
        found = found.f_back
    return (found or frame).f_code


def _split(text: str) -> Any:
    """The kind of what the returns of a block give, with the parts that all of them have."""
    body = ast.parse(text).body
    returns = [part.value for line in body for part in _own(line) if isinstance(part, ast.Return)]
    match returns if leaves(body) else []:
        case [ast.Tuple(first), *_] if first and not any(isinstance(each, ast.Starred) for each in first):
            if all(isinstance(each, ast.Tuple) and len(each.elts) == len(first) for each in returns):
                return ["tuple", *["any"] * len(first)]
        case [ast.Dict(keys), *_] if keys and all(isinstance(k, ast.Constant) and type(k.value) is str for k in keys):
            named = [k.value for k in keys if isinstance(k, ast.Constant)]
            if all(
                isinstance(each, ast.Dict) and [getattr(k, "value", ...) for k in each.keys] == named
                for each in returns
            ):
                return ["keys", *([name, "any"] for name in named)]
    return "any"


def _own(part: ast.AST) -> Any:
    yield part
    if not isinstance(part, ast.FunctionDef | ast.Lambda):
        for each in ast.iter_child_nodes(part):
            yield from _own(each)


def _recorded(recorder: Recorder, text: str, given: list[Any], kind: Any) -> Any:
    """Runs the block on the example, and writes its node."""
    recorder.refuse_ended()
    with recorder.within():
        plain = [concrete(each) for each in given]
        try:
            found = plain_code(text, "any" if kind is None else kind, *plain)
        except TracepackError as error:
            raise RecordError(f"{NOT_PLAIN}: {error.what}", where=str(user_line() or "")) from None
        except Exception as error:
            raise RecordError(
                f"the code fails on the example: {type(error).__name__}: {error}", where=str(user_line() or "")
            ) from None
    kind = _kind(found) if kind is None else kind
    arguments = recorder.arguments((text, kind, *given))
    varies = any(recorder.values.varies(leaf) for leaf in _leaves(given))
    output, stand_in = _wrapped(recorder, kind, found, varies)
    recorder.nodes.append(Node(Operator("py.plain_code"), arguments, {}, output, tried_line(callers_only=True), True))
    return stand_in


def _leaves(thing: Any) -> Any:
    if type(thing) in (list, tuple, dict):
        for each in thing.values() if type(thing) is dict else thing:
            yield from _leaves(each)
    else:
        yield thing


def _kind(found: Any, listed: bool = False) -> Any:
    """The kind of a value that code goes on with.

    Args:
        found: the value.
        listed: whether it is in a list, whose records all have the same keys.

    Raises:
        RecordError: the example does not tell it.
    """
    match found:
        case bool() | int() | float() | str() | complex():
            return type(found).__name__
        case tuple():
            return ["tuple", *(_kind(each, listed) for each in found)]
        case list() if (kinds := [_kind(each, True) for each in found]) and all(each == kinds[0] for each in kinds):
            return ["list", kinds[0]]
        case dict() if found and all(type(key) is str for key in found):
            kinds = [_kind(each, listed) for each in found.values()]
            if not listed and all(each == kinds[0] for each in kinds):
                return ["dict", kinds[0]]
            return ["keys", *map(list, zip(found, kinds, strict=True))]
    raise RecordError(f"{NOT_PLAIN}: the example does not tell what its results hold", where=str(user_line() or ""))


def _wrapped(recorder: Recorder, kind: Any, found: Any, varies: bool) -> tuple[Any, Any]:
    """The output of the node, and what the function gets for it."""
    if kind == "any":
        value = Value(ANY)
        return value, Opaque(recorder, value, found, True)
    if kind[0] == "tuple":
        pairs = [_wrapped(recorder, inner, each, varies) for inner, each in zip(kind[1:], found, strict=True)]
        return tuple(value for value, _ in pairs), tuple(each for _, each in pairs)
    if kind[0] == "keys":
        table = {key: _wrapped(recorder, inner, found[key], varies) for key, inner in kind[1:]}
        return {key: pair[0] for key, pair in table.items()}, {key: pair[1] for key, pair in table.items()}
    of = list_type(found) if kind[0] == "list" else SCALARS.get(type(found))
    return wrapped_scalar(recorder, of or ANY, found, varies)


BLOCKS = {"<run_block>": run_block}
"""Its name in the code of functions."""
stand_in(run_block, run_block)
