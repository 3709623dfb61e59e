"""Recordings without the arguments whose default is None, beside the one that has an example of each.

A function asks `mask is None` while it is recorded. So it is recorded once more for each set of such arguments that a
call may leave out, and the recordings become ways of one pipeline. Where one cannot be made, or fits no other, the
default is lost: each call has to give the argument, and trace says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ...ops.graph.errors import ArchiveError, TracepackError, one_line
from ...ops.graph.graph import Constant, Graph, Node, Operator
from ...ops.graph.operators.names import ON_ACCELERATOR
from ...ops.graph.program import Program
from ...ops.graph.traverse import map_leaves, own_constants
from ...ops.runtime.user_code import user_stacklevel
from ..left_out.ways_without import WayWithout, may_be_none, without
from ..left_out.ways_without import with_ways as marked
from ..optimizing.named import has_named
from ..signature.arguments import Given
from ..signature.defaults import GIVEN_ALWAYS, lost_none, may_be_left_out
from .attempted import Attempted
from .way_letters import with_letters

MOST_LEFT_OUT = 3
"""Arguments of one function: each doubles the recordings."""

Record = Callable[[Sequence[Given]], Attempted]


def with_ways(given: Sequence[Given], record: Record) -> Any:
    """The pipeline of a function, with a way for each set of arguments that may be left out, after trace said all.

    Args:
        given: the arguments.
        record: the recording for some arguments.
    """
    found = record(given)
    names = may_be_left_out(given, found.found.program.parameters)
    if not names or not _may_have_ways(found.found):
        return found.told()
    made, texts = _told(found)
    ways, others, reasons = _ways(given, record, made.program, names)
    kept = frozenset[str]().union(*(way.names for way in ways))
    for text in dict.fromkeys([*texts, *others]):
        for still in _still_true(text, kept, reasons):
            warnings.warn(still, stacklevel=user_stacklevel())
    if not kept:
        return made
    program = replace(made.program, parameters=may_be_none(made.program.parameters, kept))
    return type(made)(marked(program, ways), **made._options)


def _ways(
    given: Sequence[Given], record: Record, program: Program, names: Sequence[str]
) -> tuple[list[WayWithout], list[str], dict[str, str]]:
    """The ways without some arguments; what is to be said of them; and why there is none without one, by its name."""
    ways: list[WayWithout] = []
    texts: list[str] = []
    reasons: dict[str, str] = {}
    single = names[:MOST_LEFT_OUT]
    for left in (set(each) for count in range(1, len(single) + 1) for each in combinations(single, count)):
        if left & reasons.keys():
            continue
        try:
            other, said = _told(record([replace(each, value=None, given=False) if each.name in left else each
                                        for each in given]))  # fmt: skip
            ways.append(WayWithout(frozenset(left), _fitting(other, program, frozenset(left))))
            texts += said
        except Exception as error:  # what a function raises without an argument, too
            why = _why(error)
            if len(left) == 1:
                reasons[min(left)] = why
            else:
                texts.append(f"no call may leave out {' and '.join(map(repr, sorted(left)))} together: {why}")
    return ways, texts, reasons


def _told(found: Attempted) -> tuple[Any, list[str]]:
    """A recording, and what is to be said of it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = found.told()
    return made, [str(each.message) for each in told]


def _still_true(text: str, kept: frozenset[str], reasons: dict[str, str]) -> Iterator[str]:
    """What is to be said: not that a default is lost which is kept, and of one that is lost why."""
    if any(text.startswith(lost_none(name)) for name in kept):
        return
    for name, why in reasons.items():
        if text.startswith(lost_none(name)):
            text = f"{lost_none(name)}: {why}{text.removeprefix(lost_none(name) + ': ' + GIVEN_ALWAYS)}"
    yield text


def _why(error: Exception) -> str:
    """Why there is no recording without an argument."""
    text = one_line(str(error).strip() or type(error).__name__).rstrip(".")
    what = (
        "no recording without it can be made" if isinstance(error, TracepackError) else "the function fails without it"
    )
    return f"{what}: {text}"


def _may_have_ways(made: Any) -> bool:
    """Whether a recording may be a way: it keeps no state, writes into nothing given, and is for any device."""
    program = made.program
    placed = any(node.target == Operator(f"py.{ON_ACCELERATOR}") for node in program.graph.nodes)
    return not (made.stateful or made._runner.writes or placed or has_named(program.graph))


def _fitting(other: Any, program: Program, names: frozenset[str]) -> Program:
    """The program of a way, over the weights of another one.

    Raises:
        ArchiveError: it is called otherwise, or its result has another form.
    """
    if not _may_have_ways(other):
        raise ArchiveError("a run of it changes something, or is for one device")
    graph = _sharing(other.graph, program.graph)
    expected = without(may_be_none(program.parameters, names), names, graph)
    if repr(expected) != repr(other.program.parameters):
        raise ArchiveError("its signature is another one", got=other.program.parameters, expected=expected)
    if _form(other.graph.output) != _form(program.graph.output):
        raise ArchiveError("its result has another form")
    return with_letters(replace(other.program, graph=graph), program)


def _form(output: Any) -> Any:
    """The containers of a result."""
    return repr(map_leaves(lambda leaf: None, output))


def _sharing(graph: Graph, other: Graph) -> Graph:
    """A graph with the constants of another one where they are the same, so that a file holds them once."""
    known = {_identity(each): each for each in own_constants(other)}

    def shared(leaf: Any) -> Any:
        if isinstance(leaf, Graph):
            return anew(leaf)
        return known.get(_identity(leaf), leaf) if isinstance(leaf, Constant) else leaf

    def anew(graph: Graph) -> Graph:
        nodes = [
            Node(n.target, map_leaves(shared, n.args), map_leaves(shared, n.kwargs), n.output, n.line, n.varying)
            for n in graph.nodes
        ]
        return Graph(graph.inputs, tuple(nodes), map_leaves(shared, graph.output))

    return anew(graph)


def _identity(constant: Constant) -> Any:
    tensor = constant.tensor
    place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    return constant.name, constant.mutable, constant.parameter, place
