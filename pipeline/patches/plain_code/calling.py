"""What stands for the statements of a block while a function is recorded: it runs them, and writes one node."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import torch

from ....ops.graph.errors import RecordError, TracepackError
from ....ops.graph.graph import BodyCall, Node, Operator, Value
from ....ops.graph.operators.names import DRAWING
from ....ops.graph.types import ANY, ARRAY, SCALARS
from ....ops.runtime.primitives.plain_code.arrays import block_arrays
from ....ops.runtime.primitives.plain_code.block_tensors import kind_of
from ....ops.runtime.primitives.plain_code.one_run.set_orders import all_orders
from ....ops.runtime.primitives.plain_code.running import plain_code
from ....ops.runtime.user_code import is_users, user_line
from ...proxies.make import TracedOptional
from ...proxies.trees import concrete, list_type
from ...recording.recorder import Recorder
from ...recording.results import wrapped_scalar
from ...rules.settings import refuse_errstate
from ...rules.tried.tried_lines import tried_line
from ...running.runner import may_write
from ..python.operations import active
from ..redirect import stand_in
from ..source.scoping import names_read
from .called_models import CalledModel, recorded_models
from .encoding import Encoding
from .models.kinds_of_calls import with_kinds
from .opaque import Opaque
from .own_results import alone, share
from .plain_literals import NOT_PLAIN, UnplainError
from .statements.beginnings import made_names
from .statements.other_inputs import OtherKind, other_inputs, other_kind
from .statements.own_variables import Given
from .statements.sure_kinds import kinds_of_result, own_parts

OF_NO_ITEMS = "of no items it gives another kind of value"
OF_CHOICE = "on other inputs it "
OF_NUMBERS = "it gives a number of numpy, in whose place may be one of Python's on other data"


def run_block(
    text: str,
    names: tuple[str, ...],
    own: tuple[tuple[str, ...], tuple[str, ...], tuple[Given, ...]],
    result: bool,
    hoisted: tuple[tuple[str, str, bool], ...],
    tensors: int,
    opened: tuple[str, ...],
    *values: Any,
) -> Any:
    """Stands for some statements of a function.

    Args:
        text: their source.
        names: their variables that are set before.
        own: those with a list or a tensor that no other variable has, those that are read after them, and which
            functions are given the first before.
        result: whether they give the result of the traced function.
        hoisted: names that stand for expressions in the text, the source of those, and whether they come after
            something that may change what they find.
        tensors: whether it may have tensors and arrays; above 1, whether code goes on with numbers of numpy, too, and
            above 2, with what is of another kind where there are no items.
        opened: the names of what it calls whose statements belong to it, modules among them.
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
            gives = [
                partial(_early, recorder, part, give, before)
                for part, give in zip(hoisted, values[:count], strict=True)
            ]
            parts = {name: (source, give) for (name, source, _), give in zip(hoisted, gives, strict=True)}
            frame = _users_frame(sys._getframe(1))
            own_names = alone(recorder, {name: before[name] for name in own[0]}, frame, {*names, *own[1]}, own[2])
            encoding = Encoding(text, before, own_names, frame.f_globals, frame.f_code, parts, tensors > 0, opened)
            written, given = encoding.text(), encoding.arguments()
            if "np." in written or any(isinstance(concrete(each), np.ndarray | np.generic) for each in given):
                refuse_errstate(recorder)
            if encoding.uses_torch:
                recorder.pin_setting("default_dtype")
                recorder.pin_setting("autocast")
        except UnplainError as error:
            raise RecordError(f"{NOT_PLAIN}: {error}", where=str(user_line() or "")) from None
        sure = kinds_of_result(written, [*map(_exact, given)]) if result else None
        kind, found = _recorded(recorder, written, given, sure, tensors)
        if not result:
            share(recorder, written, kind, [*before.values()], found)
        return found


