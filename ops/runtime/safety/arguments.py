"""Checks the arguments of the operators in a file once, at load, before any operator is called.

torch takes a raw integer for a dtype, a layout or a memory format, and looks it up in a table without a check; it also
takes lists and keywords that no model passes. So every argument is checked against the schema of its operator. One that
selects a kernel (dtype, layout, memory format, device) must be a literal, which is looked up in closed tables. A Value
may be a tensor or a number, which torch checks when the operator is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch

from ...graph.errors import GraphError, UnknownOperatorError
from ...graph.frozen_class import frozen_object
from ...graph.graph import Constant, Literal, Node, Operator, Value
from ...graph.operators.names import CODE, CONTROL_FLOW, OF_ARRAYS, check_name
from ...graph.traverse import leaves
from ...graph.types import STR, STRINGS, ScalarType
from ...graph.verify import check_branches
from ..primitives.numpy import TEXTUAL, is_word, ufunc_of

MOST_ITEMS = 65_536
"""The largest number of items in a list that is an argument."""

MOST_ENTRIES = 1 << 20
"""The largest number of entries in a table."""
_TABLES = ("py.lookup", "py.lookup_all", "py.contains")

LARGEST_INT = 2**63
_ENUMERATED = ("dtype", "layout", "device", "memory_format")


@frozen_object
class Argument:
    """One argument of a schema: its name, whether it is optional or keyword-only, and the test of its type."""

    name: str
    optional: bool
    keyword: bool
    accepts: Callable[[Any], bool]
    kind: str


def check_arguments(node: Node) -> None:
    """Checks the arguments of a node that applies an operator.

    Raises:
        GraphError: an argument does not fit the schema of the operator.
        UnknownOperatorError: this torch has no such operator.
    """
    assert isinstance(node.target, Operator)
    name = node.target.name
    if name in CONTROL_FLOW:
        check_branches(node, f"operator {name}")
        return
    if name == "py.draw":
        _check_draw(node)
        return
    if name == CODE:
        _check_code(node)
        return
    if name.startswith("aten."):
        _check_schema(name, node.args, node.kwargs)
        return
    if name.startswith(OF_ARRAYS):
        _check_receivers(name, node)
    for key, given in _named(node):
        _check_free(name, key, given)


def _check_draw(node: Node) -> None:
    """Checks a draw from a generator, whose arguments are the name and the arguments of a random operator."""
    match node.args:
        case [_, str(name), tuple() | list() as args, dict() as kwargs] if not node.kwargs and _all_text(kwargs):
            check_name(name)
            if name.startswith("py.") or name in CONTROL_FLOW:
                raise GraphError("py.draw names an operator that draws nothing", got=repr(name[:80]))
            check_arguments(Node(Operator(name), tuple(args), kwargs))
        case _:
            raise _wrong("py.draw", "its arguments", node.args, "a generator, a name, a tuple and a dict")


def _check_code(node: Node) -> None:
    """Checks the text of a block of plain Python, and the kind of what it gives."""
    from ..primitives.plain_code.running import block_of, is_kind  # few files have one

    match node.args:
        case [str(text), kind, *given] if not node.kwargs and is_kind(kind):
            block_of(text).check_given(given)
            check_branches(node, f"operator {CODE}")
        case _:
            raise _wrong(CODE, "its arguments", node.args, "a text, a kind, and what the text is given")


def _all_text(kwargs: dict[Any, Any]) -> bool:
    return all(type(key) is str for key in kwargs)


# -- operators with a schema -----------------------------------------------------------------------------------


def _check_schema(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    expected = _schema(name)
    if len(args) > _by_position(name):
        raise _wrong(name, "its arguments", f"{len(args)} by position", f"{_by_position(name)} at most")
    for given, argument in zip(args, expected, strict=False):
        if not argument.accepts(given):
            raise _wrong(name, argument.name, given, argument.kind)
    left = dict(kwargs)
    for argument in expected[len(args) :]:
        if argument.name not in left:
            if not argument.optional:
                raise _wrong(name, argument.name, "nothing", argument.kind)
        elif not argument.accepts(left.pop(argument.name)):
            raise _wrong(name, argument.name, kwargs[argument.name], argument.kind)
    if left:
        raise _wrong(name, "its arguments", f"{next(iter(left))[:40]!r}", "names of its schema")


@cache
def _schema(name: str) -> tuple[Argument, ...]:
    base, which = name.removeprefix("aten.").rsplit(".", 1)
    try:
        schema = torch._C._get_schema(f"aten::{base}", "" if which == "default" else which)
    except RuntimeError as error:
        raise UnknownOperatorError(
            f"operator {name!r} does not exist in torch {torch.__version__}",
            fix="Load the file with the torch version that `tracepack inspect` shows, or a newer one.",
        ) from error
    return tuple(
        Argument(
            argument.name,
            argument.has_default_value(),
            argument.kwarg_only,
            _is_reduction if argument.name == "reduction" else _accepts(str(argument.real_type)),
            str(argument.real_type),
        )
        for argument in schema.arguments
    )


@cache
def _by_position(name: str) -> int:
    """How many arguments of an operator may be given by position; those by keyword alone follow them."""
    return sum(not argument.keyword for argument in _schema(name))


@cache
def _accepts(kind: str) -> Callable[[Any], bool]:
    """The test for a type of a schema, such as ``Optional[List[int]]``."""
    if kind.startswith("Optional["):
        inner = _accepts(kind[9:-1])
        return lambda given: given is None or inner(given)
    if kind.startswith("List["):
        return _is_list_of(_accepts(kind[5:-1]), one_for_all=kind in ("List[int]", "List[float]"))
    return _SIMPLE.get(kind, lambda given: False)


def _is_list_of(item: Callable[[Any], bool], *, one_for_all: bool) -> Callable[[Any], bool]:
    def accepts(given: Any) -> bool:
        if isinstance(given, list | tuple):
            return len(given) <= MOST_ITEMS and all(map(item, given))
        return isinstance(given, Value) or (one_for_all and item(given))

    return accepts


def _is_number(given: Any) -> bool:
    return _is_int(given) or isinstance(given, float | complex)


def _is_int(given: Any) -> bool:
    if isinstance(given, Value):
        return given.type not in (STR, STRINGS)
    return isinstance(given, int) and -LARGEST_INT <= given < LARGEST_INT


def _is_reduction(given: Any) -> bool:
    """Whether a number is a reduction that losses know: with another one they return uninitialised memory."""
    return type(given) is int and 0 <= given <= 2


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda given: isinstance(given, Constant) or _is_number(given),
    "int": _is_int,
    "bool": lambda given: isinstance(given, bool | Value) or given in (0, 1),
    "float": lambda given: _is_int(given) or isinstance(given, float),
    "number": _is_number,
    "str": lambda given: isinstance(given, str) or (isinstance(given, Value) and given.type == STR),
    "Device": lambda given: isinstance(given, Literal) and given.kind == "device",
    "ScalarType": lambda given: isinstance(given, Literal) and given.kind == "dtype",
    "Layout": lambda given: isinstance(given, Literal) and given.kind == "layout",
    "MemoryFormat": lambda given: isinstance(given, Literal) and given.kind == "memory_format",
    "Generator": lambda given: isinstance(given, Value),
}


# -- operators that choose their overload themselves -----------------------------------------------------------


def _named(node: Node) -> Iterator[tuple[str, Any]]:
    for given in node.args:
        yield "", given
    yield from node.kwargs.items()


def _check_receivers(name: str, node: Node) -> None:
    """Checks that a universal function gets its result array as `out=`, where `memory` sees it, and fills it."""
    ufunc = ufunc_of(name)
    if ufunc is None:
        return
    if len(node.args) > ufunc.nin:
        raise _wrong(name, "its arguments", f"{len(node.args)} by position", f"{ufunc.nin} at most")
    if node.kwargs.get("where", True) is not True and node.kwargs.get("out") is None:
        raise _wrong(name, "where", "places that nothing is written to", "an out besides")


def _check_free(name: str, key: str, given: Any) -> None:
    """Checks an argument of a function without a schema; only a literal may select a kernel."""
    if key in _ENUMERATED and not (given is None or isinstance(given, Literal)):
        raise _wrong(name, key, given, "a literal")
    most = MOST_ENTRIES if name in _TABLES else MOST_ITEMS
    if isinstance(given, list | tuple) and len(given) > most:
        raise _wrong(name, key or "a list", f"{len(given)} items", f"{most} at most")
    for leaf in leaves(given):
        if type(leaf) is int and not name.startswith("py.") and not -LARGEST_INT <= leaf < 2 * LARGEST_INT:
            raise _wrong(name, key or "an argument", leaf, "an integer of 64 bits")
        if name.startswith(OF_ARRAYS) and name[6:] not in TEXTUAL and not _is_plain_text(leaf):
            raise _wrong(name, key or "an argument", leaf, "one of numpy's words")


def _is_plain_text(leaf: Any) -> bool:
    """Whether a leaf is not a text that numpy could read as a dtype."""
    if isinstance(leaf, Value) and isinstance(leaf.type, ScalarType):
        return leaf.type not in (STR, STRINGS)
    return not isinstance(leaf, bytes) and (not isinstance(leaf, str) or is_word(leaf))


def _wrong(name: str, argument: str, got: Any, expected: Any) -> GraphError:
    return GraphError(
        f"operator {name} was given a wrong {argument}"
        if argument != "its arguments"
        else f"operator {name} was given wrong arguments",
        got=(got if isinstance(got, str) else repr(got))[:80],
        expected=str(expected)[:80],
    )
