"""Choices that look at all rows of a batch at once, `if x.mean() > 0`, and numbers made of their count. No torch.

Rows that run together would share such a choice, and no run of examples shows where it turns: at a number that one row
in a million has. So it is read off the graph. A choice is each row's own where it depends on sizes that the rows share,
on nothing that is given, or on one row alone, as in a loop over the rows. What such a choice leads to, runs must show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops.graph.graph import BodyCall, Graph, Guard, Node, Operator, SourceLine, Value
from ....ops.graph.traverse import leaves, uses
from ....ops.graph.types import BOOL, TensorType
from .counted_sizes import CountedSizes
from .operator_names import VIEWS, WRITES, operator_name
from .row_counts import DATA, NUMBERS, SIZES, DependsOn, NumberOfRowsError, sizes_in

_MOST_ROUNDS = 20
_MOST_NODES = 200_000  # those of loops and of ops for each time that they are looked at
_CONTROL = {"cond": "choice", "while_loop": "loop", "map": "each"}
_COUNTS = ("py.size", "py.array_size", "py.numel", "py.len", "py.stride", "torch.Tensor.nbytes.__get__")
_WITH_NOTHING = ("py.eq", "py.ne", "py.gt", "py.bool", "py.not_")
_SETTINGS = ("py.ndim", "py.array_rank", "py.dtype")
_ITEMS = {DependsOn.ROWS: DependsOn.ROW, DependsOn.PAIRS: DependsOn.PAIR, DependsOn.INPUT: DependsOn.ALL}
_CHOICE = "a choice is made for all rows at once"
_NUMBER = "the number of rows, or the place of a row, is used as a number"


class _FoundError(Exception):
    """A choice for all rows, or a number made of how many there are, was found."""

    def __init__(self, node: Node, what: str = _CHOICE) -> None:
        self.text = _text(node.line, what)


def _text(line: SourceLine | None, what: str = _CHOICE) -> str:
    return f"{what}{f' ({line})' if line else ''}"


def choice_for_all(graph: Graph) -> str:
    """The choice that a graph makes for all rows together, or the number that it makes of how many there are.

    It comes with its line, and is empty where there is none.

    Args:
        graph: of a pipeline whose inputs have a row for each item of their first dimension.
    """
    try:
        followed = _FollowedRows(CountedSizes.at_first(graph))
        results = followed.follow(graph, [_given(value) for value in graph.inputs])
    except _FoundError as found:
        return found.text
    return _text(None) if DependsOn.CHOICE in results else ""


def _given(value: Value) -> DependsOn:
    plain = isinstance(value.type, TensorType) or value.type in NUMBERS
    return DependsOn.INPUT if plain else DependsOn.ROWS


def _of(tree: Any, known: dict[int, DependsOn]) -> DependsOn:
    """What an argument depends on."""
    return max((known.get(id(leaf), DependsOn.NOTHING) for leaf in leaves(tree)), default=DependsOn.NOTHING)


def _count(node: Node, state: DependsOn, counted: CountedSizes) -> DependsOn:
    """What a size depends on: each but the first is one that the rows share, where its type does not say otherwise."""
    if state in (DependsOn.NOTHING, DependsOn.ROW):
        return state
    if len(node.args) > 1 and not counted.holds(node.args[0], node.args[1]):
        return DependsOn.NOTHING
    return DependsOn.COUNT


def _reads(test: Graph, given: Sequence[DependsOn], *, counts: bool) -> bool:
    """Whether the condition of a loop looks at the data of rows; with `counts`, or at how many there are."""
    read = {id(value) for value, state in zip(test.inputs, given, strict=True) if state in DATA}
    for node in test.nodes:
        counting = isinstance(node.target, Operator) and node.target.name in _COUNTS
        if (counts or not counting) and any(id(leaf) in read for leaf in uses(node)):
            read |= {id(leaf) for leaf in leaves(node.output)}
    return any(id(leaf) in read for leaf in leaves(test.output))


def _computes(test: Graph, given: Sequence[DependsOn], counted: CountedSizes) -> bool:
    """Whether the condition of a loop computes with the number of rows, or compares what is computed of it."""
    known: dict[int, DependsOn] = dict(zip(map(id, test.inputs), given, strict=True))
    for node in test.nodes:
        states = [known.get(id(leaf), DependsOn.NOTHING) for leaf in uses(node)]
        if DependsOn.SIZE in states:
            return True
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name in _COUNTS:
            known.update((id(leaf), _count(node, states[0], counted)) for leaf in leaves(node.output))
        elif DependsOn.COUNT in states and not all(map(_is_bool, leaves(node.output))):
            known.update((id(leaf), DependsOn.SIZE) for leaf in leaves(node.output))
    return False


def _carried(state: DependsOn, least: DependsOn) -> DependsOn:
    """What a value depends on that goes from round to round, and so from row to row."""
    return max(state, least) if state <= DependsOn.PLACE else max(state, DependsOn.ALL)


def _is_bool(leaf: Any) -> bool:
    """Whether a value is a truth value, or a tensor of them."""
    kind = leaf.type if isinstance(leaf, Value) else None
    return kind == BOOL or (isinstance(kind, TensorType) and kind.dtype == "bool")


def _in_place(node: Node) -> bool:
    """Whether an operator writes to its first argument."""
    name = node.target.name if isinstance(node.target, Operator) else ""
    return name.endswith("_") or (name.startswith(("aten.", "torch.")) and "_." in name and "__" not in name)


def _written(node: Node, state: Sequence[DependsOn], known: dict[int, DependsOn], bases: dict[int, Value]) -> None:
    """Notes what is written to a value, and so to what it is a view of."""
    target = node.args[0] if node.args else None
    given = max(_of((node.args[1:], node.kwargs), known), *state)
    given = DependsOn.ALL if given in DATA or given is DependsOn.ROW else given
    while isinstance(target, Value):
        before = known.get(id(target), DependsOn.NOTHING)
        known[id(target)] = given if before in SIZES and given > before else max(before, given)
        target = bases.get(id(target))


class _FollowedRows:
    """What the values of graphs depend on; `left` nodes may still be looked at.

    `counted` holds the sizes of the graph that is followed.
    """

    def __init__(self, counted: CountedSizes) -> None:
        self.left = _MOST_NODES
        self.counted = counted

    def called(
        self, graph: Graph, given: Sequence[DependsOn], arguments: Sequence[Any], within: bool
    ) -> list[DependsOn]:
        """What the results of a graph depend on that a node calls with these arguments."""
        before = self.counted
        self.counted = before.called(graph, arguments)
        try:
            return self.follow(graph, given, within)
        finally:
            self.counted = before

    def follow(self, graph: Graph, given: Sequence[DependsOn], within: bool = False) -> list[DependsOn]:
        """What the results of a graph depend on.

        Raises:
            _FoundError: it makes a choice for all rows.
        """
        known = dict(zip(map(id, graph.inputs), given, strict=True))
        bases: dict[int, Value] = {}
        for node in graph.nodes:
            self.left -= 1
            if self.left < 0:
                raise _FoundError(node)
            found = self.found(node, known, within)
            made = list(leaves(node.output))
            states = found if len(found) == len(made) else [max(found)] * len(made)
            known.update((id(leaf), state) for leaf, state in zip(made, states, strict=True) if isinstance(leaf, Value))
            self.counted.note(node, lambda value: _of(value, known) is not DependsOn.NOTHING)
            if operator_name(node) in VIEWS and isinstance(node.output, Value) and isinstance(node.args[0], Value):
                bases[id(node.output)] = node.args[0]
            if operator_name(node) in WRITES or _in_place(node):
                _written(node, found, known, bases)
        output = graph.output if isinstance(graph.output, tuple) else (graph.output,)
        return [_of(each, known) for each in output] or [DependsOn.NOTHING]

    def found(self, node: Node, known: dict[int, DependsOn], within: bool) -> list[DependsOn]:
        """What the results of a node depend on, in their order; or one answer for all."""
        states = [known.get(id(leaf), DependsOn.NOTHING) for leaf in uses(node)]
        if isinstance(node.target, BodyCall):
            given = [_of(arg, known) for arg in node.args]
            return self.called(node.target.body.graph, given, node.args, True)
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name in ("cond", "while_loop", "map"):
            control: list[DependsOn] = getattr(self, _CONTROL[name])(node, known, within)
            return control
        made = [leaf for leaf in leaves(node.output) if isinstance(leaf, Value)]
        plain = bool(made) and all(value.type in NUMBERS for value in made)
        state = max(states, default=DependsOn.NOTHING)
        if state is DependsOn.CHOICE and not plain and not isinstance(node.target, Guard) and not within:
            raise _FoundError(node)
        if name in _SETTINGS:
            return [DependsOn.NOTHING]
        if name in _COUNTS:
            return [_count(node, states[0], self.counted)]
        if not isinstance(node.target, Guard):
            try:
                of_sizes = sizes_in(node, lambda part: _of(part, known), self.counted)
            except NumberOfRowsError:
                raise _FoundError(node, _NUMBER) from None
            if of_sizes is not None:
                return [of_sizes]
        if name == "py.rows":
            return [DependsOn.ROWS if state is DependsOn.INPUT else DependsOn.ALL]
        if name == "py.getitem" and states[0] is DependsOn.ROWS:
            return [
                DependsOn.ROW
                if max(states[1:], default=state) in (DependsOn.COUNTER, DependsOn.PLACE)
                else DependsOn.ALL
            ]
        if (
            name == "py.enumerate"
            and states[0] is DependsOn.ROWS
            and len(states) == states.count(DependsOn.NOTHING) + 1
        ):
            return [DependsOn.PAIRS]
        if name == "py.getitem" and states[0] is DependsOn.PAIR and node.args[1] in (0, 1):
            return [DependsOn.ROW if node.args[1] else DependsOn.PLACE]
        if name in ("py.zip", "py.zip_strict") and set(states) == {DependsOn.ROWS}:
            return [DependsOn.ROWS]
        if name in _WITH_NOTHING and state is DependsOn.COUNT and all(arg == 0 for arg in node.args[1:]):
            return [DependsOn.NOTHING]  # whether there are any rows: in a batch there are
        if state is DependsOn.ROW and any(each in SIZES for each in states):
            state = DependsOn.ALL
        state = {
            DependsOn.COUNT: DependsOn.SIZE,
            DependsOn.INPUT: DependsOn.ALL,
            DependsOn.ROWS: DependsOn.ALL,
            DependsOn.PAIR: DependsOn.ALL,
            DependsOn.PAIRS: DependsOn.ALL,
        }.get(state, state)
        if (
            state in (DependsOn.ALL, DependsOn.SIZE, DependsOn.PLACE)
            and plain
            and any(map(_is_bool, (*made, *uses(node))))
        ):
            state = DependsOn.CHOICE
        return [state]

    def choice(self, node: Node, known: dict[int, DependsOn], within: bool) -> list[DependsOn]:
        pred, first, second, operands = node.args
        chosen = _of(pred, known)
        if chosen not in (DependsOn.NOTHING, DependsOn.COUNTER, DependsOn.ROW):
            raise _FoundError(node)
        given = [_of(each, known) for each in operands]
        sides = [self.called(side, given, operands, within) for side in (first, second)]
        return [max(chosen, *both) for both in zip(*sides, strict=True)]

    def loop(self, node: Node, known: dict[int, DependsOn], within: bool) -> list[DependsOn]:
        test, body, carried, *rest = node.args
        constant = [_of(each, known) for each in (rest[0] if rest else ())]
        arguments = [*carried, *(rest[0] if rest else ())]
        filled = {id(node.args[0]) for node in body.nodes if operator_name(node) in WRITES and node.args}
        first = [
            DependsOn.ALL if state is DependsOn.SHAPED and id(value) in filled else state
            for value, state in zip(body.inputs, [_of(each, known) for each in carried], strict=False)
        ]
        if _computes(test, [*first, *constant], self.counted.called(test, arguments)):
            raise _FoundError(node, _NUMBER)
        if _reads(test, [DependsOn.ALL if state in SIZES else state for state in (*first, *constant)], counts=True):
            state = [_carried(each, DependsOn.PLACE) for each in first]
        else:
            state = [_carried(each, DependsOn.COUNTER) for each in first]
        for _ in range(_MOST_ROUNDS):
            after = [
                _carried(each, DependsOn.NOTHING) for each in self.called(body, [*state, *constant], arguments, within)
            ]
            following = [max(both) for both in zip(state, after, strict=True)]
            if following == state:
                break
            state = following
        if _reads(test, [*state, *constant], counts=False):
            raise _FoundError(node)
        return state

    def each(self, node: Node, known: dict[int, DependsOn], within: bool) -> list[DependsOn]:
        body, lists, *rest = node.args
        constant, *tests = rest or [()]
        items = [_of(each, known) for each in lists]
        items = [_ITEMS.get(state, state) for state in items]
        given = [*items, *(_of(each, known) for each in constant)]
        arguments = [*(None for _ in lists), *constant]
        for test in tests:
            if max(self.called(test, given, arguments, within)) not in (DependsOn.NOTHING, DependsOn.ROW):
                raise _FoundError(node)
        state = max(self.called(body, given, arguments, within))
        state = DependsOn.ALL if state is DependsOn.PAIR else state
        if state is DependsOn.NOTHING and not tests and DependsOn.ROW in items:
            return [DependsOn.SHAPED]
        return [DependsOn.ROWS if state in (DependsOn.NOTHING, DependsOn.ROW) else state]