def _early(recorder: Recorder, part: tuple[str, str, bool], give: Callable[[], Any], before: Mapping[str, Any]) -> Any:
    """What an expression of a block gives that is evaluated before all of the block.

    Raises:
        UnplainError: it writes to what the block reads, has state and comes after what may have left the function, or
            goes through something else, which the block may change before.
    """
    reads = names_read([ast.parse(part[1])]) if part[2] else set()
    if any(isinstance(before.get(name), MappingView | Iterator) for name in reads):
        raise UnplainError(f"it would run {part[1]} too early")
    count = len(recorder.nodes)
    found = give()
    if any(_acts(node) and (part[2] or not isinstance(node.target, BodyCall)) for node in recorder.nodes[count:]):
        raise UnplainError(f"it would run {part[1]} too early")
    return found


def _acts(node: Node) -> bool:
    """Whether a node may change something, or draws random numbers."""
    if isinstance(node.target, BodyCall) and any(_acts(inner) for inner in node.target.body.graph.nodes):
        return True
    return may_write(node) or (isinstance(node.target, Operator) and node.target.name in DRAWING)


def _users_frame(frame: FrameType) -> FrameType:
    """That of the user's function that a call came from."""
    found: FrameType | None = frame
    while found is not None and not is_users(found.f_code.co_filename):
        found = found.f_back
    return found or frame


def _recorded(recorder: Recorder, text: str, given: list[Any], kind: Any, tensors: int) -> tuple[Any, Any]:
    """Runs the block on the example, and writes its node; returns the kind of its result, and the result."""
    recorder.refuse_ended()
    run = partial(_on_example, recorder, text, "any" if kind is None else kind)
    plain = [each if isinstance(each, CalledModel) else concrete(each) for each in given]
    models = [each for each in given if isinstance(each, CalledModel)]
    others = partial(other_inputs, text, plain, _samples(given))
    graphs, calls, found = recorded_models(recorder, plain, run, others) if models else ([], plain, run(plain))
    goes_on, asked = kind is None, kind
    kind = _with_own(text, _kind(found)) if goes_on else kind
    if '"tensor"' in json.dumps(kind) and _chooses(text):
        raise RecordError(f"{NOT_PLAIN}: it gives a tensor or a number", where=str(user_line() or ""))
    if _has_number(kind) and tensors < 2:
        raise RecordError(f"{NOT_PLAIN}: {OF_NUMBERS}", where=str(user_line() or ""))
    if (goes_on or models) and tensors < 3 and (other := _other_kind(recorder, text, kind, given, calls)) is not None:
        with recorder.within(), torch._C.DisableTorchFunction():
            further = with_kinds(text, given, other.calls)
        if further is not None:
            return _recorded(recorder, *further, asked, tensors)
        what = OF_NO_ITEMS if other.of_items else f"{OF_CHOICE}{other.what}"
        raise RecordError(f"{NOT_PLAIN}: {what}", where=str(user_line() or ""))
    given = given[: len(given) - len(models)]  # they come last
    arguments = (*recorder.arguments((text, kind, *given)), *graphs[len(given) :])
    varies = any(recorder.values.varies(leaf) for leaf in _leaves(given))
    output, stand_in = _wrapped(recorder, kind, found, varies)
    recorder.nodes.append(Node(Operator("py.plain_code"), arguments, {}, output, tried_line(callers_only=True), True))
    return kind, stand_in


def _other_kind(recorder: Recorder, text: str, kind: Any, given: list[Any], plain: list[Any]) -> OtherKind | None:
    """The other kind that a block gives for other inputs.

    Args:
        recorder: of the function.
        text: of the block.
        kind: of what it gives on the example.
        given: what it is given.
        plain: the same on the example.
    """
    with recorder.within(), torch._C.DisableTorchFunction():
        models = {at: each.answer for at, each in enumerate(given) if isinstance(each, CalledModel)}
        return other_kind(text, kind, plain, _samples(given), models)


def _samples(given: Sequence[Any]) -> dict[int, Any]:
    """What those are else that may be None, by their places."""
    optional = ((at, each) for at, each in enumerate(given) if isinstance(each, TracedOptional))
    return {at: concrete(each.sample) if each.concrete is None else None for at, each in optional}


