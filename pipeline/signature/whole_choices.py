"""Choices that look at all rows of a batch at once: `if x.mean() > 0`. No torch.

Rows that run together would share such a choice, and no run of examples shows where it turns: at a number that one row
in a million has. So it is read off the graph. A choice is each row's own where it depends on sizes that the rows share,
on nothing that is given, or on one row alone, as in a loop over the rows. What such a choice leads to, runs must show.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ...ops.graph.graph import BodyCall, Graph, Guard, Node, Operator, SourceLine, Value
from ...ops.graph.traverse import leaves, uses
from ...ops.graph.types import BOOL, FLOAT, INT, STR, TensorType

_MOST_ROUNDS = 20
_MOST_NODES = 200_000  # those of loops and of ops for each time that they are looked at
_CONTROL = {"cond": "choice", "while_loop": "loop", "map": "each"}
_NUMBERS = (INT, FLOAT, BOOL, STR)
_COUNTS = ("py.size", "py.array_size", "py.numel", "py.len")
_WITH_NOTHING = ("py.eq", "py.ne", "py.gt", "py.bool", "py.not_")
_SETTINGS = ("py.ndim", "py.array_rank", "py.dtype")


class _DependsOn(IntEnum):
    """What a value depends on; of several, the highest."""

    NOTHING = 0
    COUNTER = 1  # of a loop as long as all rows are
    COUNT = 2  # a size that may be the number of rows
    SIZE = 3  # what is computed of one
    PLACE = 4  # of a loop that may go over the rows
    ROW = 5  # one row alone
    ROWS = 6  # a list with an item for each row, which depends on its row alone
    INPUT = 7  # as it is given
    ALL = 8  # the data of all rows
    CHOICE = 9  # what is true of all rows, or of their number


_SIZES = (_DependsOn.COUNT, _DependsOn.SIZE, _DependsOn.PLACE)
_DATA = (_DependsOn.ROWS, _DependsOn.INPUT, _DependsOn.ALL, _DependsOn.CHOICE)


class _FoundError(Exception):
    """A choice for all rows was found."""

    def __init__(self, node: Node) -> None:
        self.text = _text(node.line)


def _text(line: SourceLine | None) -> str:
    return f"a choice is made for all rows at once{f' ({line})' if line else ''}"


def choice_for_all(graph: Graph) -> str:
    """The choice that a graph makes for all rows together, with its line; empty where there is none.

    Args:
        graph: of a pipeline whose inputs have a row for each item of their first dimension.
    """
    try:
        results = _FollowedRows().follow(graph, [_given(value) for value in graph.inputs])
    except _FoundError as found:
        return found.text
    return _text(None) if _DependsOn.CHOICE in results else ""


def _given(value: Value) -> _DependsOn:
    plain = isinstance(value.type, TensorType) or value.type in _NUMBERS
    return _DependsOn.INPUT if plain else _DependsOn.ROWS


def _of(tree: Any, known: dict[int, _DependsOn]) -> _DependsOn:
    """What an argument depends on."""
    return max((known.get(id(leaf), _DependsOn.NOTHING) for leaf in leaves(tree)), default=_DependsOn.NOTHING)


def _count(node: Node, state: _DependsOn) -> _DependsOn:
    """What a size depends on: each but the first is one that the rows share, which runs show to be so."""
    if state in (_DependsOn.NOTHING, _DependsOn.ROW):
        return state
    if len(node.args) > 1 and isinstance(node.args[1], int):
        kind = node.args[0].type if isinstance(node.args[0], Value) else None
        shape = kind.shape if isinstance(kind, TensorType) else ()
        if shape and (dim := node.args[1] % len(shape)) and shape[dim] != shape[0]:
            return _DependsOn.NOTHING
    return _DependsOn.COUNT


def _reads(test: Graph, given: Sequence[_DependsOn], *, counts: bool) -> bool:
    """Whether the condition of a loop looks at the data of rows; with `counts`, or at how many there are."""
    read = {id(value) for value, state in zip(test.inputs, given, strict=True) if state in _DATA}
    for node in test.nodes:
        counting = isinstance(node.target, Operator) and node.target.name in _COUNTS
        if (counts or not counting) and any(id(leaf) in read for leaf in uses(node)):
            read |= {id(leaf) for leaf in leaves(node.output)}
    return any(id(leaf) in read for leaf in leaves(test.output))


def _carried(state: _DependsOn, least: _DependsOn) -> _DependsOn:
    """What a value depends on that goes from round to round, and so from row to row."""
    return max(state, least) if state <= _DependsOn.PLACE else max(state, _DependsOn.ALL)


def _is_bool(leaf: Any) -> bool:
    """Whether a value is a truth value, or a tensor of them."""
    kind = leaf.type if isinstance(leaf, Value) else None
    return kind == BOOL or (isinstance(kind, TensorType) and kind.dtype == "bool")


class _FollowedRows:
    """What the values of graphs depend on; `left` nodes may still be looked at."""

    def __init__(self) -> None:
        self.left = _MOST_NODES

    def follow(self, graph: Graph, given: Sequence[_DependsOn], within: bool = False) -> list[_DependsOn]:
        """What the results of a graph depend on.

        Raises:
            _FoundError: it makes a choice for all rows.
        """
        known = dict(zip(map(id, graph.inputs), given, strict=True))
        for node in graph.nodes:
            self.left -= 1
            if self.left < 0:
                raise _FoundError(node)
            found = self.found(node, known, within)
            made = list(leaves(node.output))
            states = found if len(found) == len(made) else [max(found)] * len(made)
            known.update((id(leaf), state) for leaf, state in zip(made, states, strict=True) if isinstance(leaf, Value))
        output = graph.output if isinstance(graph.output, tuple) else (graph.output,)
        return [_of(each, known) for each in output] or [_DependsOn.NOTHING]

    def found(self, node: Node, known: dict[int, _DependsOn], within: bool) -> list[_DependsOn]:
        """What the results of a node depend on, in their order; or one answer for all."""
        states = [known.get(id(leaf), _DependsOn.NOTHING) for leaf in uses(node)]
        if isinstance(node.target, BodyCall):
            return self.follow(node.target.body.graph, [_of(arg, known) for arg in node.args], True)
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name in ("cond", "while_loop", "map"):
            control: list[_DependsOn] = getattr(self, _CONTROL[name])(node, known, within)
            return control
        made = [leaf for leaf in leaves(node.output) if isinstance(leaf, Value)]
        plain = bool(made) and all(value.type in _NUMBERS for value in made)
        state = max(states, default=_DependsOn.NOTHING)
        if state is _DependsOn.CHOICE and not plain and not isinstance(node.target, Guard) and not within:
            raise _FoundError(node)
        if name in _SETTINGS:
            return [_DependsOn.NOTHING]
        if name in _COUNTS:
            return [_count(node, states[0])]
        if name == "py.rows":
            return [_DependsOn.ROWS if state is _DependsOn.INPUT else _DependsOn.ALL]
        if name == "py.getitem" and states[0] is _DependsOn.ROWS:
            return [
                _DependsOn.ROW
                if max(states[1:], default=state) in (_DependsOn.COUNTER, _DependsOn.PLACE)
                else _DependsOn.ALL
            ]
        if name in ("py.zip", "py.zip_strict") and set(states) == {_DependsOn.ROWS}:
            return [_DependsOn.ROWS]
        if name in _WITH_NOTHING and state is _DependsOn.COUNT and all(arg == 0 for arg in node.args[1:]):
            return [_DependsOn.NOTHING]  # whether there are any rows: in a batch there are
        if state is _DependsOn.ROW and any(each in _SIZES for each in states):
            state = _DependsOn.ALL
        state = {
            _DependsOn.COUNT: _DependsOn.SIZE,
            _DependsOn.INPUT: _DependsOn.ALL,
            _DependsOn.ROWS: _DependsOn.ALL,
        }.get(state, state)
        if (
            state in (_DependsOn.ALL, _DependsOn.SIZE, _DependsOn.PLACE)
            and plain
            and any(map(_is_bool, (*made, *uses(node))))
        ):
            state = _DependsOn.CHOICE
        return [state]

    def choice(self, node: Node, known: dict[int, _DependsOn], within: bool) -> list[_DependsOn]:
        pred, first, second, operands = node.args
        chosen = _of(pred, known)
        if chosen not in (_DependsOn.NOTHING, _DependsOn.COUNTER, _DependsOn.ROW):
            raise _FoundError(node)
        given = [_of(each, known) for each in operands]
        sides = [self.follow(side, given, within) for side in (first, second)]
        return [max(chosen, *both) for both in zip(*sides, strict=True)]

    def loop(self, node: Node, known: dict[int, _DependsOn], within: bool) -> list[_DependsOn]:
        test, body, carried, *rest = node.args
        constant = [_of(each, known) for each in (rest[0] if rest else ())]
        first = [_of(each, known) for each in carried]
        if _reads(test, [_DependsOn.ALL if state in _SIZES else state for state in (*first, *constant)], counts=True):
            state = [_carried(each, _DependsOn.PLACE) for each in first]
        else:
            state = [_carried(each, _DependsOn.COUNTER) for each in first]
        for _ in range(_MOST_ROUNDS):
            after = [_carried(each, _DependsOn.NOTHING) for each in self.follow(body, [*state, *constant], within)]
            following = [max(both) for both in zip(state, after, strict=True)]
            if following == state:
                break
            state = following
        if _reads(test, [*state, *constant], counts=False):
            raise _FoundError(node)
        return state

    def each(self, node: Node, known: dict[int, _DependsOn], within: bool) -> list[_DependsOn]:
        body, lists, *rest = node.args
        constant, *tests = rest or [()]
        items = [_of(each, known) for each in lists]
        items = [
            _DependsOn.ROW if state is _DependsOn.ROWS else _DependsOn.ALL if state is _DependsOn.INPUT else state
            for state in items
        ]
        given = [*items, *(_of(each, known) for each in constant)]
        for test in tests:
            if max(self.follow(test, given, within)) not in (_DependsOn.NOTHING, _DependsOn.ROW):
                raise _FoundError(node)
        state = max(self.follow(body, given, within))
        return [_DependsOn.ROWS if state in (_DependsOn.NOTHING, _DependsOn.ROW) else state]