def _on_example(recorder: Recorder, text: str, kind: Any, given: list[Any]) -> Any:
    """What a block gives on the example.

    Raises:
        RecordError: it does what a block must not do, or fails.
    """
    with recorder.within(), torch._C.DisableTorchFunction(), all_orders():
        try:
            return plain_code(text, kind, *given)
        except TracepackError as error:
            raise RecordError(f"{NOT_PLAIN}: {error.what}", where=str(user_line() or ""), fix=error.fix) from None
        except Exception as error:
            raise RecordError(
                f"the code fails on the example: {type(error).__name__}: {error}", where=str(user_line() or "")
            ) from None


def _chooses(text: str) -> bool:
    """Whether a block gives what `max` or `min` takes of several things, of which one may be no tensor."""
    given = [part.value for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Return)]
    parts = [part for value in given for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    return any(
        isinstance(each, ast.Call) and ast.unparse(each.func) in ("max", "min") and len(each.args) > 1 for each in parts
    )


def _exact(thing: Any) -> Any:
    """What a block is given on the example, where a run gives it the same kind."""
    return None if isinstance(thing, TracedOptional | CalledModel) else concrete(thing)


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
        case np.ndarray() | np.generic() if block_arrays.is_of_block(found):
            return block_arrays.kind_of(found)
        case bool() | int() | float() | str() | complex():
            return type(found).__name__
        case torch.Tensor():
            return kind_of(found)
        case torch.Size():
            return ["sizes", len(found)]
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


def _with_own(text: str, kind: Any) -> Any:
    """The kind of what a block gives, with a mark on each array that it makes: it holds no memory of what is given."""
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    match kind, [part for line in function.body for part in own_parts(line) if isinstance(part, ast.Return)]:
        case ["tuple", *kinds], [ast.Return(ast.Tuple(parts))]:
            made = made_names(function.body)
            own = [each[0] == "array" and isinstance(p, ast.Name) and p.id in made for p, each in _pairs(parts, kinds)]
            return ["tuple", *([*each, "own"] if mark else each for mark, each in _pairs(own, kinds))]
    return kind


def _pairs(one: list[Any], other: list[Any]) -> Any:
    return zip(one, other, strict=True)


def _has_number(kind: Any) -> bool:
    """Whether a kind is, or holds, a number of numpy."""
    return isinstance(kind, list) and (kind[0] == "number" or any(map(_has_number, kind[1:])))


def _is_known(recorder: Recorder, tensor: torch.Tensor) -> bool:
    return tensor in recorder.values or id(tensor) in recorder.values.captured


def _wrapped(recorder: Recorder, kind: Any, found: Any, varies: bool) -> tuple[Any, Any]:
    """The output of the node, and what the function gets for it."""
    if kind == "any":
        value = Value(ANY)
        return value, Opaque(recorder, value, found, True)
    if kind[0] == "tensor":
        with recorder.within(), torch._C.DisableTorchFunction():
            # One that the block was given, or gives twice, is another one on other data.
            made = recorder.values.twins.twin(found) if _is_known(recorder, found) else found
        return recorder.values.add(made, varies=True), made
    if kind[0] in ("array", "number"):
        return wrapped_scalar(recorder, ARRAY if kind[0] == "array" else ANY, found, True)
    if kind[0] in ("tuple", "sizes"):
        inner = kind[1:] if kind[0] == "tuple" else ["int"] * len(found)
        pairs = [_wrapped(recorder, of, each, varies) for of, each in zip(inner, found, strict=True)]
        return tuple(value for value, _ in pairs), type(found)(each for _, each in pairs)
    if kind[0] == "keys":
        table = {key: _wrapped(recorder, inner, found[key], varies) for key, inner in kind[1:]}
        return {key: pair[0] for key, pair in table.items()}, {key: pair[1] for key, pair in table.items()}
    of = list_type(found) if kind[0] == "list" else SCALARS.get(type(found))
    return wrapped_scalar(recorder, of or ANY, found, varies)


BLOCKS = {"<run_block>": run_block}
"""Its name in the code of functions."""
stand_in(run_block, run_block)
